import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What happens to a connection: `pass` it on, `cut` it when the answer begins, or `hold` the answer back for ever. */
export type Fate = 'pass' | 'cut' | 'hold';

/** A line to the service that can be cut. */
export interface Proxy extends AsyncDisposable {
  readonly url: string;
  /** The fates of the connections to come; `pass` for those beyond. */
  readonly fates: Fate[];
  connections(): number;
}

/** Stands between a client and the service at `target`, an address that ends in /v1. */
export async function proxyTo(target: string): Promise<Proxy> {
  const { port, hostname, pathname } = new URL(target);
  const sockets = new Set<Socket>();
  const fates: Fate[] = [];
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const fate = fates.shift() ?? 'pass';
    const service = connect(Number(port), hostname);
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.on('close', () => service.destroy());
    service.on('close', () => client.destroy());
    client.pipe(service);
    if (fate === 'pass') service.pipe(client);
    if (fate === 'cut') service.once('data', () => client.resetAndDestroy());
    if (fate === 'hold') service.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    fates,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

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
