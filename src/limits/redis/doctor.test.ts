import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { inspectRedis } from './doctor.ts';

/** What `doctor` says of a server that describes itself with these lines of INFO. */
async function saidOf(lines: readonly string[]): Promise<string[]> {
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
  const seconds = `${Math.floor(Date.now() / 1_000) - 3_602}`;
  const answers = new Map([
    ['PING', '+PONG\r\n'],
    ['INFO', bulk(lines.join('\r\n'))],
    ['TIME', `*2\r\n${bulk(seconds)}${bulk('500000')}`],
  ]);
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      for (const [, command = ''] of `${data}`.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
        socket.write(answers.get(command) ?? '+OK\r\n');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const [reached, ...others] = await inspectRedis(`redis://127.0.0.1:${port}`);
  server.close();
  const name = /^(.+) answers within \d+\.\d ms$/.exec(reached?.finding ?? '')?.[1] ?? '';
  const clock = /^The clock here and that of Redis are 360\d\.\d s apart$/;
  return [name, ...others.map(({ finding }) => (clock.test(finding) ? 'an hour apart' : finding))];
}

test('a server is called by its own name, with what it cannot be used for', async () => {
  assert.deepEqual(await saidOf(['redis_version:8.0.1', 'role:master']), ['Redis 8.0.1', 'an hour apart']);
  const valkey = ['server_name:valkey', 'redis_version:7.2.4', 'valkey_version:8.1.0'];
  assert.deepEqual(await saidOf([...valkey, 'role:slave', 'maxmemory_policy:allkeys-lru', 'cluster_enabled:1']), [
    'Valkey 8.1.0',
    'It is a node of a cluster (cluster_enabled:1), and counting cannot follow keys to the other nodes',
    'It is a replica: nothing can be counted in it',
    'It evicts counts when its memory is full (maxmemory-policy allkeys-lru)',
    'an hour apart',
  ]);
});
