import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

test('set-plan gives a key the limits of its plan, and prints the key as it is then', async () => {
  using folder = temporaryFolder();
  const keys = (...args: string[]) => run(['keys', ...args], { cwd: folder.path });
  const { id } = JSON.parse((await keys('create', '--name', 'shop', '--json')).stdout);
  for (const [args, limits] of [
    [['enterprise', '--per-minute', '7', '--per-day', '70'], { minute: 7, day: 70 }],
    [['pro'], { minute: 300, day: 10_000 }],
  ] as const) {
    const { code, stdout, stderr } = await keys('set-plan', id, ...args);
    assert.deepEqual([code, stderr], [0, '']);
    const { plan, limits: printed } = JSON.parse(stdout);
    assert.deepEqual([plan, printed], [args[0], limits]);
    assert.match((await keys('list')).stdout, new RegExp(` ${limits.minute}/min ${limits.day}/day `));
  }
  for (const [args, told] of [
    [['enterprise'], 'The enterprise plan needs limits per minute and per day'],
    [['enterprise', '--per-minute', '7'], '--per-minute and --per-day go together'],
    [['enterprise', '--per-minute', '7', '--per-day', '7.5'], '--per-day is "7.5"; write a whole number'],
    [['pro', '--per-minute', '7', '--per-day', '70'], 'The pro plan has fixed limits; only enterprise takes its own'],
  ] as const) {
    const { code, stdout, stderr } = await keys('set-plan', id, ...args);
    assert.deepEqual([code, stdout, stderr], [2, '', `pet-catalog: ${told}\n`]);
  }
});
