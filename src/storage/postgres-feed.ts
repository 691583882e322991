import pg from 'pg';

/** How often changes are looked for though nothing was heard: notifications may be lost with their connection. */
const LOOK_INTERVAL_MS = 1_000;
const RECONNECT_MS = 500;
const CONNECT_TIMEOUT_MS = 2_000;

export interface PostgresFeedOptions {
  /** What this instance's own notifications carry; they are passed over. */
  readonly origin: string;
  /** Looks for changes; it may be called again while it is at it. */
  readonly look: () => Promise<void>;
}

/**
 * Has changes looked for whenever another instance or a command announced one, and once a second in any case. The
 * listening connection is opened anew for as long as it takes. Returns the function that ends it.
 */
export function watchPostgres(url: string, options: PostgresFeedOptions): () => Promise<void> {
  // What failed is tried again by the next look.
  const look = () => options.look().catch(() => {});
  const timer = setInterval(look, LOOK_INTERVAL_MS).unref();
  let isEnded = false;
  let reconnecting: NodeJS.Timeout | undefined;
  let listening: pg.Client | undefined;

  const listen = async () => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'pet-catalog feed',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    listening = client;
    const again = () => {
      if (isEnded || listening !== client) return;
      listening = undefined;
      client.end().catch(() => {});
      reconnecting = setTimeout(listen, RECONNECT_MS).unref();
    };
    client.on('error', again);
    client.on('end', again);
    client.on('notification', ({ payload }) => payload !== options.origin && look());
    try {
      await client.connect();
      await client.query('listen pet_catalog');
      // What was announced before is not told.
      look();
    } catch {
      again();
    }
  };
  listen();

  return async () => {
    isEnded = true;
    clearInterval(timer);
    clearTimeout(reconnecting);
    await listening?.end().catch(() => {});
  };
}
