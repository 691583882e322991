import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/folder.ts';
import { openSome } from '../../../test/kit/storage/bench.ts';
import { usageRows, usageSteps } from '../../catalog/operator/usage-rows.ts';

const DAY_SECONDS = 86_400;
const DAYS = 2;

test('usage and changes of a thousand keys by owner block no request for longer than 50 ms', async () => {
  using folder = temporaryFolder();
  const file = `${folder.path}/pets.db`;
  const time = manualClock();
  const now = time.now().unix;
  await using storage = await openSome(file, time);
  fill(file, now);
  const steps = usageSteps('month', { since: now - DAYS * DAY_SECONDS, until: now + 1, now });
  await assertShortTurns(async () => {
    const { rows } = await usageRows({ storage }, { group: 'owner', steps });
    const sums = rows.map((row) => ('owner' in row ? [row.owner, row.served] : []));
    assert.deepEqual(sums, [...owned(DAYS * 24 - 13), ...owned(13)]);
  });
  await assertShortTurns(async () => {
    const newest = await storage.audit.list({ since: 0, limit: 300, owner: 'cus_0' });
    assert.deepEqual([newest.length, new Set(newest.map(({ at }) => at))], [300, new Set([now - (now % 3_600)])]);
  });
});

/** However fast the machine is, work in parts has turns much shorter than itself; twice, since one may be longer. */
async function assertShortTurns(work: () => Promise<void>): Promise<void> {
  let longestMs = 0;
  const began = threadMs();
  let before = began;
  const turn = () => {
    const now = threadMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
    watching = setImmediate(turn);
  };
  let watching = setImmediate(turn);
  for (const _ of [1, 2]) await work();
  await nextTurn();
  clearImmediate(watching);
  const tookMs = threadMs() - began;
  assert.ok(longestMs < tookMs / 4, `a turn took ${longestMs} of ${tookMs} ms of the processor`);
}

/** What three owners used of a thousand keys in some hours. */
function owned(hours: number): [string, number][] {
  return [334, 333, 333].map((keys, index) => [`cus_${index}`, keys * hours * 2]);
}

/** A thousand keys of three owners, each used on two routes in each hour of some days, with as many changes. */
function fill(file: string, now: number): void {
  using database = new DatabaseSync(file);
  database.exec(`
    insert into api_keys (id, name, environment, plan, per_minute, per_day, scopes, created_at, owner)
    with recursive keys(number) as (select 0 union all select number + 1 from keys where number < 999)
    select 'key_' || number, 'shop', 'production', 'pro', 1, 1, '', 0, 'cus_' || (number % 3) from keys;
    insert into key_route_usage
    with recursive hours(number) as (select 0 union all select number + 1 from hours where number < ${DAYS * 24 - 1})
    select 'hour', ${now - (now % 3_600)} - (${DAYS * 24 - 1} - number) * 3600, id, route, 1, 0, 0, 0, 0, 0
    from hours, api_keys, (select 'GET /v1/pets' as route union select 'GET /v1/orders');
    insert into changes (id, kind, target, at, verb, key_id, before, after)
    select row_number() over (), 'pet', 1, starts_at, route, key_id, 'null', 'null' from key_route_usage`);
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
