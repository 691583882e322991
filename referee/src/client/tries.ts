import type { Note } from './note.ts';

/** A longer pause is no wait between two tries: the greater of both, added to the Retry-After in force. */
const PAUSE_MS_MAX = 10_000;
const PAUSE_WAITS_MAX = 10;
/** Waits of this length that differ by no more than this ratio are the interval of a poller. */
const POLL_MS_MIN = 1_000;
const POLL_RATIO_MAX = 1.2;

export interface Request extends Note {
  /** Its place among those that were noted, from 1. */
  readonly number: number;
  /** Equal for requests with the same method, path, query and body. */
  readonly call: string;
  /** True if the answer ended its call: the client need not ask again. */
  readonly isFinal: boolean;
  /** True if the client could not know the outcome, or was answered with a failure of the service. */
  readonly isUnknown: boolean;
}

/** Tries of one call, one after the other; the last one may have a final answer. */
export type Run = readonly Request[];

/** The requests that were noted, in the order in which they began. */
export function requestsOf(notes: readonly Note[]): Request[] {
  const requests = notes.map((note, index) => {
    const { method, target, body, status, isDelivered } = note;
    const isKnown = isDelivered && status !== null && status < 500;
    return {
      ...note,
      number: index + 1,
      call: `${method} ${target} ${body}`,
      isFinal: isKnown && status !== 429,
      isUnknown: !isKnown,
    };
  });
  return requests.sort((one, other) => one.at - other.at);
}

/**
 * The runs of tries. A run ends with a final answer, when a request of another call begins after its last try has
 * ended, and with a pause that is no backoff. Requests that come at an interval are runs of their own.
 */
export function runsOf(requests: readonly Request[]): { readonly runs: readonly Run[]; haveOverlapped: boolean } {
  const runs: Request[][] = [];
  let open: Request[][] = [];
  /** Calls without a final answer whose run was ended by a request of another call. */
  const interrupted = new Set<string>();
  let haveOverlapped = false;
  for (const request of requests) {
    const ended = open.filter((run) => lastOf(run).answeredAt <= request.at && !isRetry(run, request));
    for (const { call, isFinal } of ended.map(lastOf)) if (!isFinal && call !== request.call) interrupted.add(call);
    open = open.filter((run) => !ended.includes(run));
    haveOverlapped ||= interrupted.has(request.call) || open.some((run) => lastOf(run).answeredAt > request.at);
    const run = open.find((each) => isRetry(each, request));
    if (run) {
      run.push(request);
    } else {
      runs.push([request]);
      open.push(runs.at(-1) ?? []);
    }
  }
  return { runs: runs.flatMap((run) => (isPolling(run) ? run.map((request) => [request]) : [run])), haveOverlapped };
}

function isRetry(run: Run, { at, call }: Request): boolean {
  const last = lastOf(run);
  const { isFinal, answeredAt, retryAfter } = last;
  if (last.call !== call || isFinal || answeredAt > at) return false;
  const pauseMs = at - answeredAt - (retryAfter ?? 0) * 1_000;
  // The waits of a long run are looked at after a long pause only.
  return pauseMs <= PAUSE_MS_MAX || pauseMs <= PAUSE_WAITS_MAX * Math.max(0, ...waitsOf(run));
}

function isPolling(run: Run): boolean {
  const waits = waitsOf(run);
  const least = Math.min(...waits);
  return waits.length >= 2 && least >= POLL_MS_MIN && Math.max(...waits) <= least * POLL_RATIO_MAX;
}

/** The waits between the tries of a run, in milliseconds. */
function waitsOf(run: Run): number[] {
  return run.slice(1).map(({ at }, index) => at - (run[index]?.answeredAt ?? at));
}

function lastOf(run: Run): Request {
  const last = run.at(-1);
  if (!last) throw new Error('A run has a try');
  return last;
}

/** The first request that began after the answer to this one had ended. */
export function nextOf(request: Request, requests: readonly Request[]): Request | undefined {
  return requests.slice(requests.indexOf(request) + 1).find(({ at }) => at >= request.answeredAt);
}

/**
 * The repetition of a POST whose outcome the client could not know: the next one with its Idempotency-Key, else the
 * next one with its path and body, whatever came between. Undefined if there is none, or the outcome was known.
 */
export function repeatOf(post: Request, posts: readonly Request[]): Request | undefined {
  if (!post.isUnknown) return undefined;
  const { idempotencyKey, call, answeredAt } = post;
  const later = posts.slice(posts.indexOf(post) + 1);
  const find = (isRepeat: (each: Request) => boolean) => later.find((each) => each.at >= answeredAt && isRepeat(each));
  const sameKey = idempotencyKey === null ? undefined : find((each) => each.idempotencyKey === idempotencyKey);
  return sameKey ?? find((each) => each.call === call);
}
