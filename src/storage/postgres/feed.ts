import type pg from 'pg';
import { connect, endSoon } from './connection.ts';

/** Polling interval beside notifications, which may be lost with their connection. */
const LOOK_INTERVAL_MS = 1_000;
const RECONNECT_MS = 500;

export interface PostgresFeedOptions {
  /** The payload of this instance's own notifications, which are ignored. */
  readonly origin: string;
  /** Polls for changes; may be called again while it runs. */
  readonly look: () => Promise<void>;
}

/**
 * Calls `look` on every notification from another process, and once a second in any case. Reconnects the listening
 * connection until it succeeds. Returns the function that stops it.
 */
export function watchPostgres(url: string, options: PostgresFeedOptions): () => Promise<void> {
  // The next look retries what failed.
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
      // Catch up on notifications sent before this connection listened.
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
