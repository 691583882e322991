import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_KEYS, type UsageCounts } from '../../src/catalog/usage.ts';
import { NO_COUNTS } from '../../src/catalog/window-counts.ts';
import { storeBan } from '../kit/bans.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';
import { addUsage } from '../kit/usage.ts';

/** The numbers on the console's pages, exactly: of two routes, two days, two keys and all four outcomes. */

const MINUTE = 60;
const DAY = 86_400;

const counts = (served: number, clientErrors: number, refused: number, serverErrors: number): UsageCounts => {
  return { served, clientErrors, refused, serverErrors };
};

const usageOf = (keyId: string, at: number, counted: UsageCounts) => ({ keyId, ...counted, first: at, last: at + 7 });

/** The cells of each row of a table's body, which is found by its label or by its id. */
function rowsOf(text: string, name: string): string[] {
  const [, body = ''] =
    new RegExp(`(?:aria-label="${name}">.*?<tbody[^>]*|<tbody id="${name}"[^>]*)>(.*?)</tbody>`, 's').exec(text) ?? [];
  return [...body.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => plain(cell)).join(' | '),
  );
}

function legendOf(text: string, id: string): string[] {
  const [, legend = ''] = new RegExp(`id="${id}-legend" data-live>(.*?)</p>`).exec(text) ?? [];
  return [...legend.matchAll(/>([^<]+)</g)].map(([, said = '']) => said);
}

