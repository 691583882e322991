import type pg from 'pg';
import { connect, endSoon } from './connection.ts';

/** How often changes are looked for though nothing was heard: notifications may be lost with their connection. */
const LOOK_INTERVAL_MS = 1_000;
const RECONNECT_MS = 500;

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
    try {
      const client = await connect(url, 'feed');
      if (isEnded) return void endSoon(client);
      listening = client;
      client.on('end', again);
      client.on('notification', ({ payload }) => payload !== options.origin && look());
      await client.query('listen pet_catalog');
      // What was announced before is not told.
      look();
    } catch {
      again();
    }
  };
  const again = () => {
    if (isEnded) return;
    if (listening) endSoon(listening.removeListener('end', again));
    listening = undefined;
    clearTimeout(reconnecting);
    reconnecting = setTimeout(listen, RECONNECT_MS).unref();
  };
  listen();

  return async () => {
    isEnded = true;
    clearInterval(timer);
    clearTimeout(reconnecting);
    if (listening) await endSoon(listening);
  };
}
