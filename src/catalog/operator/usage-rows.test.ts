import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type UsageStepName, usageRows, usageSteps } from './usage-rows.ts';

const day = (month: number, date: number) => Date.UTC(2026, month - 1, date) / 1_000;

test('a month is one of UTC, wherever the machine is', (t) => {
  const { TZ } = process.env;
  t.after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  for (const zone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
    process.env.TZ = zone;
    assert.deepEqual(
      usageSteps('month', { since: day(2, 1), until: day(3, 2), now: day(3, 2) }),
      [
        { period: 'day', since: day(2, 1), until: day(3, 1), at: day(2, 1) },
        { period: 'day', since: day(3, 1), until: day(3, 2), at: day(3, 1) },
      ],
      zone,
    );
  }
});

test('a series begins where usage is still kept, at a whole step, and ends where it is asked to', () => {
  const now = day(6, 30) + 12 * 3_600;
  const [since, until] = [day(1, 1) - 900 * 86_400, now - 90];
  for (const [name, seconds, kept] of [
    ['minute', 60, 2],
    ['hour', 3_600, 62],
    ['day', 86_400, 732],
  ] as const) {
    const steps = usageSteps(name, { since, until, now });
    const first = now - kept * 86_400;
    const at = first - (first % seconds);
    const last = until - (until % seconds);
    assert.deepEqual(steps[0], { period: name, since: at, until: at + seconds, at });
    assert.deepEqual(steps.at(-1), { period: name, since: last, until, at: last });
    assert.equal(steps.length, (last - at) / seconds + 1);
  }
  assert.deepEqual(usageSteps('hour', { since: now, until: now, now }), []);
});

/** The first page of a series, in which each step has the usage of one route. */
async function pageOf(name: UsageStepName, until: number, limit: number) {
  const usage = {
    async sums(query: { since: number; until: number; step?: number; limit: number }) {
      const { since, until: end, step = end - since } = query;
      const steps = Array.from({ length: Math.ceil((end - since) / step) }, (_, index) => since + index * step);
      const counts = { served: 1, clientErrors: 0, refused: 0, serverErrors: 0, first: since, last: since };
      return steps.slice(0, query.limit).map((at) => ({ id: 'r', name: null, owner: null, ...counts, at }));
    },
  };
  const steps = usageSteps(name, { since: day(1, 1), until, now: until });
  const selection = { steps, group: 'route' } as const;
  const page = await usageRows({ storage: { usage } as never }, selection, { behind: undefined, limit });
  return { ats: page.rows.map((row) => 'at' in row && row.at), last: page.last };
}

test('a page has a next one only if there is another row', async () => {
  const until = day(1, 1) + 3 * 3_600;
  assert.equal((await pageOf('hour', until, 3)).last, undefined);
  const { ats, last } = await pageOf('hour', until, 2);
  assert.deepEqual([ats.length, last], [2, { number: day(1, 1) + 3_600, id: 'r' }]);
});
