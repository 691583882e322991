import { Mistake } from '../mistake.ts';
import { Client } from './client.ts';
import { type Exchange, Skipped, type Wanted } from './exchange.ts';
import { type Family, familiesOf } from './family.ts';
import { judgeBy } from './judging.ts';
import type { Limited } from './limited.ts';
import { reach } from './reach.ts';
import { expect, type Report, type Rule } from './rule.ts';
import { expectLimits, LIMIT_RULES } from './rules.ts';
import { OTHER_REQUESTS, spend } from './spending.ts';
import { countsOf } from './suite.ts';
import { type Pace, Trial } from './trial.ts';

const FIRST_REQUESTS = 3;
const REFILL_SECONDS = 1.1;
const TRIES_MAX = 5;
const MASK = '***';
const SECRET_LENGTH_MIN = 8;

/** A request by its parts; the path is relative to the address. */
export interface LimitRequest extends Wanted {
  readonly headers: Readonly<Record<string, string>>;
}

export interface LimitsOptions {
  readonly url: URL;
  readonly first: LimitRequest;
  /** Another request of the same caller. */
  readonly second?: LimitRequest | undefined;
  /** `first` as another caller. */
  readonly stranger?: LimitRequest | undefined;
  /** The names of the headers of the limit, if it has others than usual. */
  readonly headers?: readonly string[] | undefined;
  /** Statuses of a refusal, besides 429 only with nothing left. */
  readonly refused: readonly number[];
  readonly windowSeconds?: number | undefined;
  /** Never are more requests sent. */
  readonly requestsMax: number;
  readonly isFull: boolean;
  readonly concurrency: number;
  readonly pace: Pace;
}

/** Judges the limit of any API. Throws `Mistake` if no server is there, or it has no limit. */
export async function judgeLimit(options: LimitsOptions): Promise<{ report: Report; failure: string | undefined }> {
  const { url, first, second, stranger, pace } = options;
  const startedAt = pace.now();
  using client = new Client(url);
  const requestsMax = options.requestsMax - 1;
  const trial = new Trial(client, { ...options, requestsMax });
  const opening = await open(trial, client, options);
  const [family, ...others] = familiesOf(opening.answers, options.headers);
  trial.limited = { ...limitedBy(family, opening, options), others };
  const isAnnounced = family.names.limit !== '' || family.names.remaining !== '';
  if (!isAnnounced) await requireLimit(trial, requestsMax);
  const rules = rulesFor(family, opening);
  const masked = masking([first, second, stranger].flatMap((each) => Object.entries(each?.headers ?? {})));
  const missingFor = (rule: Rule) => missing(rule, family, options.isFull);
  const { verdicts, failure } = await judgeBy(rules, trial, { masked, missingFor });
  const limit = opening.answers.map((answer) => family.read(answer).limit).find((each) => each !== undefined) ?? null;
  const report: Report = {
    url: client.addressOf(first.path ?? ''),
    family: family.name,
    limit,
    ...countsOf(verdicts),
    durationMs: Math.round((pace.now() - startedAt) * 1000),
    rules: verdicts,
  };
  return { report, failure };
}

/** Throws `Mistake` unless the caller is refused at last. */
async function requireLimit(trial: Trial, requestsMax: number): Promise<void> {
  try {
    if ((await trial.once(spend)).refused) return;
  } catch (error) {
    if (!(error instanceof Skipped)) throw error;
    if (trial.requests < requestsMax) throw new Mistake(error.message);
  }
  throw new Mistake(`no limit found in ${trial.requests + 1} requests`);
}

/** The first answers, of which the family is found: some to `first`, then one to `second` and another to `first`. */
interface Opening {
  readonly answers: readonly Exchange[];
  /** The answer before the one to `second`, and that one; the last of `answers` is the next. */
  readonly around: readonly [before: Exchange, other: Exchange] | undefined;
}

async function open(trial: Trial, client: Client, { first, second }: LimitsOptions): Promise<Opening> {
  const { method = 'GET', path = '', headers, body } = first;
  const sent = { method, path, headers: { 'accept-encoding': 'identity', ...headers }, body };
  const reached = await reach(client, sent);
  const answers: Exchange[] = reached && reached.status < 500 ? [{ ...reached, sent, seconds: 0 }] : [];
  while (answers.length < FIRST_REQUESTS - 1) answers.push(await answered(trial, first));
  // A bucket gives back requests in this time, and a window none.
  if (second) await trial.wait(REFILL_SECONDS, 'requests that come back');
  answers.push(await answered(trial, first));
  if (!second) return { answers, around: undefined };
  const other = await answered(trial, second);
  return { answers: [...answers, await answered(trial, first)], around: [answers.at(-1) as Exchange, other] };
}

/** An answer to a request; that of a server that fails, only if it fails again and again. */
async function answered(trial: Trial, wanted: Wanted): Promise<Exchange> {
  for (let tries = 1; ; tries += 1) {
    const exchange = await trial.sendOnce(wanted);
    if (exchange.status < 500 || tries === TRIES_MAX) return exchange;
  }
}

