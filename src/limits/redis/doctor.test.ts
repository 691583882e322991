import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { untilEqual } from '../../../test/kit/clock.ts';
import { MACHINE } from '../../stdx/time.ts';
import { inspectRedis } from './doctor.ts';

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
const ANSWERS = new Map([
  ['PING', '+PONG\r\n'],
  ['INFO', bulk('redis_version:8.0.1')],
]);
const unusable = (why: string) => ({
  check: 'redis',
  status: 'problem',
  finding: `Redis cannot be used: ${why}`,
  advice: 'start it, or correct REDIS_URL; until then each instance admits its share of every limit',
});

/** What `doctor` finds of a server that gives these answers to commands, which it has closed the connection to. */
async function inspected(answer: (command: string) => string, time?: Parameters<typeof inspectRedis>[1]) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const [, command = ''] of `${data}`.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) socket.write(answer(command));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const findings = await inspectRedis(`redis://127.0.0.1:${port}`, time);
  await untilEqual(() => new Promise((told) => server.getConnections((_, count) => told(count))), 0);
  server.close();
  return findings;
}

/** What `doctor` says of a server that describes itself with these lines of INFO. */
async function saidOf(lines: readonly string[]): Promise<string[]> {
  const seconds = `${Math.floor(Date.now() / 1_000) - 3_602}`;
  const answers = new Map([
    ...ANSWERS,
    ['INFO', bulk(lines.join('\r\n'))],
    ['TIME', `*2\r\n${bulk(seconds)}${bulk('500000')}`],
  ]);
  const [reached, ...others] = await inspected((command) => answers.get(command) ?? '+OK\r\n');
  const name = /^(.+) answers within \d+\.\d ms$/.exec(reached?.finding ?? '')?.[1] ?? '';
  const clock = /^The clock here and that of Redis are 360\d\.\d s apart$/;
  return [name, ...others.map(({ finding }) => (clock.test(finding) ? 'an hour apart' : finding))];
}

test('a server that does not answer, or not all, is told as such after five seconds', async () => {
  for (const silentAt of ['PING', 'INFO', 'TIME', 'EVAL']) {
    const waits: number[] = [];
    const asked = Promise.withResolvers<void>();
    const answer = (command: string) => {
      if (command === silentAt) asked.resolve();
      return command === silentAt ? '' : (ANSWERS.get(command) ?? '+OK\r\n');
    };
    const found = await inspected(answer, {
      setTimeout(run, ms) {
        waits.push(ms);
        asked.promise.then(run);
        return MACHINE.setTimeout(() => {}, 0);
      },
    });
    assert.deepEqual([found, waits], [[unusable('it did not answer within 5 s')], [5_000]], silentAt);
  }
});

test('a server that cannot be reached, or ends, is told as such', async () => {
  const gone = createServer((socket) => socket.destroy());
  await once(gone.listen(0, '127.0.0.1'), 'listening');
  const { port } = gone.address() as AddressInfo;
  assert.deepEqual(await inspectRedis(`redis://127.0.0.1:${port}`), [unusable('Socket closed unexpectedly')]);
  gone.close();
  await once(gone, 'close');
  const refused = unusable(`connect ECONNREFUSED 127.0.0.1:${port}`);
  assert.deepEqual(await inspectRedis(`redis://127.0.0.1:${port}`), [refused]);
});

test('a server is called by its own name, with what it cannot be used for', async () => {
  for (const role of ['role:master', 'of unknown role'])
    assert.deepEqual(await saidOf(['redis_version:8.0.1', role]), ['Redis 8.0.1', 'an hour apart', 'It counts']);
  const valkey = ['server_name:valkey', 'redis_version:7.2.4', 'valkey_version:8.1.0'];
  assert.deepEqual(await saidOf([...valkey, 'role:slave', 'maxmemory_policy:allkeys-lru']), [
    'Valkey 8.1.0',
    'It is a replica: nothing can be counted in it',
    'It evicts counts when its memory is full (maxmemory-policy allkeys-lru)',
    'an hour apart',
  ]);
  // Every count expires, so that these policies evict counts too.
  for (const policy of ['volatile-lru', 'volatile-ttl'])
    assert.deepEqual(await saidOf(['redis_version:8.0.1', `maxmemory_policy:${policy}`]), [
      'Redis 8.0.1',
      `It evicts counts when its memory is full (maxmemory-policy ${policy})`,
      'an hour apart',
      'It counts',
    ]);
});
