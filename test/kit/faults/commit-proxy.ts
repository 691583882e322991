import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A PostgreSQL server's stand-in on a port of its own, which can take the answer to a COMMIT away. */
export interface CommitProxy extends AsyncDisposable {
  readonly port: number;
  /**
   * Breaks the connection that commits a new category next: before the server hears of the COMMIT, or after it has
   * answered, so that the answer is lost.
   */
  breakNext(when: 'before' | 'after'): void;
}

/** Stands on a free port of the loopback before a server. */
export async function openCommitProxy(port: number): Promise<CommitProxy> {
  const sockets = new Set<Socket>();
  let breaking: 'before' | 'after' | undefined;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port, noDelay: true });
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    let isInserting = false;
    let losesAnswer = false;
    client.on('data', (bytes) => {
      if (bytes.includes('insert into "categories"')) isInserting = true;
      if (isInserting && bytes.includes('commit\0')) {
        isInserting = false;
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
    breakNext: (when) => {
      breaking = when;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
