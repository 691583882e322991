import { utc } from '../../stdx/time.ts';
import type { Place } from '../resource.ts';
import type { Storage } from '../storage.ts';
import { NO_USAGE, USAGE_PERIODS, type UsageGroup, type UsagePeriod, type UsageSum } from '../usage.ts';
import { usageJson } from './json.ts';

const NOTHING_USED: UsageSum = { id: '', name: null, owner: null, ...NO_USAGE, first: 0, last: 0, at: 0 };
/** A query that takes less is followed by one for twice as many steps, any other by one for half as many. */
const QUICK_MS = 20;

/** The steps of a series; those of UTC. */
export const USAGE_STEPS = ['minute', 'hour', 'day', 'month'] as const;
export type UsageStepName = (typeof USAGE_STEPS)[number];

/** A range of time to be added up, and when it begins in a series. */
export interface UsageStep {
  readonly period: UsagePeriod;
  readonly since: number;
  readonly until: number | undefined;
  readonly at?: number;
}

interface Selection {
  readonly group: UsageGroup | 'all';
  readonly steps: readonly UsageStep[];
  readonly keyId?: string | undefined;
  readonly owner?: string | undefined;
  readonly route?: string | undefined;
}

/** The steps of a range, as far as usage is kept. */
export function usageSteps(
  name: UsageStepName,
  { since, until, now }: { since: number; until: number; now: number },
): UsageStep[] {
  const period = name === 'month' ? 'day' : name;
  const steps: UsageStep[] = [];
  for (let next = Math.max(since, now - USAGE_PERIODS[period].keptSeconds); next < until; ) {
    const step = stepOf(next, name);
    steps.push({ period, since: step.since, until: Math.min(step.until, until), at: step.since });
    next = step.until;
  }
  return steps;
}

/**
 * A page of the usage by key, owner or route of each step, or of all keys together, with the place of its last row if
 * there are more; every row without a limit. Reads as many steps at once as take some milliseconds, and lets requests
 * be served in between.
 */
export async function usageRows(
  { storage }: { storage: Pick<Storage, 'usage'> },
  { steps, ...selection }: Selection,
  { behind, limit = Number.POSITIVE_INFINITY }: { behind?: Place | undefined; limit?: number } = {},
) {
  const rows: ReturnType<typeof usageRow>[] = [];
  let last: Place | undefined;
  const left = behind ? steps.filter(({ at = 0 }) => at >= behind.number) : steps;
  for (let number = 0, many = 1; number < left.length; ) {
    const some = left.slice(number, number + many);
    const [{ period, since, until: end = since, at }, until] = [some[0] as UsageStep, some.at(-1)?.until];
    const ofFirst = (at ?? 0) === behind?.number ? { behind: behind.id } : {};
    const wanted: number = limit - rows.length;
    const startedMs = performance.now();
    const series = some.length > 1 ? { step: USAGE_PERIODS[period].seconds } : {};
    const range = { period, since, until, ...series, ...ofFirst };
    const sums = await storage.usage.sums({ ...range, ...selection, limit: wanted + 1 });
    for (const sum of sums.slice(0, wanted)) {
      rows.push(usageRow(sum, selection.group, sum.at || at));
      last = { number: sum.at || (at ?? 0), id: sum.id };
    }
    if (sums.length > wanted) return { rows, last };
    number += some.length;
    // A month is a sum of days, each of them another step for storage.
    const isPeriod = end - since === USAGE_PERIODS[period].seconds;
    many = isPeriod && performance.now() - startedMs < QUICK_MS ? many * 2 : Math.ceil(many / 2);
  }
  return { rows, last: undefined };
}

/** The members of the rows of a report. */
export function usageColumns(group: Selection['group'], isSeries: boolean): string[] {
  return Object.keys(usageRow(NOTHING_USED, group, isSeries ? 0 : undefined));
}

/** A row of a report; `at` is the Unix second at which it begins in a series. */
function usageRow(sum: UsageSum, group: Selection['group'], at: number | undefined) {
  const { id, name, owner, first, last, ...counts } = usageJson(sum);
  const step = at !== undefined && { at: utc(at) };
  if (group === 'all') return { ...step, ...counts };
  const named = { key: { id, name, owner }, owner: { owner: id || null }, route: { route: id } }[group];
  return { ...step, ...named, ...counts, first, last };
}

function stepOf(moment: number, name: UsageStepName): { since: number; until: number } {
  if (name !== 'month') {
    const { seconds } = USAGE_PERIODS[name];
    const since = moment - (moment % seconds);
    return { since, until: since + seconds };
  }
  const date = new Date(moment * 1_000);
  const startOf = (more: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + more) / 1_000;
  return { since: startOf(0), until: startOf(1) };
}
