import { jsonOf, membersOf, retryAfterOf, Skipped } from '../exchange.ts';
import { ask, askLimited, askUntilRefused, waitOut } from '../limit-spending.ts';
import { resetOf } from '../probes.ts';
import { expect, expectStatus, given, known, ours, type RuleTable, usually } from '../rule.ts';
import type { Trial } from '../trial.ts';

/** Refusals in the second of the first and in the next one do not count. */
const IN_FLIGHT_SECONDS = 2;
/** More refusals in a minute than the limit of the free plan, and at least 60, lead to a ban. */
const REFUSALS_MIN = 60;
const REFUSALS_MAX = 64;
/** Requests at once to a slow server. */
const GROUP = 16;

const RULES: RuleTable = {
  'bans.repeated-refusals': {
    ...ours(
      'Limits, rule 4; limits.md, Refusals and bans',
      'Repeated requests after a 429 can lead to a temporary ban of the API key.',
    ),
    expected: 'key_banned after more than 60 refusals in a minute, and not before',
    judge: given(provoke, ({ banned, refusals, last }) => {
      expect(banned !== undefined, `${refusals} refusals led to no ban`, last);
      expect(refusals >= REFUSALS_MIN, `${refusals} refusals led to a ban`, banned);
    }),
  },
  'bans.calls-do-not-lengthen': {
    ...ours('limits.md, Refusals and bans', 'Calls during a ban never lengthen it.'),
    expected: 'the same Reset on calls a second apart',
    judge: given(provoke, async ({ banned }, trial) => {
      const first = known(banned, 'there is no ban');
      await trial.wait(1, 'the next call during the ban');
      const later = await askLimited(trial);
      expect(resetOf(later) === resetOf(first), 'Reset moved', first, later);
    }),
  },
  'bans.rate-limit-operation': {
    ...ours('limits.md, Refusals and bans', 'GET /rate_limit is answered even during a ban, with its end and reason.'),
    expected: '200 with ban.until = X-RateLimit-Reset, and a reason',
    judge: given(provoke, async ({ banned }, trial) => {
      const reset = resetOf(known(banned, 'there is no ban'));
      const state = await trial.send({ path: '/rate_limit', authorization: `Bearer ${trial.options.limitedKey}` });
      expectStatus(state, 200);
      const { until, reason } = membersOf(membersOf(jsonOf(state.answer)).ban);
      expect(until === reset, 'the ban has another end', state);
      expect(typeof reason === 'string', 'the ban has no reason', state);
    }),
  },
  'bans.end': {
    ...ours('limits.md, Refusals and bans', 'A ban ends when Retry-After says so.'),
    expected: 'a request admitted after exactly that wait',
    async judge(trial) {
      await trial.once(provoke);
      const refused = await askLimited(trial);
      const seconds = known(retryAfterOf(refused.answer), 'there is no Retry-After');
      if (refused.answer.status !== 429) throw new Skipped('there is no ban');
      await trial.wait(seconds, 'the end of the ban');
      const after = await askLimited(trial);
      expect(after.answer.status !== 429, `still refused ${seconds} s later`, refused, after);
    },
  },
};

/** Rules of bans, by our numbers: the interface states none. */
export const BANS = usually({ needs: 'full', place: 'waits' }, RULES);

/** Spends the key once more, and goes on until it is banned; `refusals` counts those that came before the ban. */
async function provoke(trial: Trial) {
  await trial.once(waitOut);
  let last = await askUntilRefused(trial);
  await trial.wait(IN_FLIGHT_SECONDS, 'refusals that count');
  // The window may have ended just then.
  const first = await ask(trial, 1);
  if (first.admitted.length > 0) {
    last = await askUntilRefused(trial);
    await trial.wait(IN_FLIGHT_SECONDS, 'refusals that count');
  }
  let refusals = first.refused.length;
  const width = trial.isSlow ? GROUP : 1;
  while (refusals < REFUSALS_MAX) {
    const group = await ask(trial, width);
    const banned = group.refused.find(({ answer }) => membersOf(jsonOf(answer)).code === 'key_banned');
    // Of requests at once, any may have been the first.
    if (banned) return { banned, refusals: refusals + width - 1, last: banned };
    refusals += group.refused.length;
    last = group.refused[0] ?? last;
  }
  return { banned: undefined, refusals, last };
}
