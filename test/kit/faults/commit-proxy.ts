import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of PostgreSQL, on a free port of the loopback, that can lose the answer to a COMMIT. */
export async function openCommitProxy(port: number) {
  const sockets = new Set<Socket>();
  let isBreaking = false;
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port, noDelay: true });
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    let [creates, losesAnswer] = [false, false];
    client.on('data', (bytes) => {
      if (bytes.includes('insert into categories')) creates = true;
      if (creates && bytes.includes('commit\0')) [creates, losesAnswer, isBreaking] = [false, isBreaking, false];
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
    /** Breaks the connection that next commits a create once the server has answered. */
    breakNext() {
      isBreaking = true;
    },
    /** Whether `breakNext` has done its work. */
    get hasBroken() {
      return !isBreaking;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
