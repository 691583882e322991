import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../test/kit/clock.ts';
import { usageAt } from '../../test/kit/usage.ts';
import type { KeyRouteUsage, UsageRecord, UsageStorage } from '../catalog/usage.ts';
import { UsageRecorder } from './usage-recorder.ts';

/** A recorder on a storage that notes what it is given. */
function bench() {
  const clock = manualClock();
  const added: { minute: number; records: readonly UsageRecord[] }[] = [];
  const tried: { attempt: string | undefined; records: readonly UsageRecord[] }[] = [];
  const hours: { hour: number; records: readonly KeyRouteUsage[] }[] = [];
  const purged: number[] = [];
  const failures: unknown[] = [];
  const storage = { isDown: false };
  const usage: UsageStorage = {
    async add(minute, records, attempt) {
      tried.push({ attempt, records });
      if (storage.isDown) throw new Error('down');
      added.push({ minute, records });
    },
    lastUses: () => assert.fail(),
    sums: () => assert.fail(),
    async addHours(hour, records) {
      if (storage.isDown) throw new Error('down');
      hours.push({ hour, records });
    },
    sync: async () => {},
    purge: async (now) => {
      purged.push(now);
      if (storage.isDown) throw new Error('down');
    },
  };
  const recorder = new UsageRecorder({
    storage: { usage },
    time: clock,
    onFailure: (error) => failures.push(error),
  });
  return { clock, added, tried, hours, purged, failures, recorder, storage };
}

const KEYS_MAX = 200_000;

const list = (status: number) => ({ method: 'GET', route: '/v1/pets', status });

test('answers are counted by key, minute and outcome, and all keys together', async () => {
  const { clock, added, recorder } = bench();
  const noon = clock.now().unix;
  for (const status of [200, 201, 399, 430, 429, 503]) recorder.record('key_1', list(status), clock.now().unix);
  clock.advance(59);
  recorder.record('key_2', list(200), clock.now().unix);
  recorder.record('key_1', { method: 'GET', route: 'unmatched', status: 428 }, noon + 1);
  recorder.record('key_1', list(429), clock.now().unix);
  clock.advance(1);
  recorder.record('key_1', list(200), clock.now().unix);
  await recorder[Symbol.asyncDispose]();
  const counts = { served: 3, clientErrors: 2, refused: 2, serverErrors: 1, last: noon + 59 };
  const one = usageAt('key_1', noon, counts);
  const two = usageAt('key_2', noon + 59);
  const later = usageAt('key_1', noon + 60);
  assert.deepEqual(added, [
    { minute: noon, records: [{ ...one, keyId: '*', served: 4 }, one, two] },
    { minute: noon + 60, records: [{ ...later, keyId: '*' }, later] },
  ]);
});

test('the routes of a key are counted by the hour, and written once a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { clock, added, hours, recorder } = bench();
  const noon = clock.now().unix;
  const pets = (status: number, method = 'GET') => ({ method, route: '/v1/pets', status });
  const turns = async () => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  recorder.record('key_1', pets(200), noon);
  recorder.record('key_1', pets(429, 'POST'), noon + 1);
  recorder.record('key_1', { method: 'BREW', route: 'unmatched', status: 404 }, noon + 2);
  t.mock.timers.tick(5_000);
  await turns();
  recorder.record('key_1', pets(500), noon + 7);
  recorder.record('key_1', { method: 'BREW', route: '/v1/pets', status: 405 }, noon + 8);
  recorder.record('key_1', { method: 'STEEP', route: '/v1/pets', status: 405 }, noon + 9);
  t.mock.timers.tick(54_999);
  await turns();
  assert.equal(added.length, 2);
  assert.deepEqual(hours, []);
  clock.advance(60);
  recorder.record('key_1', pets(200), noon + 3_725);
  t.mock.timers.tick(1);
  await turns();
  const both = (used: object) => ['*', 'key_1'].map((keyId) => usageAt(keyId, noon, used));
  const sorted = (records: readonly KeyRouteUsage[] = []) =>
    records.toSorted((one, other) => (`${one.route} ${one.keyId}` < `${other.route} ${other.keyId}` ? -1 : 1));
  assert.deepEqual(
    hours.map(({ hour, records }) => [hour, sorted(records)]),
    [
      [
        noon,
        [
          ...both({ route: 'GET /v1/pets', served: 1, serverErrors: 1, last: noon + 7 }),
          ...both({ route: 'POST /v1/pets', refused: 1, first: noon + 1, last: noon + 1 }),
          ...both({ route: 'other /v1/pets', clientErrors: 2, first: noon + 8, last: noon + 9 }),
          ...both({ route: 'unmatched', clientErrors: 1, first: noon + 2, last: noon + 2 }),
        ],
      ],
      [noon + 3_600, both({ route: 'GET /v1/pets', served: 1, first: noon + 3_725, last: noon + 3_725 })],
    ],
  );
  recorder.record('key_1', pets(200), noon + 3_600);
  await recorder.save();
  assert.equal(hours.length, 2, 'the next minute has not passed');
  await recorder[Symbol.asyncDispose]();
  assert.equal(hours.length, 3, 'the rest is written at the stop');
});

