import { usageCsv } from '../../catalog/operator/csv.ts';
import { allUsageRows, usageRows } from '../../catalog/operator/usage-rows.ts';
import { weightsOf } from '../../http/accept.ts';
import { PLACE_PARAMETERS, pageLimit, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import { readParameter } from '../../http/operations/query.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { select } from '../resource.ts';
import { USAGE_FILTERS, type UsageReport, usageReport } from '../usage/report.ts';
import { type ApiContext, apiOperation } from './operation.ts';
import { KeyUsage, OwnerUsage, RouteUsage, UsagePoint } from './schema.ts';

const ROWS_PER_PAGE_MAX = 1_000;

export const GET_USAGE = apiOperation('getUsage', 'GET /usage', {
  tag: 'usage',
  summary: 'Get the usage',
  description:
    'The requests of each key, owner or route, by id in pages of 1,000 unless `limit` says otherwise. With `by` instead the requests of all selected keys together in each minute, hour, day or month (UTC) that has any, or with `by` and `group` those of each key, owner or route therein. Minutes, which know no routes, are kept for 2 days, hours for 62, days for two years; a range is widened to whole ones. `Accept: text/csv` gives all of it as CSV, in no pages. What other instances counted within the last minute may be missing.',
  permission: 'viewer',
  queryParameters: [
    ...Object.entries(USAGE_FILTERS).map(([name, { about, schema }]) => ({ name, description: about, schema })),
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
  handle: getUsage,
});

async function getUsage(context: ApiContext, exchange: Exchange): Promise<Answer> {
  const { query } = exchange;
  const selected = select(USAGE_FILTERS, { textOf: (name) => readParameter(query, name), now: context.now });
  const report = usageReport(selected, context.now);
  const { group, isSeries } = report;
  const isCsv = asksForCsv(exchange);
  await context.flushUsage();
  if (!isCsv && group !== 'all') return rowsPage(context, exchange, report);
  const rows = await allUsageRows(context, report);
  if (!isCsv) return placeAnswer(exchange, rows, undefined);
  return { status: 200, contentType: 'text/csv; charset=utf-8', body: usageCsv(rows, group, isSeries) };
}

async function rowsPage({ storage }: ApiContext, exchange: Exchange, report: UsageReport): Promise<Answer> {
  const limit = readLimit(exchange.query, ROWS_PER_PAGE_MAX, ROWS_PER_PAGE_MAX);
  const place = readPlace(exchange.query);
  const behind = place && { ...place, id: `${Buffer.from(place.id, 'base64url')}` };
  const { rows, last } = await usageRows({ storage }, report, { behind, limit });
  return placeAnswer(exchange, rows, last && { ...last, id: Buffer.from(last.id).toString('base64url') });
}

/** True for CSV that is named, and not less welcome than JSON, which is the answer to every other `Accept`. */
function asksForCsv({ request: { headers } }: Exchange): boolean {
  const weights = weightsOf(headers.accept);
  const csv = weights.get('text/csv') ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return csv > 0 && csv >= json;
}
