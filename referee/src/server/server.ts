import { refusals } from '../limits/spending.ts';
import { Mistake } from '../mistake.ts';
import { Client } from '../trial/client.ts';
import { judgeBy } from '../trial/judging.ts';
import { reach } from '../trial/reach.ts';
import { countsOf } from '../trial/report.ts';
import type { Level, Report, Rule, Verdict } from '../trial/rule.ts';
import { Secrets } from '../trial/secrets.ts';
import { Trial, type TrialOptions } from '../trial/trial.ts';
import { limitedBy } from './catalog-limit.ts';
import { FIRST_PROBES, nearKeys } from './probes.ts';
import { AUTHENTICATION } from './rules/authentication.ts';
import { CATEGORIES } from './rules/categories.ts';
import { ERRORS } from './rules/errors.ts';
import { HTTP } from './rules/http.ts';
import { ALL_LIMIT_HEADERS, LIMIT_HEADERS } from './rules/limit-headers.ts';
import { LIMITS } from './rules/limits.ts';

const LIST_PATH = '/categories';

const TABLES = [CATEGORIES, AUTHENTICATION, ERRORS, LIMIT_HEADERS, HTTP, LIMITS, ALL_LIMIT_HEADERS];

/** Every rule, by subject: what creates first, what waits last. */
export const RULES: readonly Rule[] = TABLES.flatMap((table) =>
  Object.entries(table).map(([id, rule]) => ({ id, ...rule })),
);

export interface RefereeOptions extends Omit<TrialOptions, 'usual' | 'listPath' | 'requestsMax'> {
  /** The base address, `/v1` included. */
  readonly url: URL;
  readonly key: string;
  /** A fresh key of the free plan, which is spent. */
  readonly limitedKey?: string | undefined;
  readonly level: Level;
  /** Judges these rules alone, whatever their level. */
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  /** Told of each verdict as it is reached, and of the error that it comes from. */
  readonly onVerdict?: (verdict: Verdict) => void;
}

/** A report, and what kept the referee from judging as it should. */
export interface Judgement {
  readonly report: Report;
  /** A failure of the referee, or of the way to the server; undefined without one. */
  readonly failure: string | undefined;
}

/** The rules that options select. */
export function selected(options: Partial<RefereeOptions>): Rule[] {
  const { level, only = [], skip = [], planLimits, keyPlanLimits } = options;
  const known = { plan: planLimits, 'key-plan': keyPlanLimits };
  return RULES.filter(({ id, level: own, needs }) => {
    if (skip.includes(id)) return false;
    if (only.length > 0) return only.includes(id);
    // Where the plan is known, limits.plan judges it; a list of rules has both.
    if (id === 'limits.free-plan' && planLimits?.length) return false;
    if ((needs === 'plan' || needs === 'key-plan') && known[needs] === undefined) return false;
    return level === 'ours' || own === 'published';
  });
}

/** Judges a server by every rule that is selected. Throws `Mistake` without one. Creates at most 40 categories. */
export async function judge(options: RefereeOptions): Promise<Judgement> {
  const { url, level, key, limitedKey, otherEnvironmentKey, only = [], pace, onVerdict } = options;
  const startedAt = pace.now();
  using client = new Client(url);
  const trial = new Trial(client, { ...options, listPath: LIST_PATH });
  if (limitedKey !== undefined) trial.limited = limitedBy(limitedKey, key);
  const list = { method: 'GET', path: LIST_PATH, headers: { 'accept-encoding': 'identity' }, body: undefined };
  const first = await reach(client, list);
  if (first?.status === 404 && !url.pathname.includes('/v1')) {
    const { status } = (await reach(client, { ...list, path: `/v1${LIST_PATH}` })) ?? {};
    if (status !== 404)
      throw new Mistake(`${client.addressOf(LIST_PATH)} is not there; did you mean ${url.origin}/v1?`);
  }
  await trial.send().catch(() => undefined);
  if (trial.isSlow && only.length === 0) await trial.atOnce([...FIRST_PROBES, ...(limitedKey ? [refusals] : [])]);
  const secrets = new Secrets([
    [limitedKey, '$LIMITED_KEY'],
    [otherEnvironmentKey, '$OTHER_ENVIRONMENT_KEY'],
    [key, '$KEY'],
    ...nearKeys(key),
  ]);
  const missing = (rule: Rule) => missingFor(rule.needs, options);
  const { verdicts, failure } = await judgeBy(selected(options), trial, { secrets, onVerdict, missingFor: missing });
  const report: Report = {
    url: url.href.replace(/\/$/, ''),
    level,
    ...countsOf(verdicts),
    durationMs: Math.round((pace.now() - startedAt) * 1000),
    rules: verdicts,
  };
  return { report, failure };
}

function missingFor(needs: Rule['needs'], options: RefereeOptions): string | undefined {
  const { limitedKey, otherEnvironmentKey, planLimits, keyPlanLimits, isFull } = options;
  if (needs === undefined) return undefined;
  if (needs === 'other-environment-key') return otherEnvironmentKey ? undefined : 'no --other-environment-key';
  if (needs === 'key-plan') return keyPlanLimits ? undefined : 'no --key-plan';
  if (!limitedKey) return 'no --limited-key';
  if (needs === 'plan') return planLimits ? undefined : 'no --plan';
  return needs === 'full' && !isFull ? 'it waits for a window; --full judges it' : undefined;
}
