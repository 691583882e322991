import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a server that a test can slow down or cut off. */
export interface TestProxy extends AsyncDisposable {
  readonly port: number;
  /** Delays the bytes of both sides from now on. */
  delay(ms: number): void;
  /** Ends all connections by a reset. New ones are let in. */
  cut(): void;
  /** Accepts connections and bytes but forwards nothing: a black hole. */
  swallow(): void;
  /** Forwards again without delay, first the bytes held back. */
  resume(): void;
}

/** Stands on a free port of the loopback before a server. */
export async function openProxy(target: { readonly host: string; readonly port: number }): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  const swallowed: (() => void)[] = [];
  let delayMs = 0;
  let isSwallowing = false;

  /** Bytes, or the end of the stream, in flight. */
  const pass = (deliver: () => void) => {
    if (isSwallowing) swallowed.push(deliver);
    else if (delayMs > 0) setTimeout(() => (isSwallowing ? swallowed.push(deliver) : deliver()), delayMs);
    else deliver();
  };
  const join = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (bytes) => pass(() => to.write(bytes)));
    from.on('end', () => pass(() => to.end()));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      pass(() => to.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
    join(client, upstream);
    join(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const resume = () => {
    isSwallowing = false;
    delayMs = 0;
    for (const deliver of swallowed.splice(0)) deliver();
  };
  const cut = () => {
    swallowed.length = 0;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    delay: (ms) => {
      delayMs = ms;
    },
    cut,
    swallow: () => {
      isSwallowing = true;
    },
    resume,
    async [Symbol.asyncDispose]() {
      resume();
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
