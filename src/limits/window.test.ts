import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey } from '../catalog/api-key.ts';
import { merged, NO_COUNTS } from '../catalog/window-counts.ts';
import { chargeKey } from './bans.ts';
import { charge, UNUSED, withResets } from './window.ts';

const NOON = Date.UTC(2026, 0, 1, 12) / 1000;

test('refusals count from two seconds after the first until its minute is over, within one generation', () => {
  const at = (seconds: number) => ({ unix: NOON + seconds, steady: NOON - 1_000 + seconds });
  const { key } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, 0);
  const spent = { ...key, limits: { minute: 0, day: 0 } };
  const refuse = (state = UNUSED, banGeneration: number, ...seconds: number[]) =>
    seconds.reduce((known, second) => chargeKey(known, { ...spent, banGeneration }, at(second)).state, state);
  assert.deepEqual(refuse(UNUSED, 0, 0), { ...UNUSED, refusalsEnd: at(60).steady });
  assert.equal(refuse(UNUSED, 0, 0, 0, 1, 1).refusals, 0, 'those in flight with the first do not count');
  assert.equal(refuse(UNUSED, 0, 0, 1, 2, 2, 59).refusals, 3);
  assert.equal(refuse(UNUSED, 0, 0, 2, 59, 60).refusals, 0, 'the next minute begins anew');
  const counted = refuse(UNUSED, 1, 0, 2, 3);
  assert.deepEqual([counted.refusals, counted.banGeneration], [2, 1]);
  const lifted = { ...UNUSED, refusalsEnd: at(64).steady, banGeneration: 2 };
  assert.deepEqual(refuse(counted, 2, 4), lifted, 'a lift forgets');
  assert.equal(refuse(counted, 0, 4), counted, 'a request of an earlier generation counts nothing');
  assert.deepEqual(refuse(counted, 0, 60), refuse(UNUSED, 0, 60), 'which a fail-over may bring back for good');
  const { state } = charge(counted, { minute: 1, day: 1 }, at(4));
  const used = { minuteEnds: at(64).steady, minuteUsed: 1, day: Math.floor(NOON / 86_400), dayUsed: 1 };
  assert.deepEqual(state, { ...counted, ...used }, 'an admitted request forgets none');
});

test('a reset makes what a window has counted 0 and keeps its end, and counts that know of a later one stay', () => {
  const counts = { ...NO_COUNTS, minuteEnds: NOON + 30, minuteUsed: 4, day: 3, dayUsed: 8 };
  assert.deepEqual(withResets(counts, { minute: 1, day: 0 }), { ...counts, minuteUsed: 0, minuteReset: 1 });
  const after = { ...counts, dayUsed: 0, dayReset: 2 };
  assert.deepEqual(withResets(counts, { minute: 0, day: 2 }), after);
  const counted = { ...after, dayUsed: 1 };
  assert.equal(withResets(counted, { minute: 0, day: 1 }), counted, 'a request in flight counts afterwards');
  for (const older of [counts, { ...counts, day: 4 }]) assert.deepEqual(merged(older, counted), counted);
});
