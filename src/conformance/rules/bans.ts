import { type Exchange, jsonOf, membersOf, retryAfterOf } from '../exchange.ts';
import { resetOf } from '../probes.ts';
import { expect, expectStatus, known, type Rule, Skipped } from '../rule.ts';
import { askLimited, askUntilRefused, waitOut } from '../spending.ts';
import type { Trial } from '../trial.ts';

const REPEATED = 'Repeated requests after a 429 can lead to a temporary ban of the API key.';
/** Refusals in the second of the first and in the next one do not count. */
const IN_FLIGHT_SECONDS = 2;
/** More refusals in a minute than the limit of the free plan, and at least 60, lead to a ban. */
const REFUSALS_MIN = 60;
const REFUSALS_MAX = 64;

/** Rules of bans, by our numbers: the interface states none. */
export const BANS: readonly Rule[] = [
  {
    id: 'bans.repeated-refusals',
    level: 'ours',
    sentence: REPEATED,
    expected: 'key_banned after more than 60 refusals in a minute, and not before',
    brokenBy: 'refusals without end, or a ban for a client that polls',
    needs: 'full',
    async judge(trial) {
      const { banned, refusals, last } = await trial.once(provoke);
      expect(banned !== undefined, `${refusals} refusals led to no ban`, last);
      expect(refusals >= REFUSALS_MIN, `${refusals} refusals led to a ban`, banned);
    },
  },
  {
    id: 'bans.calls-do-not-lengthen',
    level: 'ours',
    sentence: 'Calls during a ban never lengthen it.',
    expected: 'the same Reset on calls a second apart',
    brokenBy: 'a ban that starts over with each call',
    needs: 'full',
    async judge(trial) {
      const { banned } = await trial.once(provoke);
      const first = known(banned, 'there is no ban');
      await trial.wait(1, 'the next call during the ban');
      const later = await askLimited(trial);
      expect(resetOf(later) === resetOf(first), 'Reset moved', first, later);
    },
  },
  {
    id: 'bans.rate-limit-operation',
    level: 'ours',
    sentence: 'GET /rate_limit is answered even during a ban, with its end and reason.',
    expected: '200 with ban.until = X-RateLimit-Reset, and a reason',
    brokenBy: 'a key that cannot ask why',
    needs: 'full',
    async judge(trial) {
      const { banned } = await trial.once(provoke);
      const reset = resetOf(known(banned, 'there is no ban'));
      const state = await trial.send({ path: '/rate_limit', authorization: `Bearer ${trial.keys.limitedKey}` });
      expectStatus(state, 200);
      const { until, reason } = membersOf(membersOf(jsonOf(state.answer)).ban);
      expect(until === reset && typeof reason === 'string', 'the ban is another', state);
    },
  },
  {
    id: 'bans.end',
    level: 'ours',
    sentence: 'A ban ends when Retry-After says so.',
    expected: 'a request admitted after exactly that wait',
    brokenBy: 'a ban that outlasts its Retry-After',
    needs: 'full',
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
];

interface Provoked {
  readonly banned: Exchange | undefined;
  /** How many refusals that count came before it. */
  readonly refusals: number;
  readonly last: Exchange;
}

/** Spends the key once more, and goes on until it is banned. */
async function provoke(trial: Trial): Promise<Provoked> {
  await trial.once(waitOut);
  let last = await askUntilRefused(trial);
  await trial.wait(IN_FLIGHT_SECONDS, 'refusals that count');
  let refusals = 0;
  while (refusals < REFUSALS_MAX) {
    last = await askLimited(trial);
    if (membersOf(jsonOf(last.answer)).code === 'key_banned') return { banned: last, refusals, last };
    refusals += 1;
  }
  return { banned: undefined, refusals, last };
}