function limitedBy(family: Family, { answers, around }: Opening, options: LimitsOptions): Omit<Limited, 'others'> {
  const { first, second, stranger, refused, windowSeconds, requestsMax } = options;
  const { read, names } = family;
  const taken = takenBy(family, { answers, around });
  const counted = around && (taken ?? 0) >= 2 ? answers.toSpliced(-1, 0, around[1]) : answers;
  // Where it cannot be told what the other request took, only what the last answer tells is certain.
  const isClear = around === undefined || taken !== undefined;
  const begun = (isClear ? counted : answers.slice(-1)).filter(({ status }) => status < 400);
  const { limit, remaining } = begun[0] ? read(begun[0]) : {};
  const isRefusal: Limited['isRefusal'] = (answer) => {
    const told = read(answer);
    // A server that fails may tell of no limit at all.
    const isSpent = names.remaining === '' || (told.remaining === 0 && told.limit === limit);
    return answer.status === 429 || (refused.includes(answer.status) && isSpent);
  };
  return {
    ...family,
    first,
    second,
    stranger,
    begun,
    isFresh: isClear && limit !== undefined && remaining === limit - 1,
    limitMax: names.limit === '' ? requestsMax : requestsMax - OTHER_REQUESTS,
    windowSeconds: windowSeconds ?? family.windowSeconds,
    toldSeconds: family.windowSeconds,
    isRefusal,
  };
}

/** The requests that were counted from the answer before `second` to the last one; undefined if it cannot be told. */
function takenBy({ read, resetTolerance }: Family, { answers }: Opening): number | undefined {
  const taken = [2, 1].map((fromEnd) => {
    const [then, now] = answers.slice(-1 - fromEnd).map(read);
    const hasMoved = Math.abs((then?.reset ?? 0) - (now?.reset ?? 0)) > resetTolerance;
    return hasMoved ? Number.NaN : (then?.remaining ?? Number.NaN) - (now?.remaining ?? Number.NaN);
  });
  // Without the other request one was taken, although a second had passed.
  return taken[0] === 1 && !Number.isNaN(taken[1]) ? taken[1] : undefined;
}

/** The header that a rule reads; without it there is nothing to judge. */
const READ: Readonly<Record<string, 'limit' | 'remaining' | 'reset'>> = {
  'limits.429-over-limit': 'limit',
  'limits.last-token': 'limit',
  'limits.headers-on-every': 'limit',
  'limits.remaining-true': 'remaining',
  'limits.every-request-counts': 'remaining',
  'limits.retry-after-within-reset': 'reset',
  'limits.reset-ahead': 'reset',
};

function missing({ id, needs }: Rule, { names }: Family, isFull: boolean): string | undefined {
  const header = READ[id];
  if (header && names[header] === '') return `no header tells of the ${header}`;
  return needs === 'full' && !isFull ? 'it waits for a window; --full judges it' : undefined;
}

/** Rules for any API; those that look at the first answers are made for them. */
function rulesFor(family: Family, opening: Opening): readonly Rule[] {
  const { around } = opening;
  const own: Readonly<Record<string, Omit<Rule, 'id'>>> = {
    'limits.headers-on-every': {
      expected: 'the headers of the limit, each in its form, on every answer to the requests, whatever its status',
      place: 'looks-back',
      judge({ answered }) {
        for (const exchange of answered)
          if (exchange.status < 500) expectLimits({ ...family, isRefusal: () => false }, exchange);
      },
    },
    'limits.every-request-counts': {
      expected: 'a Remaining that falls for the second request as it does for the first',
      judge() {
        if (!around) throw new Skipped('there is no other request; --second names one');
        const taken = takenBy(family, opening);
        if (taken === undefined) throw new Skipped('the window ended meanwhile, or a header is missing');
        expect(taken >= 2, 'the second request took nothing of the limit', ...around);
      },
    },
  };
  return Object.entries({ ...LIMIT_RULES, ...own }).map(([id, rule]) => ({ id, ...rule }));
}

/** Replaces the values of headers that may be credentials; a short one stands in ordinary words, so only as a header. */
function masking(headers: readonly (readonly [name: string, value: string])[]): (text: string) => string {
  const secrets = headers.filter(([name]) => name !== 'content-type' && name !== 'accept');
  const values = secrets.map(([, value]) => value).filter(({ length }) => length >= SECRET_LENGTH_MIN);
  // A key may contain another one.
  values.sort((one, other) => other.length - one.length);
  const lines = secrets.map(([name]) => new RegExp(`^(${name}: ).*`, 'gim'));
  return (text) => {
    const masked = lines.reduce((before, line) => before.replace(line, `$1${MASK}`), text);
    return values.reduce((before, value) => before.replaceAll(value, MASK), masked);
  };
}
