import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { AnsweredRequest } from './events.ts';
import { type RecentQuery, RecentRequests } from './recent-requests.ts';
import { API_SIDE } from './request-metrics.ts';

test('each key has its last 200 failures and its last 200 other answers, and the oldest of 10,000 go first', () => {
  const burst = fc.tuple(fc.nat(80), fc.boolean(), fc.integer({ min: 1, max: 300 }));
  const property = fc.property(fc.array(burst, { minLength: 200, maxLength: 400 }), (bursts) => {
    const recent = new RecentRequests();
    const model: { id: string; key: string; failed: boolean }[] = [];
    for (const [number, failed, length] of bursts) {
      for (let index = 0; index < length; index += 1) {
        const [id, key] = [`r${model.length}`, `key_${number}`];
        recent.record(answered(id, failed ? 400 : 399), key, 1);
        model.push({ id, key, failed });
      }
    }
    const kept = keptOf(model);
    const idsOf = (query: RecentQuery) => recent.list(query).map(({ requestId }) => requestId);
    // As texts: the difference of two long lists takes minutes to describe.
    assert.ok(idsOf({ limit: 30_000 }).join() === kept.map(({ id }) => id).join(), 'other requests are kept');
    for (const keyId of ['key_0', 'key_1', 'key_80', 'key_none']) {
      const own = kept.filter(({ key }) => key === keyId).map(({ id }) => id);
      assert.equal(idsOf({ keyId, limit: 400 }).join(), own.join());
    }
  });
  fc.assert(property, { numRuns: 3, endOnFailure: true });
});

test('of the refusals of a key within a minute the first ten and the last ten are kept, among its other requests', () => {
  const statuses = fc.array(fc.constantFrom(429, 429, 429, 429, 404), { minLength: 1, maxLength: 90 });
  const property = fc.property(fc.array(statuses, { minLength: 1, maxLength: 12 }), (minutes) => {
    const recent = new RecentRequests();
    const all: { id: string; status: number; minute: number }[] = [];
    for (const [minute, answers] of minutes.entries()) {
      for (const status of answers) {
        const id = `r${all.length}`;
        recent.record(answered(id, status), 'key_1', 600 + minute * 60);
        recent.record(answered(`other ${id}`, 429), `other_${all.length}`, 600 + minute * 60);
        all.push({ id, status, minute });
      }
    }
    const listed = new Set(recent.list({ keyId: 'key_1', limit: 200 }).map(({ requestId }) => requestId));
    // What the bound of 200 leaves is a tail of what the rule of the minutes leaves.
    const kept = all.filter(({ status, minute }, index) => {
      if (status !== 429) return true;
      const same = (each: { status: number; minute: number }) => each.status === 429 && each.minute === minute;
      return all.slice(0, index).filter(same).length < 10 || all.slice(index + 1).filter(same).length < 10;
    });
    if (kept.length <= 200) assert.deepEqual([...listed].sort(), kept.map(({ id }) => id).sort());
    else assert.ok(listed.size <= 200 && kept.slice(-20).every(({ id }) => listed.has(id)));
  });
  fc.assert(property, { numRuns: 60 });
});

for (const keys of [1, 1_000]) {
  test(`with keys: ${keys}, 50,000 requests leave nothing in the heap that only a full collection would take`, () => {
    setFlagsFromString('--expose-gc');
    const collect: (options?: { type: 'minor' }) => void = runInNewContext('gc');
    const recent = new RecentRequests();
    const ids = Array.from({ length: keys }, (_, index) => `key_${index}`);
    const recordEach = (first: number) => {
      for (let number = first; number < first + 1_000; number += 1) {
        const key = ids[number % keys] ?? '';
        // Strings of their own, as they come from a parser, and none that V8 caches, as it does decimal numbers.
        const userAgent = Buffer.from(`client of ${key}, which says much of itself`).toString();
        recent.record(
          { ...answered(number.toString(36).padEnd(128, 'x'), 200), durationMs: number / 7, userAgent },
          key,
          1,
        );
      }
      collect({ type: 'minor' });
    };
    for (let first = 0; first < 50_000; first += 1_000) recordEach(first);
    collect();
    const before = getHeapStatistics().used_heap_size;
    for (let first = 50_000; first < 100_000; first += 1_000) recordEach(first);
    const grown = (getHeapStatistics().used_heap_size - before) / 50_000;
    assert.ok(grown < 8, `${grown} bytes of each request`);
    assert.equal(recent.list({ limit: 20_000 }).length, keys === 1 ? 200 : 10_000);
  });
}

function answered(requestId: string, status: number): AnsweredRequest {
  return {
    ...API_SIDE,
    requestId,
    keyId: undefined,
    plan: 'free',
    method: 'GET',
    route: '/v1/categories',
    status,
    code: undefined,
    durationMs: 1,
    windows: undefined,
    traceId: undefined,
  };
}

/** What is kept of all requests by the rules, newest first: each new one makes room as it comes. */
function keptOf<T extends { readonly key: string; readonly failed: boolean }>(all: readonly T[]): T[] {
  const kept = [true, false].map((failed) => {
    // Sets keep the order of insertion, so that the oldest is found and removed at once.
    const group = new Set<T>();
    const byKey = new Map<string, Set<T>>();
    for (const each of all.filter((one) => one.failed === failed)) {
      const own = byKey.get(each.key) ?? new Set();
      const full = own.size === 200 ? own : group.size === 10_000 ? group : new Set<T>();
      for (const oldest of full) {
        group.delete(oldest);
        byKey.get(oldest.key)?.delete(oldest);
        break;
      }
      group.add(each);
      byKey.set(each.key, own.add(each));
    }
    return [...group];
  });
  const order = new Map(all.map((each, index) => [each, index]));
  return kept.flat().sort((one, other) => (order.get(other) ?? 0) - (order.get(one) ?? 0));
}
