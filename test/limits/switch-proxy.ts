import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { untilTrue } from '../kit/clock.ts';

/** Longer than the rest of an answer takes that has begun, and shorter than the interval between keep-alives. */
const QUIET_MS = 200;

/** A port that leads to one server and later to another, as a failover behind one address does. */
export interface SwitchProxy extends AsyncDisposable {
  readonly port: number;
  /** Switches new connections, and live ones once they are idle, without closing them. */
  turnTo(port: number): Promise<void>;
}

/** Stands on a free port of the loopback before the server on `port`. */
export async function openSwitchProxy(port: number): Promise<SwitchProxy> {
  const clients = new Map<Socket, { readonly upstream: Socket; isAwaiting: boolean }>();
  let target = port;
  let lastBytesMs = 0;
  const lead = (client: Socket) => {
    const upstream = connect({ host: '127.0.0.1', port: target, noDelay: true });
    const link = { upstream, isAwaiting: false };
    upstream.on('data', (bytes) => {
      lastBytesMs = performance.now();
      link.isAwaiting = false;
      client.write(bytes);
    });
    upstream.on('error', () => {});
    upstream.on('close', () => clients.get(client)?.upstream === upstream && client.destroy());
    clients.set(client, link);
  };
  const server = createServer({ noDelay: true }, (client) => {
    lead(client);
    client.on('data', (bytes) => {
      lastBytesMs = performance.now();
      const link = clients.get(client);
      if (!link) return;
      link.isAwaiting = true;
      link.upstream.write(bytes);
    });
    client.on('error', () => {});
    client.on('close', () => {
      const upstream = clients.get(client)?.upstream;
      clients.delete(client);
      upstream?.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async turnTo(next) {
      target = next;
      const isAwaiting = () => [...clients.values()].some((link) => link.isAwaiting);
      await untilTrue(() => !isAwaiting() && performance.now() - lastBytesMs >= QUIET_MS, 'idle connections');
      for (const [client, { upstream }] of clients) {
        lead(client);
        upstream.destroy();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients.keys()) client.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
