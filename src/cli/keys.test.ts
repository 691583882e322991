import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { OPERATOR } from '../../test/kit/operator.ts';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { newApiKey, secretRecord } from '../catalog/api-key.ts';
import { systemTime, utc } from '../stdx/time.ts';
import { openStorage } from '../storage/open.ts';

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
    [
      ['enterprise', '--per-minute', '7', '--per-day', '10000000000'],
      '--per-day is "10000000000"; write a whole number',
    ],
    [['pro', '--per-minute', '7', '--per-day', '70'], 'The pro plan has fixed limits; only enterprise takes its own'],
  ] as const) {
    const { code, stdout, stderr } = await keys('set-plan', id, ...args);
    assert.deepEqual([code, stdout, stderr], [2, '', `pet-catalog: ${told}\n`]);
  }
});

test('a key is issued as each option says, and none for an option that is wrong', async () => {
  using folder = temporaryFolder();
  const keys = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(['keys', ...args], { cwd: folder.path });
    return [code, stdout, stderr];
  };
  await run(['migrate'], { cwd: folder.path });
  assert.deepEqual(await keys('list'), [0, 'No keys yet; `pet-catalog keys create --name NAME` issues one\n', '']);
  assert.deepEqual(await keys('list', '--json'), [0, '[]\n', '']);
  const create = ['create', '--name', 'shop', '--plan', 'enterprise', '--per-day', '1000000000'];
  const [code, stdout] = await keys(...create, '--per-minute', '1', '--scopes', 'pets:write, pets:read', '--json');
  const { scopes, limits } = JSON.parse(`${stdout}`);
  assert.deepEqual([code, scopes, limits], [0, ['pets:read', 'pets:write'], { minute: 1, day: 1_000_000_000 }]);
  for (const [args, told] of [
    [[...create, '--per-minute', 'x'], '--per-minute is "x"; write a whole number'],
    [
      ['create', '--name', 'x', '--expires', 'soon'],
      '--expires is "soon"; write a duration such as 90s, 10m, 24h or 30d',
    ],
    [
      ['create', '--name', 'x', '--plan', 'huge'],
      'There is no plan "huge"; the plans are free, pro, business, enterprise',
    ],
  ] as const)
    assert.deepEqual(await keys(...args), [2, '', `pet-catalog: ${told}\n`]);
  assert.equal(JSON.parse(`${(await keys('list', '--json'))[1]}`).length, 1);
});

test('a rotated key is alone on stdout, and what is changed is printed as it is then', async () => {
  using folder = temporaryFolder();
  const keys = (...args: string[]) => run(['keys', ...args], { cwd: folder.path });
  const { id } = JSON.parse((await keys('create', '--name', 'shop', '--json')).stdout);
  const { stdout, stderr } = await keys('rotate', id);
  assert.match(stdout, /^petcat_live_\w{36}\n$/);
  assert.equal(stderr, '');
  const wrong = 'pet-catalog: --grace is "soon"; write a duration such as 90s, 10m, 24h or 30d\n';
  assert.deepEqual(await keys('rotate', id, '--grace', 'soon'), { code: 2, stdout: '', stderr: wrong });
  const unbanned = await keys('unban', id);
  assert.deepEqual([unbanned.code, unbanned.stderr], [0, `The key ${id} is not banned\n`]);
  assert.equal(unbanned.stdout, (await keys('show', id)).stdout);
  const revoked = await keys('revoke', id);
  assert.match(revoked.stdout, /^\{\n {2}"id": "key_\w+",\n[\s\S]*\n {2}"revokedAt": "20\S+Z",?\n/);
  assert.deepEqual([revoked.code, revoked.stdout], [0, (await keys('show', id)).stdout]);
});

test('a key is listed as expired from its last second on', async () => {
  using folder = temporaryFolder();
  const time = systemTime();
  const { unix } = time.now();
  {
    const file = join(folder.path, 'data/pet-catalog.db');
    await using storage = await openStorage(
      { engine: 'sqlite', file },
      { time, categoriesMax: 10, categoriesBytesMax: 10_000 },
    );
    const options = { name: 'over', environment: 'production', plan: 'free', expiresAt: unix } as const;
    const { key, secret } = newApiKey(options, unix - 9);
    await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  }
  const { stdout } = await run(['keys', 'list'], { cwd: folder.path });
  assert.ok(stdout.endsWith(`  expired ${utc(unix)}\n`), stdout);
});
