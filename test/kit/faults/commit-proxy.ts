import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

const NEW_CATEGORY = 'insert into categories';

/** A proxy in front of PostgreSQL that can lose the answer to a COMMIT. */
export interface CommitProxy extends AsyncDisposable {
  readonly port: number;
  /**
   * Breaks the connection that next commits a transaction with a statement that begins so: before the server hears of
   * the COMMIT, or after it has answered, so that the answer is lost.
   */
  breakNext(when: 'before' | 'after', statement?: string): void;
  /** Whether `breakNext` has done its work. */
  readonly hasBroken: boolean;
}

/** Stands on a free port of the loopback before a server. */
export async function openCommitProxy(port: number, host = '127.0.0.1'): Promise<CommitProxy> {
  const sockets = new Set<Socket>();
  let breaking: 'before' | 'after' | undefined;
  let awaited = NEW_CATEGORY;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host, port, noDelay: true });
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    let isAwaited = false;
    let losesAnswer = false;
    client.on('data', (bytes) => {
      if (bytes.includes(awaited)) isAwaited = true;
      if (isAwaited && bytes.includes('commit\0')) {
        isAwaited = false;
        losesAnswer = breaking === 'after';
        const isCut = breaking === 'before';
        breaking = undefined;
        if (isCut) return end();
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => (losesAnswer ? end() : client.write(bytes)));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    breakNext: (when, statement = NEW_CATEGORY) => {
      [breaking, awaited] = [when, statement];
    },
    get hasBroken() {
      return breaking === undefined;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
