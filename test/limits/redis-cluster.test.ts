import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Storage } from '../../src/catalog/storage.ts';
import { LimiterNotOpened } from '../../src/limits/limiter.ts';
import { openLimiter } from '../../src/limits/open.ts';
import { RedisCounts } from '../../src/limits/redis/counts.ts';
import { systemTime } from '../../src/stdx/time.ts';
import type { Finding } from '../../src/telemetry/finding.ts';
import { untilTrue } from '../kit/clock.ts';
import { run, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { recordedEvents, temporaryFolder } from '../kit/service.ts';

const options = { skip: redisServerMissing() };

test('a node of a cluster is refused at the start and by `doctor`, with the reason', options, async () => {
  await using server = await startRedis('--cluster-enabled', 'yes');
  using folder = temporaryFolder();
  const settings = { cwd: folder.path, env: { REDIS_URL: server.url, INSTANCES: '1' } };
  const started = await serveProcess([], settings).catch(({ message }: Error) => message);
  if (typeof started === 'object') await started.end();
  assert.match(
    String(started),
    /pet-catalog: Cannot count in this Redis[^\n]*cluster_enabled:1[^\n]*REDIS_URL[^\n]*$/m,
  );

  const timers = new Set<unknown>();
  const time = {
    ...systemTime(),
    setInterval() {
      const timer = { unref: () => timer, [Symbol.dispose]: () => timers.delete(timer) };
      timers.add(timer);
      return timer;
    },
  };
  const redis = { url: server.url, instances: 1 };
  const options = { storage: {} as Storage, time, events: recordedEvents() };
  await assert.rejects(openLimiter({ redis, banAfterRefusals: 0 }, options), LimiterNotOpened);
  assert.deepEqual([...timers], [], 'nothing of it goes on');

  const examined = await run(['doctor', '--json'], settings);
  assert.equal(examined.code, 1);
  const findings = JSON.parse(examined.stdout) as Finding[];
  const problem = findings.find(({ check, status }) => check === 'redis' && status === 'problem');
  assert.match(problem?.finding ?? '', /cluster_enabled:1/);
});

test(
  'the script touches the keys that it is given alone: a node of a cluster runs it on those of a slot',
  options,
  async () => {
    await using server = await startRedis('--cluster-enabled', 'yes');
    await server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await untilTrue(async () => /cluster_state:ok/.test(String(await server.command('CLUSTER', 'INFO'))));
    const key = 'prefix:{key_1}';
    const seed = ['0 0 0 0', '1'];
    const request = ['3', '3', '1', ...seed];
    await server.command('EVAL', RedisCounts.SCRIPT.source, '2', key, key, '100', '100', ...request, ...request);
    assert.equal(await server.command('GET', key), '160 2 0 2');
  },
);
