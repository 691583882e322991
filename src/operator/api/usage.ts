import { invalid } from '../../catalog/error.ts';
import { USAGE_STEPS, usageColumns, usageRows, usageSteps } from '../../catalog/operator/usage-rows.ts';
import {
  UNMATCHED,
  USAGE_GROUPS,
  USAGE_PERIODS,
  USAGE_SORTS,
  type UsageGroup,
  usagePeriod,
  weightOf,
} from '../../catalog/usage.ts';
import { OPERATIONS } from '../../http/operations.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { METHODS } from '../../telemetry/request-metrics.ts';
import { byChoice, byKey, byMoment, byText, type Filter, type Selected } from './filters.ts';
import { type Call, operate } from './operation.ts';
import { KeyUsage, OwnerUsage, RouteUsage, UsagePoint } from './schema.ts';

/** The usage of keys, owners and routes. */

const ROWS_PER_PAGE_MAX = 1_000;
const DOCUMENTED = [...OPERATIONS.map(({ method, path }) => `${method} /v1${path}`), UNMATCHED];
/** As they are counted, also with methods that are refused. */
const COUNTED = OPERATIONS.flatMap(({ path }) => [...METHODS, 'other'].map((method) => `${method} /v1${path}`));
const FILTERS = {
  key: byKey('Only the key with this id'),
  owner: byText("Only keys with this customer's id"),
  route: {
    ...byChoice(
      'Only requests of this route, such as `GET /v1/pets/{petId}`; minutes know none',
      [...COUNTED, UNMATCHED],
      { choices: DOCUMENTED },
    ),
    schema: { type: 'string' },
  } as Filter<string>,
  since: byMoment('From this moment on; a day before `until`, or now, if it is missing', 'past', '24h'),
  until: byMoment('Before this moment', 'past', '2026-02-01T00:00:00Z'),
  by: byChoice('A series instead of sums', USAGE_STEPS),
  group: byChoice('What is added up; `key` if both this and `by` are missing', USAGE_GROUPS),
  sort: byChoice('The order of sums, most first; by id if it is missing. A series is by time', USAGE_SORTS),
};

export const getUsage = operate('usage.list', 'getUsage', 'GET /usage', {
  summary: 'Get the usage',
  description:
    'The requests of each key, owner or route, by id in pages of 1,000 unless `limit` says otherwise. With `by` instead the requests of all selected keys together in each minute, hour, day or month (UTC) that has any, or with `by` and `group` those of each key, owner or route therein. Minutes, which know no routes, are kept for 2 days, hours for 62, days for two years; a range is widened to whole ones. `Accept: text/csv` gives all of it as CSV, in no pages. What other instances counted within the last minute may be missing.',
  permission: 'viewer',
  filters: FILTERS,
  usual: { sort: 'requests' },
  list: {
    noun: ['request', 'requests'],
    schema: { anyOf: [KeyUsage, OwnerUsage, RouteUsage, UsagePoint] },
    columns: [],
    limitMax: ROWS_PER_PAGE_MAX,
    limitUsual: ROWS_PER_PAGE_MAX,
    csv: {
      columns: (query) =>
        usageColumns(groupIn(query?.get('group') ?? undefined, query?.has('by') ?? false), query?.has('by') ?? false),
    },
  },
  success: {
    status: 200,
    description: 'The usage',
    schema: {
      anyOf: [
        { type: 'array', items: KeyUsage },
        { type: 'array', items: OwnerUsage },
        { type: 'array', items: RouteUsage },
        { type: 'array', items: UsagePoint },
      ],
    },
    headers: { Link: 'The next page; absent on the last, and from a series without `group`' },
    csv: 'id,name,owner,served,refused,clientErrors,serverErrors,first,last\nkey_VXnvMwGskigm0Sfq,shop,cus_42,120,3,1,0,2026-01-01T12:00:00Z,2026-01-01T12:34:56Z\n',
  },
  async handle(caller, { query, sort, behind: place, limit, nameOf }) {
    const { now, service } = caller;
    // Hours are stored later than minutes: those of the service are complete once they were stored now.
    await service?.flushUsage();
    const report = usageReport(query, now, { isStored: !service, nameOf });
    if (report.group === 'all') return { json: (await usageRows(caller, report)).rows };
    const order = USAGE_SORTS.find((each) => each === sort);
    if (order && !report.isSeries) {
      const { rows: all } = await usageRows(caller, report);
      all.sort((one, other) => weightOf(other, order) - weightOf(one, order));
      const [from, end] = [place?.number ?? 0, (place?.number ?? 0) + limit];
      return { json: all.slice(from, end), last: end < all.length ? { number: end, id: '' } : undefined };
    }
    const behind = place && { ...place, id: `${Buffer.from(place.id, 'base64url')}` };
    const { rows, last } = await usageRows(caller, report, { behind, limit });
    return { json: rows, last: last && { ...last, id: Buffer.from(last.id).toString('base64url') } };
  },
});

/**
 * Makes a report of what a request selects at a moment. Minutes are complete where usage is read from the database
 * alone: hours are stored later, and a kill may lose some. Throws `validation_failed`.
 */
function usageReport(
  { key: keyId, owner, route, since: asked, until, by, group: wanted }: Selected<typeof FILTERS>,
  now: number,
  { isStored, nameOf }: { isStored: boolean } & Pick<Call, 'nameOf'>,
) {
  const group = groupIn(wanted, by !== undefined);
  const since = asked ?? Math.min(until ?? now, now) - DAY_SECONDS;
  const isByRoute = group === 'route' || route !== undefined;
  if (by === 'minute' && isByRoute) throw invalid(`Minutes know no routes; send ${nameOf('by')} as hour, day or month`);
  const selection = { group, keyId, owner, route, isSeries: by !== undefined };
  if (by) return { ...selection, steps: usageSteps(by, { since, until: until ?? now + 1, now }) };
  const hasMinutes = isStored && now - since <= USAGE_PERIODS.minute.keptSeconds;
  const finest = hasMinutes ? 'minute' : usagePeriod({ since, until: Math.min(until ?? now, now), now });
  return { ...selection, steps: [{ period: isByRoute && finest === 'minute' ? 'hour' : finest, since, until }] };
}

function groupIn(wanted: string | undefined, isSeries: boolean): UsageGroup | 'all' {
  return USAGE_GROUPS.find((group) => group === wanted) ?? (isSeries ? 'all' : 'key');
}