test('beyond 200,000 records in memory further keys count in the total only, until they are stored', async () => {
  const { clock, added, recorder } = bench();
  const count = (record: UsageRecord | undefined) => [record?.served, record?.serverErrors];
  for (let i = 0; i < KEYS_MAX; i += 1) recorder.record(`key_${i}`, list(200), clock.now().unix);
  recorder.record('key_0', list(500), clock.now().unix);
  clock.advance(60);
  recorder.record('key_0', list(200), clock.now().unix);
  recorder.record('key_1', list(200), clock.now().unix);
  await recorder.flush();
  const records = added.flatMap((each) => each.records);
  const [first, later] = records.filter(({ keyId }) => keyId === '*');
  assert.deepEqual(
    [count(first), count(later)],
    [
      [KEYS_MAX, 1],
      [2, 0],
    ],
  );
  assert.deepEqual(records.filter(({ keyId }) => keyId === 'key_0').map(count), [[1, 1]]);
  // The totals of both minutes come on top.
  assert.equal(records.length, KEYS_MAX + 2);
  added.length = 0;
  recorder.record('key_new', list(200), clock.now().unix);
  await recorder[Symbol.asyncDispose]();
  assert.deepEqual(
    added[0]?.records.map(({ keyId }) => keyId),
    ['*', 'key_new'],
  );
});

test('usage is stored every five seconds, and expired usage is purged every hour, until the disposal', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { clock, added, purged, failures, recorder, storage } = bench();
  recorder.record('key_1', list(200), clock.now().unix);
  t.mock.timers.tick(4_999);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.equal(added.length, 0);
  t.mock.timers.tick(1);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.equal(added.length, 1);
  clock.advance(3_600);
  t.mock.timers.tick(3_594_999);
  assert.deepEqual(purged, []);
  storage.isDown = true;
  t.mock.timers.tick(1);
  assert.deepEqual(purged, [clock.now().unix]);
  await nextTurn();
  assert.equal(failures.length, 1, 'a failed purge is told');
  storage.isDown = false;
  await recorder[Symbol.asyncDispose]();
  recorder.record('key_1', list(200), clock.now().unix);
  t.mock.timers.tick(3_600_000);
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  assert.deepEqual([added.length, purged.length], [1, 1]);
});

test('what may be stored already is sent again as it was by the same attempt, and what came meanwhile by another', async () => {
  const { clock, tried, recorder, storage } = bench();
  storage.isDown = true;
  for (const status of [200, 429]) {
    recorder.record('key_1', list(status), clock.now().unix);
    await recorder.save();
  }
  storage.isDown = false;
  await recorder[Symbol.asyncDispose]();
  const [first, again, stored, later] = tried;
  assert.ok(first?.attempt);
  assert.deepEqual([again, stored], [first, first]);
  assert.notEqual(later?.attempt, first.attempt);
  const counts = later?.records.map(({ served, refused }) => [served, refused]);
  assert.deepEqual([counts, tried.length], [Array(2).fill([0, 1]), 4]);
});
