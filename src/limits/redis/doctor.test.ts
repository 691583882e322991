import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { untilEqual } from '../../../test/kit/clock.ts';
import { MACHINE } from '../../stdx/time.ts';
import { inspectRedis } from './doctor.ts';

const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`;
const ANSWERS = new Map([['INFO', bulk('redis_version:8.0.1')]]);
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
  const about = bulk(lines.join('\r\n'));
  const found = await inspected((command) => (command === 'INFO' ? about : '+OK\r\n'));
  return found.map(({ finding }) => finding);
}

test('a server that does not answer, or not all, is told as such after five seconds', async () => {
  for (const silentAt of ['INFO', 'EVAL']) {
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
  assert.deepEqual(await saidOf(['redis_version:8.0.1']), ['Redis 8.0.1 answers', 'It counts']);
  const valkey = ['server_name:valkey', 'redis_version:7.2.4', 'valkey_version:8.1.0'];
  // Every count expires, so that `volatile-` policies evict counts too.
  for (const policy of ['allkeys-lru', 'volatile-lru', 'volatile-ttl'])
    assert.deepEqual(await saidOf([...valkey, `maxmemory_policy:${policy}`]), [
      'Valkey 8.1.0 answers',
      `It evicts counts when its memory is full (maxmemory-policy ${policy})`,
      'It counts',
    ]);
});
