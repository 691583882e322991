import { type Note, TOLERANCE_MS } from './note.ts';

/** A longer pause is no wait between two tries: the greater of both, added to the Retry-After in force. */
const PAUSE_MS_MAX = 10_000;
const PAUSE_WAITS_MAX = 10;
/** A backoff that begins anew waits less than this share of the wait before, which was no reaction of the machine. */
const ANEW_SHARE = 1 / 4;
const ANEW_MS_MIN = 100;

/** A request of a play. */
export interface Request extends Note {
  /** Its place among those that came, from 1. */
  readonly number: number;
  /** True if the answer ended its call: it reached the client, and is neither 429 nor 5xx. */
  readonly isFinal: boolean;
  /** True if the client could not know the outcome, or was answered with a failure that leaves it open. */
  readonly isUnknown: boolean;
  /** True if it asked the client to wait; a refusal that did not reach it asked for nothing. */
  readonly isWaitAsked: boolean;
}

/** Requests that may be tries of each other: with one key, or of one call. */
export interface Group {
  readonly requests: readonly Request[];
  /** How many calls the client makes of it when all is well. */
  readonly expected: number;
}

/** Tries that follow failures, one after the other; the last one may have a final answer. */
export interface Chain {
  readonly tries: readonly Request[];
  readonly group: Group;
  /** How many calls it may be made of: a client sends equal calls too. */
  readonly calls: number;
}

/** The requests that came, in the order in which they began. */
export function requestsOf(notes: readonly Note[]): Request[] {
  const requests = notes.map((note, index): Request => {
    const { status, isDelivered, retryAfter, step } = note;
    const isKnown = isDelivered && status !== null && status < 500;
    // Its body says so to a client that knows the codes of its API; one that does not meets `unknown` too.
    const isUndone = isDelivered && (step?.startsWith('unavailable') ?? false);
    const isFinal = isKnown && status !== 429 && retryAfter === null;
    const isWaitAsked = isDelivered && retryAfter !== null;
    return { ...note, number: index + 1, isFinal, isUnknown: !isKnown && !isUndone, isWaitAsked };
  });
  return requests.sort((one, other) => one.at - other.at);
}

/**
 * The chains of tries of a group. Requests that overlap are tries of different calls, as are those with a request
 * between them for which `isInterrupted` holds.
 */
export function chainsOf(group: Group, isInterrupted: (last: Request, next: Request) => boolean): Chain[] {
  const { requests, expected } = group;
  const chains: Request[][] = [];
  const open = new Set<Request[]>();
  for (const request of requests) {
    const isTry = (chain: readonly Request[]) => {
      const last = chain.at(-1);
      return last !== undefined && isRetry(chain, request) && !isInterrupted(last, request);
    };
    const possible = [...open].filter(isTry);
    // In doubt it repeats the call whose wait is over, or is the first try of another one.
    const over = possible.find((chain) => isOver(chain.at(-1), request));
    const followed = over ?? (chains.length >= expected ? possible[0] : undefined);
    const chain = followed ?? [];
    chain.push(request);
    if (!followed) chains.push(chain);
    if (request.isFinal) open.delete(chain);
    else open.add(chain);
  }
  return chains.map((tries, index) => ({ tries, group, calls: Math.max(1, expected - index) }));
}

/** The waits of a chain after answers that asked for none, and how many tries came after any failure. */
export function ownWaitsOf({ tries }: Chain): number[] {
  return tries.slice(1).flatMap((request, index) => {
    const before = tries[index];
    return before && !before.isWaitAsked ? [Math.max(0, request.at - before.answeredAt)] : [];
  });
}

/** True if the wait that an answer asked for is over. */
function isOver(answered: Request | undefined, { at }: Request): boolean {
  return !answered?.isWaitAsked || at >= answered.answeredAt + (answered.retryAfter ?? 0) * 1_000 - TOLERANCE_MS;
}

function isRetry(chain: readonly Request[], { at }: Request): boolean {
  const last = chain.at(-1);
  if (!last || last.answeredAt > at) return false;
  const pauseMs = at - last.answeredAt - (last.retryAfter ?? 0) * 1_000;
  const waits = waitsOf(chain);
  const before = waits.at(-1) ?? 0;
  const isAnew = before >= ANEW_MS_MIN && !last.isWaitAsked && at - last.answeredAt < before * ANEW_SHARE;
  // The waits of a long chain are looked at after a long pause only.
  return !isAnew && (pauseMs <= PAUSE_MS_MAX || pauseMs <= PAUSE_WAITS_MAX * Math.max(0, ...waits));
}

/** The waits between tries, in milliseconds. */
function waitsOf(chain: readonly Request[]): number[] {
  return chain.slice(1).map(({ at }, index) => at - (chain[index]?.answeredAt ?? at));
}
