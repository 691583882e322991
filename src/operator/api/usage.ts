import { usageCsv } from '../../catalog/operator/csv.ts';
import { usageJson, usagePointJson } from '../../catalog/operator/json.ts';
import { ALL_KEYS, USAGE_PERIODS, type UsagePeriod } from '../../catalog/usage.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { ApiContext, ApiOperation } from './operation.ts';
import {
  choice,
  choiceIn,
  cursorIn,
  limitIn,
  momentIn,
  momentParameter,
  PAGE_PARAMETERS,
  pageAnswer,
  textIn,
  textParameter,
} from './query.ts';
import { KeyUsage, UsagePoint } from './schema.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];
const KEYS_PER_PAGE_MAX = 1_000;

/** GET /usage. */
const getUsage: ApiOperation = {
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'usage',
  summary: 'Get the usage',
  description:
    'The requests of each key, by id in pages of 1,000 unless `limit` says otherwise; with `by` instead the requests of all selected keys together in each minute, hour or day that has any. Minutes are kept for 2 days, hours for 62, days for two years; a range is widened to whole ones. `Accept: text/csv` gives CSV.',
  role: 'viewer',
  queryParameters: [
    textParameter('key', 'Only the key with this id'),
    textParameter('owner', "Only keys with this customer's id"),
    momentParameter('since', 'From this moment on; `24h` if it is missing', '24h'),
    momentParameter('until', 'Before this moment', '2026-02-01T00:00:00Z'),
    choice('by', 'A series instead of sums', PERIODS),
    ...PAGE_PARAMETERS.map((parameter) =>
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
        { type: 'array', items: UsagePoint },
      ],
    },
    example: [
      {
        id: 'key_VXnvMwGskigm0Sfq',
        name: 'shop',
        served: 120,
        refused: 3,
        clientErrors: 1,
        serverErrors: 0,
        first: '2026-01-01T12:00:00Z',
        last: '2026-01-01T12:34:56Z',
      },
    ],
    headers: { Link: 'The next page of sums; absent on the last' },
  },
  csv: 'id,name,served,refused,clientErrors,serverErrors,first,last\nkey_VXnvMwGskigm0Sfq,shop,120,3,1,0,2026-01-01T12:00:00Z,2026-01-01T12:34:56Z\n',
  errors: ['validation_failed'],
  async handle(context) {
    const { exchange } = context;
    const by = choiceIn(exchange.query, 'by', PERIODS);
    const answer = by ? await series(context, by) : await sums(context);
    return asksForCsv(exchange) ? inCsv(answer) : answer;
  },
};

/** The operations on usage. */
export const usageOperations: readonly ApiOperation[] = [getUsage];

async function sums({ storage, now, exchange }: ApiContext): Promise<Answer> {
  const { query } = exchange;
  const limit = limitIn(query, KEYS_PER_PAGE_MAX, KEYS_PER_PAGE_MAX);
  const found = await storage.usage.page({
    ...selectionOf(query, now),
    keyId: textIn(query, 'key'),
    now,
    behind: cursorIn(query)?.id ?? '',
    limit: limit + 1,
  });
  const last = found.length > limit ? found[limit - 1] : undefined;
  const items = found.slice(0, limit).map(({ name, ...usage }) => usageJson(usage, name));
  return pageAnswer(exchange, items, last && { number: 0, id: last.keyId });
}

async function series({ storage, now, exchange }: ApiContext, period: UsagePeriod): Promise<Answer> {
  const { query } = exchange;
  const keyId = textIn(query, 'key') ?? ALL_KEYS;
  const points = await storage.usage.series({ ...selectionOf(query, now), keyId, period });
  return pageAnswer(exchange, points.map(usagePointJson), undefined);
}

function selectionOf(query: URLSearchParams, now: number) {
  return {
    owner: textIn(query, 'owner'),
    since: momentIn(query, 'since', { now, towards: 'past' }) ?? now - DAY_SECONDS,
    until: momentIn(query, 'until', { now, towards: 'past' }),
  };
}

function asksForCsv({ request: { headers } }: Exchange): boolean {
  return /(?:^|,)\s*text\/csv\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(headers.accept ?? '');
}

function inCsv({ body, ...answer }: Answer): Answer {
  return { ...answer, contentType: 'text/csv; charset=utf-8', body: usageCsv(JSON.parse(String(body))) };
}