/** What a page says, without its elements. */
function plain(text: string): string {
  return text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Two routes and two keys, in the last minutes and a day ago. */
async function used(service: TestService) {
  const now = service.clock.now().unix;
  const [one, two] = [await service.issue({ name: 'one' }), await service.issue({ name: 'two' })];
  const ofAll = async (at: number, counted: UsageCounts, route: string) =>
    addUsage(service.storage, at, [usageOf(ALL_KEYS, at, counted)], route);
  await ofAll(now - MINUTE, counts(90, 5, 3, 2), 'GET /v1/pets');
  for (const at of [now - MINUTE, now - 2 * MINUTE]) await ofAll(at, counts(4, 3, 2, 1), 'POST /v1/pets');
  await ofAll(now - DAY, counts(0, 7, 0, 0), 'unmatched');
  const [first, second] = [one.key.id, two.key.id];
  await addUsage(service.storage, now - MINUTE, [usageOf(first, now - MINUTE, counts(8, 4, 2, 1))]);
  await addUsage(service.storage, now - 10 * MINUTE, [usageOf(first, now - 10 * MINUTE, counts(0, 0, 0, 5))]);
  await addUsage(service.storage, now - 2 * MINUTE, [usageOf(second, now - 2 * MINUTE, counts(16, 1, 3, 2))]);
  await addUsage(service.storage, now - DAY, [usageOf(first, now - DAY, counts(1_000, 0, 60, 0))]);
  return { now, one, two };
}

test('the overview adds up routes and keys of its range, and no others', async () => {
  await using service = await testService();
  await used(service);
  const operator = await signIn(service, 'viewer');
  const hour = await operator.page('?since=1h');
  assert.deepEqual(rowsOf(hour, 'requests-rows'), [
    '2026-01-01 11:59 UTC | 94 | 8 | 5 | 3',
    '2026-01-01 11:58 UTC | 4 | 3 | 2 | 1',
  ]);
  assert.deepEqual(legendOf(hour, 'requests'), ['98 served', '11 client errors', '7 refused', '4 server errors']);
  assert.deepEqual(rowsOf(hour, 'Usage by route'), [
    'GET /v1/pets | 100 | 5 | 3 | 2 | 2026-01-01 11:59 UTC',
    'POST /v1/pets | 20 | 6 | 4 | 2 | 2026-01-01 11:59 UTC',
  ]);
  assert.deepEqual(rowsOf(hour, 'Usage by key'), [
    'two | none | 22 | 1 | 3 | 2 | 2026-01-01 11:58 UTC',
    'one | none | 20 | 4 | 2 | 6 | 2026-01-01 11:59 UTC',
  ]);
  const month = await operator.page('?since=30d');
  assert.deepEqual(rowsOf(month, 'requests-rows'), ['2026-01-01 | 98 | 11 | 7 | 4', '2025-12-31 | 0 | 7 | 0 | 0']);
  const [get, post, other] = rowsOf(month, 'Usage by route').map((row) => row.split(' | ').slice(0, 3).join(' | '));
  assert.deepEqual([get, post, other], ['GET /v1/pets | 100 | 5', 'POST /v1/pets | 20 | 6', 'no such address | 7 | 7']);
  assert.deepEqual(rowsOf(month, 'Usage by key'), [
    'one | none | 1,080 | 4 | 62 | 6 | 2026-01-01 11:59 UTC',
    'two | none | 22 | 1 | 3 | 2 | 2026-01-01 11:58 UTC',
  ]);
});

test('the list and the page of a key have the usage of that key alone, with every outcome', async () => {
  await using service = await testService();
  const { now, one } = await used(service);
  const { key } = one;
  const operator = await signIn(service, 'viewer');
  const today = {
    ...NO_COUNTS,
    keyId: key.id,
    minuteEnds: now + 9,
    minuteUsed: 49,
    day: Math.floor(now / DAY),
    dayUsed: 321,
  };
  const shown = async (path: string) => {
    const text = await operator.page(path);
    return [
      ...text.matchAll(/<dd>(\S+) <span class="soft">(of [^<]*)<\/span> <meter[^>]* low="([\d.]+)" high="([\d.]+)"/g),
    ].map(([, ...said]) => said.join(' '));
  };
  await service.storage.limits.saveCounts([{ ...today, day: today.day - 1, minuteEnds: now }]);
  assert.deepEqual(await shown(`/keys/${key.id}`), ['0 of 60 48 59.94', '0 of 1,000 800 999'], 'neither is of now');
  await service.storage.limits.saveCounts([today]);
  assert.match(await operator.page(`/keys?q=${key.id}`), /data-column="Day used" class="number"><div>32 %</);
  assert.deepEqual(await shown(`/keys/${key.id}`), ['49 of 60 48 59.94', '321 of 1,000 800 999']);
  await service.storage.limits.saveCounts([{ ...today, day: today.day + 1 }]);
  const ahead = 'the day of a clock that was ahead counts as today';
  assert.deepEqual(await shown(`/keys/${key.id}`), ['49 of 60 48 59.94', '321 of 1,000 800 999'], ahead);
  const page = await operator.page(`/keys/${key.id}?since=1h`);
  assert.deepEqual(rowsOf(page, 'requests-rows'), [
    '2026-01-01 11:59 UTC | 8 | 4 | 2 | 1',
    '2026-01-01 11:50 UTC | 0 | 0 | 0 | 5',
  ]);
  const limits: (string | undefined)[] = [];
  for (const range of ['1h', '6h', '24h', '30d', '1y'])
    limits.push(/limit [\d,]+(?=<)/.exec(await operator.page(`/keys/${key.id}?since=${range}`))?.[0]);
  assert.deepEqual(limits, ['limit 60', undefined, undefined, 'limit 1,000', undefined]);
});

test('a ban is active, then lifted or over, and “why” explains the refusal and not an error after it', async () => {
  await using service = await testService();
  const limits = { minute: 1, day: 9 };
  const { key, secret } = await service.issue({ plan: 'enterprise', limits });
  const now = service.clock.now().unix;
  await service.call(secret, '/pets');
  await service.call(secret, '/pets');
  service.clock.advance(MINUTE);
  await service.call(secret, '/nothing');
  const operator = await signIn(service);
  const why = await operator.page(`/keys/${key.id}`);
  const refusal = 'The latest refusal, one request of 2026-01-01 12:00:00 UTC : Over the limit of the minute: ';
  assert.ok(plain(why).includes(refusal));
  const ban = { keyId: key.id, startedAt: now - DAY, endsAt: now - DAY + 300, level: 1, reason: 'hasty' };
  for (let day = 20; day > 1; day -= 1)
    await storeBan(service.storage, { ...ban, startedAt: now - day * DAY, endsAt: now - day * DAY + 60 });
  await storeBan(service.storage, ban);
  await storeBan(service.storage, { ...ban, startedAt: now, endsAt: now + 3_600, level: 2 });
  const bans = async () => rowsOf(await operator.page(`/keys/${key.id}`), 'Bans of the key');
  const over = '2025-12-31 12:00:00 UTC | 2025-12-31 12:05:00 UTC | 1 | hasty';
  const active = '2026-01-01 12:00:00 UTC | 2026-01-01 13:00:00 UTC active | 2 | hasty';
  const [latest, before, ...others] = await bans();
  assert.deepEqual([latest, before, others.length], [active, over, 18], 'twenty of 21');
  await operator.post(`/keys/${key.id}/lift-ban`);
  const lifted = '2026-01-01 12:00:00 UTC | 2026-01-01 12:01:00 UTC lifted | 2 | hasty';
  assert.deepEqual((await bans())[0], lifted);
});
