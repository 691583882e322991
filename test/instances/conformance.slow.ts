import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { noPostgres } from '../kit/postgres.ts';
import { sharedRedis } from '../kit/redis-server.ts';

/** The suites of the published interface, which know nothing of what the service stands on. */
const SUITES = [
  'interface',
  'shop',
  'resources',
  'conditional',
  'idempotency',
  'edge/cors',
  'shop-model',
  'operator-api/keys',
  'operator-api/usage',
];
const FILES = SUITES.map((suite) => join(import.meta.dirname, '..', `${suite}.test.ts`));

test('the suites of the published interface pass on PostgreSQL and Redis as they are', {
  skip: noPostgres,
}, async (t) => {
  const written = FILES.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/^ *test\(/gm)]).length;
  assert.ok(written > 40, `only ${written} tests were found`);
  const { skip: noRedis } = await sharedRedis();
  if (noRedis) t.diagnostic(`on PostgreSQL alone: ${noRedis}`);
  const passed = await runSuites(noRedis ? 'postgres' : 'postgres+redis');
  // Some of them run for several inputs.
  assert.ok(passed >= written, `${passed} of at least ${written} passed`);
});

/** Runs the suites in processes of their own, with none left out, and returns how many tests passed. */
async function runSuites(on: string): Promise<number> {
  // A test runner that finds itself in another one's environment reports to that.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--test', '--test-reporter=tap', ...FILES], {
    env: { ...env, TEST_ON: on },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, output);
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(output)?.[1]);
  assert.deepEqual([count('fail'), count('cancelled'), count('skipped'), count('todo')], [0, 0, 0, 0], output);
  return count('pass');
}
