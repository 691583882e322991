import { FORGIVEN_MS, type Note } from './note.ts';

/** Tries of one call, the first included. */
const TRIES_MAX = 10;
/** The least first wait between retries. */
const FIRST_WAIT_MS_MIN = 100;
/** How much shorter than the one before it a wait may be. */
const WAIT_SHARE_MIN = 0.9;
/** Repeating these unchanged cannot succeed. */
const NOT_REPEATED: ReadonlySet<number | null> = new Set([400, 401, 403, 404, 409, 410, 413, 415, 422]);
/** Served even over the limit and during a ban, so that nothing is asked of it. */
const FREE_ROUTE = '/v1/rate_limit';

type Verdict = 'kept' | 'broken' | 'not met';

/** The verdict by one rule. */
export interface Judged {
  readonly rule: string;
  readonly verdict: Verdict;
  readonly findings: readonly Finding[];
}

/** A request that breaks a rule, by its number from 1, and in which way. */
interface Finding {
  readonly number: number;
  readonly text: string;
}

/** A request and its place among those that were noted, from 1. */
interface Request extends Note {
  readonly number: number;
}

/** The tries of one call: the same method, path, query and body, until a final answer. */
type Call = readonly Request[];

interface Seen {
  readonly requests: readonly Request[];
  readonly calls: readonly Call[];
}

/** What breaks a rule; undefined if the script never led there. */
type Rule = (seen: Seen) => Finding[] | undefined;

/** Every rule, with what it asks. */
export const RULES: Readonly<Record<string, { readonly asks: string; readonly broken: Rule }>> = {
  waits: { asks: 'No request comes before a Retry-After is over', broken: cameEarly },
  'backs-off': { asks: 'Retries without a Retry-After wait longer each time', broken: didNotBackOff },
  stops: { asks: 'What cannot succeed is not repeated unchanged', broken: didNotStop },
  'retries-safely': { asks: 'A repeated POST has the same Idempotency-Key and body', broken: retriedUnsafely },
  once: { asks: 'What was meant as one create is one resource', broken: createdTwice },
  'gives-up': { asks: `No call is tried more than ${TRIES_MAX} times`, broken: neverGaveUp },
  tolerates: { asks: 'After a greased answer the client goes on', broken: stoppedAtGrease },
};

/** Judges the requests of a key, in the order in which they came, by every rule. */
export function judge(notes: readonly Note[]): Judged[] {
  const all = notes.map((note, index) => ({ ...note, number: index + 1 }));
  const requests = all.filter(({ method, route }) => route !== FREE_ROUTE || (method !== 'GET' && method !== 'HEAD'));
  const seen = { requests, calls: callsOf(requests) };
  return Object.entries(RULES).map(([rule, { broken }]) => {
    const findings = broken(seen);
    const verdict = findings === undefined ? 'not met' : findings.length > 0 ? 'broken' : 'kept';
    return { rule, verdict, findings: findings ?? [] };
  });
}

function cameEarly({ requests }: Seen): Finding[] | undefined {
  /** The answers whose Retry-After is not over. */
  let told: Request[] = [];
  let isMet = false;
  const early: Finding[] = [];
  for (const request of requests) {
    told = told.filter((each) => request.at < endOf(each) - FORGIVEN_MS);
    // A request that was under way when the answer went out could not know of it.
    const before = told.findLast(({ answeredAt }) => answeredAt < request.at);
    if (before) {
      const waited = `came ${request.at - before.answeredAt} ms after ${named(before)}`;
      early.push(finding(request, `${waited}, whose Retry-After was ${before.retryAfter} s`));
    }
    if (request.retryAfter === null || !request.isDelivered) continue;
    isMet = true;
    told.push(request);
  }
  return isMet ? early : undefined;
}

function endOf({ answeredAt, retryAfter }: Request): number {
  return answeredAt + (retryAfter ?? 0) * 1_000;
}

function didNotBackOff({ calls }: Seen): Finding[] | undefined {
  const waits = calls.map(waitsOf).filter((each) => each.length > 0);
  return waits.length > 0 ? waits.flatMap(brokenBackoff) : undefined;
}

interface Wait {
  readonly request: Request;
  readonly ms: number;
}

/** How long each retry of a call waited that was told no `Retry-After`. */
function waitsOf(call: Call): Wait[] {
  return call.flatMap((request, index) => {
    const before = call[index - 1];
    // A request that came before the answer was no retry.
    if (!before || before.retryAfter !== null || request.at < before.answeredAt) return [];
    return [{ request, ms: request.at - before.answeredAt }];
  });
}

