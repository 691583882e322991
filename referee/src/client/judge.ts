import { type CommandEnd, type Play, TOLERANCE_MS } from './note.ts';
import { nextOf, type Request, type Run, repeatOf, requestsOf, runsOf } from './tries.ts';

/** Tries of one call, the first included. */
const TRIES_MAX = 10;
/** Fewer retries tell nothing about a backoff with jitter. */
const RETRIES_JUDGED_MIN = 3;
/** Any backoff exceeds this share of waits that are doubled each time, up to the longest. */
const REFERENCE_WAIT_MS = 100;
const REFERENCE_WAIT_MS_MAX = 1_000;
const REFERENCE_SHARE = 1 / 20;
/** The time in which a repetition follows from what was answered. */
const REACTION_MS = 1_000;
/** Repeating these unchanged cannot succeed; a 404 may be polled. */
const NOT_REPEATED: ReadonlySet<number | null> = new Set([400, 401, 403, 409, 410, 413, 415, 422]);

export interface Judged {
  readonly rule: RuleName;
  readonly verdict: 'kept' | 'broken' | 'not met';
  readonly findings: readonly Finding[];
}

/** A request that breaks a rule, by its number from 1, and in which way. */
interface Finding {
  readonly number: number;
  readonly text: string;
}

interface Seen {
  /** In the order in which they began. */
  readonly requests: readonly Request[];
  readonly runs: readonly Run[];
  readonly command: CommandEnd | undefined;
}

/** The findings that break a rule; undefined if the script never led there. */
type Rule = (seen: Seen) => Finding[] | undefined;

export type RuleName = keyof typeof RULES;

export const RULES = {
  waits: { asks: 'No request comes before a Retry-After is over', find: cameEarly },
  'backs-off': { asks: 'Retries without a Retry-After wait, and longer each time', find: didNotBackOff },
  stops: { asks: 'A request that cannot succeed is not repeated unchanged at once', find: didNotStop },
  'retries-safely': { asks: 'A repeated POST has the same Idempotency-Key and body', find: retriedUnsafely },
  once: { asks: 'One create makes one resource', find: createdTwice },
  'gives-up': { asks: `No call is tried more than ${TRIES_MAX} times`, find: neverGaveUp },
  tolerates: { asks: 'The client goes on after an answer with unknown members', find: stoppedAtGrease },
} as const satisfies Readonly<Record<string, { readonly asks: string; readonly find: Rule }>>;

const OVERLAPPED =
  'Calls overlapped or alternated, so backs-off and gives-up were judged by uninterrupted runs of tries only';

/**
 * Judges what was kept of a rehearsal by every rule, and adds remarks on how they were judged to those that it has. One
 * whose upstream failed proves nothing about the client.
 */
export function judge(play: Play): { rules: readonly Judged[]; remarks: readonly string[] } {
  const { requests, command, failure, remarks = [] } = play;
  const counted = requestsOf(requests);
  const { runs, haveOverlapped } = runsOf(counted);
  const seen = { requests: counted, runs, command };
  const rules = (Object.keys(RULES) as RuleName[]).map((rule): Judged => {
    const findings = failure === undefined ? RULES[rule].find(seen) : undefined;
    const verdict = findings === undefined ? 'not met' : findings.length > 0 ? 'broken' : 'kept';
    return { rule, verdict, findings: findings ?? [] };
  });
  // A printed report has it already.
  return { rules, remarks: [...new Set([...remarks, ...(haveOverlapped ? [OVERLAPPED] : [])])] };
}

function cameEarly({ requests }: Seen): Finding[] | undefined {
  /** The answers with a Retry-After, without the latest ones that are over. */
  const asking: Request[] = [];
  let isMet = false;
  const early: Finding[] = [];
  for (const request of requests) {
    const isOver = (answered: Request) => request.at >= endOfWait(answered);
    for (let last = asking.at(-1); last && isOver(last); last = asking.at(-1)) asking.pop();
    // A request that began before the answer had ended could not know of it.
    const answered = asking.findLast((each) => each.answeredAt < request.at && !isOver(each));
    if (answered) {
      const waited = `came ${ms(request.at - answered.answeredAt)} after ${named(answered)}`;
      const asked = Math.round((answered.retryAfter ?? 0) * 1_000) / 1_000;
      early.push(finding(request, `${waited}, whose Retry-After was ${asked} s`));
    }
    if (request.retryAfter === null || !request.isDelivered) continue;
    isMet = true;
    asking.push(request);
  }
  return isMet ? early : undefined;
}

/** When a Retry-After is over. */
function endOfWait({ answeredAt, retryAfter }: Request): number {
  return answeredAt + (retryAfter ?? 0) * 1_000 - TOLERANCE_MS;
}

function didNotBackOff({ runs }: Seen): Finding[] | undefined {
  const judged = runs.map(retriesOf).filter((retries) => retries.length >= RETRIES_JUDGED_MIN);
  if (judged.length === 0) return undefined;
  return judged.flatMap((retries) => {
    const sum = retries.reduce((total, { waitMs }) => total + waitMs, 0);
    const least = leastSumOfWaits(retries.length);
    const last = retries.at(-1)?.request;
    if (!last || sum >= least) return [];
    const text = `was the last of ${retries.length} retries of one call, which waited ${ms(sum)} together`;
    return [finding(last, `${text}; a backoff waits ${ms(least)} at least`)];
  });
}

