import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULES } from '../src/server/server.ts';
import { Broken, type Verdict } from '../src/trial/rule.ts';
import { FAMILIES } from './liar/families.ts';
import { failuresOf, judged, judgedLimit, wayOf } from './liar/judged.ts';
import { head, REFUSED, RESET } from './liar/lie.ts';
import { LIES } from './liar/lies.ts';
import { OTHER_KEY } from './liar/server.ts';

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));
const EXPECTATION = /^ +(?:(?:for|if) \(.*\) )?(?:throw )?expect\w*\(/;
const WAITING = new Set(RULES.filter(({ place, needs }) => place === 'waits' || needs === 'full').map(({ id }) => id));
/** Expectations that were seen to fail, as `file:line`. */
const failed = new Set<string>();

/** Notes the expectation that a verdict comes from. */
const onVerdict = (_: Verdict, error?: unknown) => {
  if (!(error instanceof Broken)) return;
  for (const [, line = ''] of error.stack?.matchAll(/(\w[\w-]*\/[\w-]+\.ts:\d+)/g) ?? []) failed.add(line);
};

describe('at our level, a lie is caught by the rules that it breaks, and by no other:', () => {
  for (const { name, description, rules, way } of LIES) {
    test(`${name}: ${description}`, async () => {
      const { report, failure } = await judged([wayOf(way)], {
        isFull: rules.some((id) => WAITING.has(id)),
        otherEnvironmentKey: OTHER_KEY,
        planLimits: rules.includes('limits.plan') ? [60, 1_000] : undefined,
        keyPlanLimits: rules.includes('limits.key-plan') ? [1_000, 100_000] : undefined,
        onVerdict,
      });
      assert.equal(failure, undefined);
      const found = report.rules.filter(({ verdict }) => verdict === 'failed');
      const seen = found.map((rule) => `${rule.id}: ${rule.seen}`).join('\n');
      assert.deepEqual(found.map(({ id }) => id).sort(), rules.toSorted(), seen);
      assert.ok(
        found.every(({ exchanges }) => exchanges.length > 0),
        'each failure shows its exchange',
      );
    });
  }
});

/** Lies about limits that any API may tell, by the rules that find them. */
const OF_ANY: Readonly<Record<string, string>> = {
  'one-too-few': 'limits.429-over-limit',
  'one-too-many': 'limits.last-token',
  'limit-understated': 'limits.429-over-limit',
  'limit-overstated': 'limits.429-over-limit',
  'limits-not-enforced': 'limits.429-over-limit',
  'last-token-twice': 'limits.last-token',
  'remaining-off-by-one': 'limits.remaining-true',
  'remaining-one-too-few': 'limits.remaining-true',
  'remaining-falls-by-two': 'limits.remaining-true',
  'create-not-limited': 'limits.refused-everywhere',
  'count-for-each-method': 'limits.every-request-counts limits.refused-everywhere',
  'create-not-counted': 'limits.every-request-counts',
  'limits-shared': 'limits.per-key',
  'retry-after-missing': 'limits.retry-after-present',
  'retry-after-with-a-unit': 'limits.retry-after-is-a-wait',
  'retry-after-1': 'limits.retry-after-suffices',
  'window-outlasts-retry-after': 'limits.retry-after-suffices',
  'window-shorter-than-told': 'limits.window-as-told',
  'refusal-extends-window': 'limits.refusals-cost-nothing',
  'no-remaining-on-201': 'limits.headers-on-every',
  'no-limits-on-429': 'limits.headers-on-429 limits.headers-on-every',
};
const WITH_RESET: Readonly<Record<string, string>> = {
  'retry-after-an-hour': 'limits.retry-after-within-reset',
  'retry-after-in-milliseconds': 'limits.retry-after-within-reset',
  'reset-now-on-429': 'limits.reset-ahead',
};

describe('a lie of any API is caught by the rules that it breaks, and by no other:', () => {
  const [unix, , delta, , , , , draft] = FAMILIES;
  for (const [name, family] of [unix, delta, draft].flatMap((each) => (each ? [each] : []))) {
    for (const [lie, rules] of Object.entries({ ...OF_ANY, ...WITH_RESET })) {
      test(`${lie}, told by ${name}`, async () => {
        const found = LIES.find((each) => each.name === lie);
        assert.ok(found, lie);
        const judgement = await judgedLimit([wayOf(found.way), family], { onVerdict });
        const seen = failuresOf(judgement);
        assert.deepEqual(seen.map((text) => text.split(':')[0]).sort(), rules.split(' '), seen.join('\n'));
      });
    }
  }

  test('a Reset of a refusal that is over', async () => {
    const over = head(REFUSED, RESET, (at) => Number(at) - 60);
    assert.deepEqual(failuresOf(await judgedLimit([over], { onVerdict })), [
      'limits.reset-ahead: the Reset of a refusal is 1 s over, though it is to be waited for',
    ]);
  });

  test('a Reset in another unit on refusals, which were Unix seconds before', async () => {
    const milliseconds = head(REFUSED, RESET, (at) => Number(at) * 1000);
    assert.deepEqual(failuresOf(await judgedLimit([milliseconds], { onVerdict })), [
      'limits.reset-ahead: 1767268860000 is no Unix time in seconds',
    ]);
  });
});

test('each lie has a name of its own, and each rule a lie', () => {
  assert.equal(new Set(LIES.map(({ name }) => name)).size, LIES.length);
  const caught = new Set(LIES.flatMap(({ rules }) => rules));
  assert.deepEqual(
    RULES.filter(({ id }) => !caught.has(id)).map(({ id }) => id),
    [],
  );
});

test('each expectation was seen to fail', () => {
  const expectations = globSync(['server/rules/*.ts', 'limits/rules.ts', 'limits/limits.ts'], { cwd: SOURCE }).flatMap(
    (file) => {
      const name = `${file.split('/').at(-2)}/${basename(file)}`;
      const lines = readFileSync(`${SOURCE}/${file}`, 'utf8').split('\n');
      return lines.flatMap((line, index) => (EXPECTATION.test(line) ? [`${name}:${index + 1}`] : []));
    },
  );
  assert.ok(expectations.length > 100, `${expectations.length} expectations`);
  assert.deepEqual(
    expectations.filter((each) => !failed.has(each)),
    [],
  );
});
