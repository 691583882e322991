import { invalid } from '../../catalog/error.ts';
import { USAGE_STEPS, type UsageStep, usageSteps } from '../../catalog/operator/usage-rows.ts';
import { USAGE_GROUPS, USAGE_PERIODS, type UsageGroup, usagePeriod } from '../../catalog/usage.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { byChoice, byMoment, byText, type Selected } from '../resource.ts';

/** The filters of reports of usage, in the API and the command. */
export const USAGE_FILTERS = {
  key: byText('Only the key with this id'),
  owner: byText("Only keys with this customer's id"),
  route: byText('Only requests of this route, such as `GET /v1/pets/{petId}`; minutes know none'),
  since: byMoment('From this moment on; `24h` if it is missing', 'past', '24h'),
  until: byMoment('Before this moment', 'past', '2026-02-01T00:00:00Z'),
  by: byChoice('A series instead of sums', USAGE_STEPS),
  group: byChoice('What is added up; `key` if both this and `by` are missing', USAGE_GROUPS),
};

/** A report of usage: what is added up, in which steps. */
export interface UsageReport {
  readonly group: UsageGroup | 'all';
  readonly steps: readonly UsageStep[];
  readonly keyId: string | undefined;
  readonly owner: string | undefined;
  readonly route: string | undefined;
  readonly isSeries: boolean;
}

/**
 * Makes a report of what a request selects at a moment. Minutes are complete where usage is read from the database
 * alone: hours are stored later, and a kill may lose some. Throws `validation_failed`.
 */
export function usageReport(
  { key: keyId, owner, route, since: asked, until, by, group: wanted }: Selected<typeof USAGE_FILTERS>,
  now: number,
  { isStored = false } = {},
): UsageReport {
  const group: UsageReport['group'] = wanted ?? (by ? 'all' : 'key');
  const since = asked ?? now - DAY_SECONDS;
  const isByRoute = group === 'route' || route !== undefined;
  if (by === 'minute' && isByRoute) throw invalid('Minutes know no routes; send by=hour, by=day or by=month');
  if (until !== undefined && until < since)
    throw invalid(`until is ${utc(until)}, before since (${utc(since)}); send a later one`);
  const selection = { group, keyId, owner, route, isSeries: by !== undefined };
  if (by) return { ...selection, steps: usageSteps(by, { since, until: until ?? now + 1, now }) };
  const hasMinutes = isStored && now - since <= USAGE_PERIODS.minute.keptSeconds;
  const finest = hasMinutes ? 'minute' : usagePeriod(now - since);
  return {
    ...selection,
    steps: [{ period: isByRoute && finest === 'minute' ? 'hour' : finest, since, until }],
  };
}