/** The retries of a run after answers without a Retry-After, and how long each waited. */
function retriesOf(run: Run): { readonly request: Request; readonly waitMs: number }[] {
  return run.flatMap((request, index) => {
    const before = run[index - 1];
    const isOwnWait = before && (before.retryAfter === null || !before.isDelivered);
    return isOwnWait ? [{ request, waitMs: request.at - before.answeredAt }] : [];
  });
}

function leastSumOfWaits(retries: number): number {
  let sum = 0;
  for (let retry = 0; retry < retries; retry += 1) {
    sum += Math.min(REFERENCE_WAIT_MS * 2 ** retry, REFERENCE_WAIT_MS_MAX);
  }
  return sum * REFERENCE_SHARE;
}

function didNotStop({ requests }: Seen): Finding[] | undefined {
  const refused = requests.filter(({ status, isDelivered }) => isDelivered && NOT_REPEATED.has(status));
  if (refused.length === 0) return undefined;
  return refused.flatMap((request) => {
    const next = repeatedAtOnce(request, requests);
    if (!next || next.credentials !== request.credentials) return [];
    return [finding(next, `repeats ${named(request)}, which was answered ${request.status}`)];
  });
}

/** The next request, if it repeats this one within a second of the end of its answer. */
function repeatedAtOnce(request: Request, requests: readonly Request[]): Request | undefined {
  const next = nextOf(request, requests);
  return next?.call === request.call && next.at - request.answeredAt < REACTION_MS ? next : undefined;
}

function retriedUnsafely({ requests }: Seen): Finding[] | undefined {
  const repeats = repeatsOf(requests);
  if (repeats.size === 0) return undefined;
  return [...repeats].flatMap(([first, repeat]) => {
    const what = differenceOf(first, repeat);
    return what === undefined ? [] : [finding(repeat, `repeats ${named(first)} ${what}`)];
  });
}

function differenceOf(first: Request, repeat: Request): string | undefined {
  if (repeat.idempotencyKey === null) return 'without an Idempotency-Key';
  if (repeat.idempotencyKey !== first.idempotencyKey) return 'with another Idempotency-Key';
  return repeat.call === first.call ? undefined : 'with the same Idempotency-Key, and another body';
}

/** Each POST whose outcome the client could not know, and its repetition. */
function repeatsOf(requests: readonly Request[]): ReadonlyMap<Request, Request> {
  const posts = requests.filter(({ method }) => method === 'POST');
  const repeats = new Map<Request, Request>();
  for (const post of posts) {
    const repeat = repeatOf(post, posts);
    if (repeat) repeats.set(post, repeat);
  }
  return repeats;
}

function createdTwice({ requests }: Seen): Finding[] | undefined {
  const unknown = requests.filter(({ hasCreated, isUnknown }) => hasCreated && isUnknown);
  if (unknown.length === 0) return undefined;
  const repeats = repeatsOf(requests);
  return unknown.flatMap((created) => {
    let repeat = repeats.get(created);
    while (repeat && !repeat.hasCreated) repeat = repeats.get(repeat);
    return repeat ? [finding(repeat, `created what ${named(created)} had created already`)] : [];
  });
}

function neverGaveUp({ runs }: Seen): Finding[] | undefined {
  const failed = runs.filter((run) => run.length > TRIES_MAX || !run.at(-1)?.isFinal);
  if (failed.length === 0) return undefined;
  return failed.flatMap((run) => {
    const beyond = run[TRIES_MAX];
    return beyond ? [finding(beyond, `is try ${TRIES_MAX + 1} of ${run.length} of its call`)] : [];
  });
}

function stoppedAtGrease({ requests, command }: Seen): Finding[] | undefined {
  const answers = requests.filter(({ status, isDelivered }) => isDelivered && status !== null && status < 300);
  const { greased = [], others = [] } = Object.groupBy(answers, ({ step }) =>
    step === 'grease' ? 'greased' : 'others',
  );
  // A client that repeats its calls after other answers too does not do so because of the grease.
  const repeatsAll = others.some((answered) => repeatedAtOnce(answered, requests));
  let isMet = false;
  const stopped = greased.flatMap((answered) => {
    const repeat = repeatedAtOnce(answered, requests);
    const hasFailed = command !== undefined && !command.timedOut && command.exit !== 0;
    if (answered === requests.at(-1)) {
      return hasFailed ? [finding(answered, 'had an answer with unknown members, and then the command failed')] : [];
    }
    if (!repeat || repeatsAll) isMet = true;
    else if (others.length > 0)
      return [finding(repeat, `repeats ${named(answered)}, whose answer had unknown members`)];
    return [];
  });
  return isMet || stopped.length > 0 ? stopped : undefined;
}

function finding(request: Request, text: string): Finding {
  return { number: request.number, text: `Request ${placeOf(request)} ${text}` };
}

function named(request: Request): string {
  return `request ${placeOf(request)}`;
}

function placeOf({ number, method, route }: Request): string {
  return `${number} (${method} ${route})`;
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`;
}
