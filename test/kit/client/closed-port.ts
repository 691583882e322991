import { once } from 'node:events';
import { createServer } from 'node:net';

const PORTS_FROM = 10_000;
const PORTS = 20_000;

/**
 * A port without a listener, below the ephemeral range, so that the system cannot give it to another process while a
 * service that used it is down.
 */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = PORTS_FROM + Math.floor(Math.random() * PORTS);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await Promise.race([
      once(server, 'listening').then(() => true),
      new Promise<boolean>((resolve) => server.once('error', () => resolve(false))),
    ]).catch(() => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
