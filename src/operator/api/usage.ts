import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { usageCsv } from '../../catalog/operator/csv.ts';
import { usageJson, usagePointJson } from '../../catalog/operator/json.ts';
import { ALL_KEYS, USAGE_PERIODS, type UsagePeriod, type UsagePoint } from '../../catalog/usage.ts';
import { PLACE_PARAMETERS, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import { choice, choiceIn, momentIn, momentParameter, textIn, textParameter } from '../../http/operations/query.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import type { ApiContext, ApiOperation } from './operation.ts';
import { KeyUsage, UsagePoint as Point } from './schema.ts';

const PERIODS = [...(Object.keys(USAGE_PERIODS) as UsagePeriod[]), 'month'] as const;
type Period = (typeof PERIODS)[number];
const KEYS_PER_PAGE_MAX = 1_000;

/** GET /usage. */
const getUsage: ApiOperation = {
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'usage',
  summary: 'Get the usage',
  description:
    'The requests of each key, by id in pages of 1,000 unless `limit` says otherwise; with `by` instead the requests of all selected keys together in each minute, hour, day or month (UTC) that has any. Minutes are kept for 2 days, hours for 62, days for two years; a range is widened to whole ones. `Accept: text/csv` gives all of it as CSV, in no pages.',
  permission: 'viewer',
  queryParameters: [
    textParameter('key', 'Only the key with this id'),
    textParameter('owner', "Only keys with this customer's id"),
    momentParameter('since', 'From this moment on; `24h` if it is missing', '24h'),
    momentParameter('until', 'Before this moment', '2026-02-01T00:00:00Z'),
    choice('by', 'A series instead of sums', PERIODS),
    ...PLACE_PARAMETERS.map((parameter) =>
      parameter.name === 'limit'
        ? { ...parameter, schema: { type: 'integer', minimum: 1, maximum: KEYS_PER_PAGE_MAX } }
        : parameter,
    ),
  ],
  success: {
    status: 200,
    description: 'The usage',
    schema: {
      anyOf: [
        { type: 'array', items: KeyUsage },
        { type: 'array', items: Point },
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
    headers: { Link: 'The next page of sums; absent on the last' },
    csv: 'id,name,owner,served,refused,clientErrors,serverErrors,first,last\nkey_VXnvMwGskigm0Sfq,shop,cus_42,120,3,1,0,2026-01-01T12:00:00Z,2026-01-01T12:34:56Z\n',
  },
  errors: [],
  async handle(context, exchange) {
    const by = choiceIn(exchange.query, 'by', PERIODS);
    const isCsv = asksForCsv(exchange);
    if (by) {
      const points = (await series(context, exchange.query, by)).map(usagePointJson);
      return isCsv ? csvAnswer(points) : placeAnswer(exchange, points, undefined);
    }
    return isCsv ? csvAnswer(await allSums(context, exchange.query)) : sums(context, exchange);
  },
};

/** The operations on usage. */
export const usageOperations: readonly ApiOperation[] = [getUsage];

async function sums(context: ApiContext, exchange: Exchange): Promise<Answer> {
  const { query } = exchange;
  const limit = readLimit(query, KEYS_PER_PAGE_MAX, KEYS_PER_PAGE_MAX);
  const found = await sumsAfter(context, query, { behind: readPlace(query)?.id ?? '', limit: limit + 1 });
  const last = found.length > limit ? found[limit - 1] : undefined;
  return placeAnswer(exchange, found.slice(0, limit), last && { number: 0, id: last.id });
}

/** The sums of every selected key. Reads some at a time, so that requests are served in between. */
async function allSums(context: ApiContext, query: URLSearchParams) {
  const all = [];
  for (let behind = ''; ; ) {
    const found = await sumsAfter(context, query, { behind, limit: KEYS_PER_PAGE_MAX });
    all.push(...found);
    if (found.length < KEYS_PER_PAGE_MAX) return all;
    behind = found.at(-1)?.id ?? '';
    await nextTurn();
  }
}

async function sumsAfter(
  { storage, now }: ApiContext,
  query: URLSearchParams,
  page: { readonly behind: string; readonly limit: number },
) {
  const selection = { ...selectionOf(query, now), keyId: textIn(query, 'key'), now };
  return (await storage.usage.page({ ...selection, ...page })).map((each) => usageJson(each, each));
}

async function series({ storage, now }: ApiContext, query: URLSearchParams, by: Period): Promise<UsagePoint[]> {
  const keyId = textIn(query, 'key') ?? ALL_KEYS;
  const period = by === 'month' ? 'day' : by;
  const points = await storage.usage.series({ ...selectionOf(query, now), keyId, period });
  return by === 'month' ? byMonth(points) : points;
}

/** Adds up days to months, UTC. */
function byMonth(days: readonly UsagePoint[]): UsagePoint[] {
  const months = new Map<number, UsagePoint>();
  for (const { at, ...day } of days) {
    const date = new Date(at * 1_000);
    const start = Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / 1_000;
    const sum = months.get(start);
    months.set(start, {
      at: start,
      served: (sum?.served ?? 0) + day.served,
      refused: (sum?.refused ?? 0) + day.refused,
      clientErrors: (sum?.clientErrors ?? 0) + day.clientErrors,
      serverErrors: (sum?.serverErrors ?? 0) + day.serverErrors,
    });
  }
  return [...months.values()];
}

function selectionOf(query: URLSearchParams, now: number) {
  const since = momentIn(query, 'since', { now, towards: 'past' }) ?? now - DAY_SECONDS;
  const until = momentIn(query, 'until', { now, towards: 'past' });
  if (until !== undefined && until < since)
    throw new CatalogError(
      'validation_failed',
      `until is ${utc(until)}, before since (${utc(since)}); send a later one`,
    );
  return { owner: textIn(query, 'owner'), since, until };
}

function asksForCsv({ request: { headers } }: Exchange): boolean {
  return /(?:^|,)\s*text\/csv\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(headers.accept ?? '');
}

function csvAnswer(rows: Parameters<typeof usageCsv>[0]): Answer {
  return { status: 200, contentType: 'text/csv; charset=utf-8', body: usageCsv(rows) };
}
