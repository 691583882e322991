import { invalid } from '../../catalog/error.ts';
import { usageCsv } from '../../catalog/operator/csv.ts';
import {
  allUsageRows,
  USAGE_STEPS,
  type UsageStep,
  type UsageStepName,
  usageRows,
  usageSteps,
} from '../../catalog/operator/usage-rows.ts';
import { USAGE_GROUPS, type UsageGroup, usagePeriod } from '../../catalog/usage.ts';
import { weightsOf } from '../../http/accept.ts';
import { PLACE_PARAMETERS, pageLimit, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import { choice, choiceIn, momentIn, momentParameter, textIn, textParameter } from '../../http/operations/query.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { type ApiContext, apiOperation } from './operation.ts';
import { KeyUsage, OwnerUsage, RouteUsage, UsagePoint } from './schema.ts';

const ROWS_PER_PAGE_MAX = 1_000;

export const getUsage = apiOperation('getUsage', 'GET /usage', {
  tag: 'usage',
  summary: 'Get the usage',
  description:
    'The requests of each key, owner or route, by id in pages of 1,000 unless `limit` says otherwise. With `by` instead the requests of all selected keys together in each minute, hour, day or month (UTC) that has any, or with `by` and `group` those of each key, owner or route therein. Minutes, which know no routes, are kept for 2 days, hours for 62, days for two years; a range is widened to whole ones. `Accept: text/csv` gives all of it as CSV, in no pages. What other instances counted within the last minute may be missing.',
  permission: 'viewer',
  queryParameters: [
    textParameter('key', 'Only the key with this id'),
    textParameter('owner', "Only keys with this customer's id"),
    momentParameter('since', 'From this moment on; `24h` if it is missing', '24h'),
    momentParameter('until', 'Before this moment', '2026-02-01T00:00:00Z'),
    choice('by', 'A series instead of sums', USAGE_STEPS),
    choice('group', 'What is added up; `key` if both this and `by` are missing', USAGE_GROUPS),
    ...PLACE_PARAMETERS.map((parameter) =>
      parameter.name === 'limit' ? pageLimit(ROWS_PER_PAGE_MAX, ROWS_PER_PAGE_MAX) : parameter,
    ),
  ],
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
    example: [
      {
        id: 'key_VXnvMwGskigm0Sfq',
        name: 'shop',
        owner: 'cus_42',
        served: 120,
        refused: 3,
        clientErrors: 1,
        serverErrors: 0,
        first: '2026-01-01T12:00:00Z',
        last: '2026-01-01T12:34:56Z',
      },
    ],
    headers: { Link: 'The next page; absent on the last, and from a series without `group`' },
    csv: 'id,name,owner,served,refused,clientErrors,serverErrors,first,last\nkey_VXnvMwGskigm0Sfq,shop,cus_42,120,3,1,0,2026-01-01T12:00:00Z,2026-01-01T12:34:56Z\n',
  },
  async handle(context, exchange) {
    const by = choiceIn(exchange.query, 'by', USAGE_STEPS);
    const group = choiceIn(exchange.query, 'group', USAGE_GROUPS) ?? (by ? 'all' : 'key');
    if (by === 'minute' && group === 'route') throw invalid('Minutes know no routes; send by=hour, by=day or by=month');
    const isCsv = asksForCsv(exchange);
    await context.flushUsage();
    const steps = stepsIn(rangeIn(exchange.query, context.now), { by, group, now: context.now });
    if (!isCsv && group !== 'all') return rowsPage(context, exchange, { group, steps });
    const rows = await allUsageRows(context, { group, steps, ...selectedIn(exchange.query) });
    if (!isCsv) return placeAnswer(exchange, rows, undefined);
    return { status: 200, contentType: 'text/csv; charset=utf-8', body: usageCsv(rows, group, by !== undefined) };
  },
});

async function rowsPage(
  { storage }: ApiContext,
  exchange: Exchange,
  wanted: { readonly group: UsageGroup; readonly steps: readonly UsageStep[] },
): Promise<Answer> {
  const limit = readLimit(exchange.query, ROWS_PER_PAGE_MAX, ROWS_PER_PAGE_MAX);
  const place = readPlace(exchange.query);
  const behind = place && { ...place, id: `${Buffer.from(place.id, 'base64url')}` };
  const { rows, last } = await usageRows({ storage }, { ...wanted, ...selectedIn(exchange.query) }, { behind, limit });
  return placeAnswer(exchange, rows, last && { ...last, id: Buffer.from(last.id).toString('base64url') });
}

function stepsIn(
  { since, until }: ReturnType<typeof rangeIn>,
  { by, group, now }: { by: UsageStepName | undefined; group: UsageGroup | 'all'; now: number },
): UsageStep[] {
  if (by) return usageSteps(by, { since, until: until ?? now + 1, now });
  const finest = usagePeriod(now - since);
  return [{ period: group === 'route' && finest === 'minute' ? 'hour' : finest, since, until }];
}

function selectedIn(query: URLSearchParams) {
  return { keyId: textIn(query, 'key'), owner: textIn(query, 'owner') };
}

function rangeIn(query: URLSearchParams, now: number) {
  const since = momentIn(query, 'since', { now, towards: 'past' }) ?? now - DAY_SECONDS;
  const until = momentIn(query, 'until', { now, towards: 'past' });
  if (until !== undefined && until < since)
    throw invalid(`until is ${utc(until)}, before since (${utc(since)}); send a later one`);
  return { since, until };
}

/** True for CSV that is named, and not less welcome than JSON, which is the answer to every other `Accept`. */
function asksForCsv({ request: { headers } }: Exchange): boolean {
  const weights = weightsOf(headers.accept);
  const csv = weights.get('text/csv') ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return csv > 0 && csv >= json;
}
