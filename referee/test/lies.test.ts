import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RULES, selected } from '../src/server/server.ts';
import { FAMILIES } from './liar/families.ts';
import { failuresOf, judged, judgedLimit, LIMIT, wayOf } from './liar/judged.ts';
import { head, REFUSED, RESET } from './liar/lie.ts';
import { LIES } from './liar/lies.ts';
import { LIMITED_KEY, OTHER_KEY, type Way } from './liar/server.ts';

const WAITING = idsOf(({ place, needs }) => place === 'waits' || needs === 'full');
/** The rules that look at a limited key, or back at its refusals. */
const LIMITED = idsOf(
  ({ id, needs }) => /^(limited-key|plan|full)$/.test(`${needs}`) || id === 'limits.reset-unix-time',
);
/** The rules that one lie may break: a server that lies about one subject is judged by no rule of another. */
const SUBJECTS = [/^(list|create)\./, /^auth\./, /^(errors|bodies)\./, /^(http|deprecation)\./, /^(limits|bans)\./];
/** The rule that looks back at answers to the rules of another subject. */
const LOOKS_BACK = 'limits.headers-on-every';

function idsOf(isWanted: (rule: (typeof RULES)[number]) => boolean): ReadonlySet<string> {
  return new Set(RULES.filter(isWanted).map(({ id }) => id));
}

const judgedOfLie = (way: Way, rules: readonly string[]) => {
  const isAbout = rules.includes(LOOKS_BACK) ? [...rules, 'http.'] : rules;
  const subjects = SUBJECTS.filter((subject) => isAbout.some((id) => subject.test(id)));
  const planLimits = rules.includes('limits.free-plan') ? undefined : [LIMIT, 1_000];
  const options = { planLimits, keyPlanLimits: rules.includes('limits.key-plan') ? [1_000, 100_000] : undefined };
  const isFull = rules.some((id) => WAITING.has(id));
  return judged([{ limit: LIMIT }, way], {
    ...options,
    only: selected({ level: 'ours', ...options })
      .filter(({ id }) => subjects.some((subject) => subject.test(id)))
      .map(({ id }) => id),
    isFull,
    limitedKey: rules.some((id) => LIMITED.has(id)) ? LIMITED_KEY : undefined,
    otherEnvironmentKey: OTHER_KEY,
  });
};

describe('at our level, a lie is caught by the rules that it breaks, and by no other of its subject:', () => {
  for (const { told, rules, way } of LIES) {
    test(told, async () => {
      const { report, failure } = await judgedOfLie(wayOf(way), rules);
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

test('a server that tells no lie keeps every rule of our level', async () => {
  const { report, failure } = await judged([], { otherEnvironmentKey: OTHER_KEY, keyPlanLimits: [1_000, 100_000] });
  assert.equal(failure, undefined);
  const [, ...others] = new Set(report.rules.map(({ verdict }) => verdict));
  assert.deepEqual(others, [], JSON.stringify(report.rules.filter(({ verdict }) => verdict !== 'passed')));
});

/** Lies about limits that any API may tell, by the rules that find them. */
const OF_ANY: Readonly<Record<string, string>> = {
  'a key may do 19 requests, and is told of a limit of 20': 'limits.429-over-limit',
  'a key may do 21 requests, and is told of a limit of 20': 'limits.last-token',
  'a key may do 50 requests, and is told of a limit of 20': 'limits.429-over-limit',
  'the limits are told, and nothing is refused': 'limits.429-over-limit',
  'the last request of a window is checked apart from its count, so that several at once are admitted':
    'limits.last-token',
  'X-RateLimit-Remaining still counts the request that it answers': 'limits.remaining-true',
  'Remaining is one too few': 'limits.remaining-true',
  'a create is admitted over the limit': 'limits.refused-everywhere',
  'each method has a count of its own': 'limits.every-request-counts limits.refused-everywhere',
  'a create takes nothing of the quota': 'limits.every-request-counts',
  'a key over its limit has all others refused': 'limits.per-key',
  'a 429 has no Retry-After': 'limits.retry-after-present',
  'Retry-After has a unit': 'limits.retry-after-is-a-wait',
  'Retry-After ends one second before the window': 'limits.retry-after-suffices',
  'a key is refused for two seconds after its Retry-After': 'limits.retry-after-suffices',
  'a key is admitted again after a quarter of Retry-After': 'limits.window-as-told',
  'every refusal starts the minute anew': 'limits.refusals-cost-nothing',
  'x-ratelimit-remaining is missing on an answer to 201': 'limits.headers-on-every',
  'x-ratelimit-limit is missing on an answer to 429': 'limits.headers-on-429 limits.headers-on-every',
};
const WITH_RESET: Readonly<Record<string, string>> = {
  'Retry-After ends three seconds after the window': 'limits.retry-after-within-reset',
  'Reset is the present second on a refusal': 'limits.reset-ahead',
};

describe('a lie of any API is caught by the rules that it breaks, and by no other:', () => {
  const [unix, , delta, , , , , draft] = FAMILIES;
  const families = [unix, delta, draft].flatMap((each) => (each ? [each] : []));
  for (const [index, [lie, rules]] of Object.entries({ ...OF_ANY, ...WITH_RESET }).entries()) {
    // Each in one family of headers: how those are read is shown by limits that are kept.
    const [name, family] = families[index % families.length] ?? assert.fail();
    test(`${lie}, told by ${name}`, async () => {
      const found = LIES.find(({ told }) => told === lie) ?? assert.fail(lie);
      const seen = failuresOf(await judgedLimit([wayOf(found.way), family]));
      assert.deepEqual(seen.map((text) => text.split(':')[0]).sort(), rules.split(' '), seen.join('\n'));
    });
  }

  test('a Reset of a refusal that is over', async () => {
    const over = head(REFUSED, RESET, (at) => Number(at) - 60);
    assert.deepEqual(failuresOf(await judgedLimit([over])), [
      'limits.reset-ahead: the Reset of a refusal is 1 s over, though it is to be waited for',
    ]);
  });

  test('a Reset in another unit on refusals, which were Unix seconds before', async () => {
    const milliseconds = head(REFUSED, RESET, (at) => Number(at) * 1000);
    assert.deepEqual(failuresOf(await judgedLimit([milliseconds])), [
      'limits.reset-ahead: 1767268860000 is no Unix time in seconds',
    ]);
  });
});

test('each lie is told once, and each rule a lie', () => {
  assert.equal(new Set(LIES.map(({ told }) => told)).size, LIES.length);
  const caught = new Set(LIES.flatMap(({ rules }) => rules));
  assert.deepEqual(
    RULES.filter(({ id }) => !caught.has(id)).map(({ id }) => id),
    [],
  );
});