function brokenBackoff(waits: readonly Wait[]): Finding[] {
  const broken = waits.flatMap(({ request, ms }, index) => {
    const before = waits[index - 1];
    if (!before) return ms < FIRST_WAIT_MS_MIN ? [finding(request, `was a retry after ${ms} ms`)] : [];
    if (ms >= before.ms * WAIT_SHARE_MIN) return [];
    return [finding(request, `was a retry after ${ms} ms, the one before it after ${before.ms} ms`)];
  });
  const [first] = waits;
  const last = waits.at(-1);
  if (broken.length > 0 || waits.length < 3 || !first || !last || last.ms > first.ms) return broken;
  return [finding(last.request, `was a retry after ${last.ms} ms, the first of its call after ${first.ms} ms`)];
}

function didNotStop({ requests }: Seen): Finding[] | undefined {
  const refused = new Map<string, Request>();
  const repeated: Finding[] = [];
  for (const request of requests) {
    const before = refused.get(callKey(request));
    if (before) repeated.push(finding(request, `repeats ${named(before)}, which was answered ${before.status}`));
    else if (request.isDelivered && NOT_REPEATED.has(request.status)) refused.set(callKey(request), request);
  }
  return refused.size > 0 ? repeated : undefined;
}

function retriedUnsafely({ requests, calls }: Seen): Finding[] | undefined {
  const posts = calls.filter(([first]) => first?.method === 'POST');
  const retries = posts.flatMap((call) =>
    call.flatMap((request, index) => {
      const before = call[index - 1];
      return before && hasFailed(before) ? [{ request, before }] : [];
    }),
  );
  const changed = posts.flatMap((call) => call.filter(hasFailed)).flatMap((before) => changedBody(before, requests));
  if (retries.length === 0 && changed.length === 0) return undefined;
  const unsafe = retries.flatMap(({ request, before }) => {
    const retry = `retries ${named(before)}`;
    if (request.idempotencyKey === null) return [finding(request, `${retry} without an Idempotency-Key`)];
    return request.idempotencyKey === before.idempotencyKey
      ? []
      : [finding(request, `${retry} with another Idempotency-Key`)];
  });
  return [...unsafe, ...changed];
}

/** The next request with the same Idempotency-Key, if its body is another one. */
function changedBody(before: Request, requests: readonly Request[]): Finding[] {
  if (before.idempotencyKey === null) return [];
  const next = requests.find(
    ({ number, idempotencyKey }) => number > before.number && idempotencyKey === before.idempotencyKey,
  );
  return next && next.body !== before.body ? [finding(next, `retries ${named(before)} with another body`)] : [];
}

function createdTwice({ calls }: Seen): Finding[] | undefined {
  // Where the client was told of every resource, it had no reason to create another.
  const met = calls.filter((call) => call.some((request) => request.hasCreated && hasFailed(request)));
  if (met.length === 0) return undefined;
  return met.flatMap((call) => {
    const [first, ...others] = call.filter(({ hasCreated }) => hasCreated);
    return others.map((other) => finding(other, `created what ${first ? named(first) : ''} had created already`));
  });
}

function neverGaveUp({ calls }: Seen): Finding[] | undefined {
  const failed = calls.filter((call) => call.length > TRIES_MAX || !call.some(isFinal));
  if (failed.length === 0) return undefined;
  return failed.flatMap((call) => {
    const beyond = call[TRIES_MAX];
    return beyond ? [finding(beyond, `is try ${TRIES_MAX + 1} of ${call.length} of its call`)] : [];
  });
}

function stoppedAtGrease({ requests }: Seen): Finding[] | undefined {
  const greased = requests.findLast(({ step, isDelivered }) => step === 'grease' && isDelivered);
  if (!greased) return undefined;
  if (requests.at(-1) !== greased) return [];
  return [finding(greased, 'had a greased answer, and nothing came after it; end the script in ok to see more')];
}

function callsOf(requests: readonly Request[]): Call[] {
  const calls: Request[][] = [];
  const open = new Map<string, Request[]>();
  for (const request of requests) {
    const key = callKey(request);
    let call = open.get(key);
    if (!call) {
      call = [];
      calls.push(call);
      open.set(key, call);
    }
    call.push(request);
    if (isFinal(request)) open.delete(key);
  }
  return calls;
}

function callKey({ method, target, body }: Request): string {
  return `${method} ${target} ${body}`;
}

/** Whether the client need not ask again. */
function isFinal({ status, isDelivered }: Request): boolean {
  return isDelivered && status !== null && status < 500 && status !== 429;
}

/** Whether the client cannot know the outcome, or was told of a failure of the service. */
function hasFailed({ status, isDelivered }: Request): boolean {
  return !isDelivered || status === null || status >= 500;
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
