import { dateOf, type Exchange, limitsOf, NoAnswer, retryAfterOf, Skipped } from './exchange.ts';
import { known } from './rule.ts';
import type { Trial } from './trial.ts';

/** A limited key has a smaller limit; a larger one would take too many requests. */
const LIMIT_MAX = 300;
/** The number of requests beyond the limit show that there is none. */
const BEYOND = 40;
const GROUP_MAX = 16;
/** A key has to be spent well within its minute. */
const SPENDING_SECONDS_MAX = 25;
/** The time that the requests after the spending may take. */
const RESERVED_SECONDS = 4;
const MINUTE_SECONDS = 60;
const REFUSALS = 3;
const WINDOWS_MAX = 2;

/** Answers to the limited key that were asked for at once: one, or several. A failure of the server is none of them. */
export interface Group {
  readonly admitted: readonly Exchange[];
  readonly refused: readonly Exchange[];
  /** The number that got a failure or no answer, and may have been counted or not. */
  readonly unknown: number;
  /** A 4xx that is no refusal by a limit. */
  readonly other: Exchange | undefined;
}

export interface Spent {
  readonly limit: number;
  /** In the order in which they were sent. */
  readonly groups: readonly Group[];
  /** The group that asked for the last token, if it was in one window; one of `groups`. */
  readonly volley: Group | undefined;
  /** The first 429; undefined if there was none. */
  readonly refused: Exchange | undefined;
  /** The answer instead of a 429, if the key is answered with another 4xx. */
  readonly other: Exchange | undefined;
  /** True if `groups` begins with the first request of its window, if the key was fresh. */
  readonly isWhole: boolean;
  /** Requests that may be admitted on top: what `Limit` allows meanwhile, or none in a window that stands still. */
  readonly refilled: number;
}

/**
 * Spends the limited key: one request after the other, or by groups where that would take too long, and for the last
 * token several at once. Skipped if that takes too long, or if the key is of no use.
 */
export async function spend(trial: Trial): Promise<Spent> {
  let width = 0;
  let groups: Group[] = [];
  let volley: Group | undefined;
  // The other rules have used the key, if it is the only one.
  let isWhole = trial.options.key !== trial.options.limitedKey;
  for (let windows = 1; ; ) {
    const [limit, used] = [limitOf(groups), countAdmitted(groups)];
    width ||= groups.length > 0 ? widthFor(trial, limit) : 0;
    const isLast = !volley && (limit - used === 1 || (isMoving(groups) && hasOneLeft(groups)));
    // One is left for the volley.
    const size = isLast
      ? trial.options.concurrency
      : Math.max(1, used < limit ? Math.min(width, limit - used - 1) : width);
    const group = await ask(trial, size);
    if (hasEnded(groups, group)) {
      windows += 1;
      if (windows > WINDOWS_MAX) throw new Skipped('the window of the limited key ended twice meanwhile');
      // A group that straddles the end shows neither window.
      [groups, isWhole, volley] = [size === 1 ? [group] : [], size === 1, undefined];
      continue;
    }
    groups.push(group);
    if (isLast) volley = group;
    const [refused] = group.refused;
    const isOver = countAdmitted(groups) + countUnknown(groups) > limitOf(groups) + refilledIn(groups) + BEYOND;
    const { other } = group;
    if (other && used === 0) throw new Skipped(`the limited key is answered with ${other.status}`);
    if (refused || other || isOver) {
      return { limit: limitOf(groups), groups, volley, refused, other, isWhole, refilled: refilledIn(groups) };
    }
  }
}

/** Refusals of the spent key, a second apart. Skipped if it was never refused. */
export async function refusals(trial: Trial): Promise<readonly [Exchange, ...Exchange[]]> {
  const { refused } = await trial.once(spend);
  const found: [Exchange, ...Exchange[]] = [known(refused, 'the limited key was never refused')];
  for (let tries = 0; found.length < REFUSALS && tries < 2 * REFUSALS; tries += 1) {
    await trial.wait(1, 'the next refusal');
    const next = await ask(trial, 1);
    if (next.admitted.length > 0) break;
    found.push(...next.refused);
  }
  return found;
}

/** Waits as the last refusal of the spent key says, and asks again: `after` is the answer. */
export async function waitOut(trial: Trial) {
  await trial.once(refusals);
  const refused = await askUntilRefused(trial);
  const seconds = known(retryAfterOf(refused), 'there is no Retry-After');
  await trial.wait(seconds, 'Retry-After of the limited key lasts');
  return { refused, after: await askLimited(trial), seconds };
}

/** Spends what is left of the limited key, and returns the refusal. Skipped if there is none. */
export async function askUntilRefused(trial: Trial): Promise<Exchange> {
  const width = widthFor(trial, LIMIT_MAX / 2);
  for (let sent = 0; sent <= LIMIT_MAX; sent += width) {
    const [refused] = (await ask(trial, width)).refused;
    if (refused) return refused;
  }
  throw new Skipped('the limited key was not refused again');
}

/** The answer to a list with the limited key. Skipped if the server fails again and again. */
export async function askLimited(trial: Trial): Promise<Exchange> {
  for (let tries = 0; tries < 5; tries += 1) {
    const { admitted, refused } = await ask(trial, 1);
    const exchange = admitted[0] ?? refused[0];
    if (exchange) return exchange;
    await trial.wait(0.2, 'the server is busy');
  }
  throw new Skipped('the server fails again and again');
}

/** Asks for the list `count` times at once with the limited key. Skipped without one, or if it is not valid. */
export async function ask(trial: Trial, count: number): Promise<Group> {
  const authorization = `Bearer ${known(trial.options.limitedKey, 'no --limited-key')}`;
  const sent = Array.from({ length: count }, () =>
    trial.sendOnce({ authorization }, count > 1 ? { isAlone: true } : {}).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
    }),
  );
  const answered = (await Promise.all(sent)).filter((exchange) => exchange !== undefined);
  const refused = answered.filter(({ status }) => status === 429);
  const admitted = answered.filter(({ status }) => status < 400);
  const other = answered.find(({ status }) => status >= 400 && status < 500 && status !== 429);
  return { admitted, refused, unknown: count - admitted.length - refused.length - (other ? 1 : 0), other };
}

/** The admitted requests of groups; of those that asked for the last token, at most one. */
export function countAdmitted(groups: readonly Group[], volley?: Group): number {
  return groups.reduce((sum, group) => {
    return (
      sum + (group === volley && group.refused.length > 0 ? Math.min(1, group.admitted.length) : group.admitted.length)
    );
  }, 0);
}

/** The requests whose outcome is not known. */
export function countUnknown(groups: readonly Group[]): number {
  return groups.reduce((sum, { unknown }) => sum + unknown, 0);
}

function limitOf(groups: readonly Group[]): number {
  const [first] = groups.flatMap(({ admitted }) => admitted);
  if (!first) {
    if (groups.some(({ refused }) => refused.length > 0))
      throw new Skipped('the limited key is spent; give a fresh one');
    if (groups.length > 5) throw new Skipped('the server fails again and again');
    return MINUTE_SECONDS;
  }
  const limit = limitsOf(first).limit ?? MINUTE_SECONDS;
  if (limit > LIMIT_MAX) throw new Skipped(`the limited key has ${limit} requests; give one of the free plan`);
  return limit;
}

/** True if the last two answers counted down to 1: a `Remaining` that never changes shows nothing. */
function hasOneLeft(groups: readonly Group[]): boolean {
  const remaining = groups.slice(-2).map(({ admitted: [first, second] }) => {
    return first && !second ? limitsOf(first).remaining : undefined;
  });
  return remaining[0] === 2 && remaining[1] === 1;
}

/** The number of requests that have to be asked at once. Skipped if the time does not suffice. */
function widthFor(trial: Trial, limit: number): number {
  const seconds = Math.min(trial.secondsLeft - RESERVED_SECONDS - 3 * trial.latency, SPENDING_SECONDS_MAX);
  const width = Math.ceil((limit * trial.latency) / Math.max(seconds, 0.001));
  if (width > GROUP_MAX) {
    const hint = trial.options.isFull ? '' : '; --full waits';
    throw new Skipped(`${limit} requests take too long at ${trial.latency.toFixed(1)} s for each answer${hint}`);
  }
  return Math.max(1, width);
}

/** True if a window that stood still ended: its `Reset` came, another one was sent, and the count began anew. */
function hasEnded(groups: readonly Group[], { admitted }: Group): boolean {
  const before = groups.at(-1)?.admitted.at(-1);
  if (!before || isMoving(groups)) return false;
  const then = limitsOf(before);
  return admitted.some((exchange) => {
    const { reset, remaining } = limitsOf(exchange);
    if (reset === undefined || then.reset === undefined || reset <= then.reset) return false;
    const now = dateOf(exchange);
    const isOver = now === undefined || now >= then.reset - 1;
    return isOver && (remaining ?? 0) > (then.remaining ?? 0);
  });
}

function isMoving(groups: readonly Group[]): boolean {
  return new Set(groups.flatMap(({ admitted }) => admitted).map((exchange) => limitsOf(exchange).reset)).size > 1;
}

/** By the server's clock, plus a second, as a date has no fractions; without a date by the referee's clock. */
function refilledIn(groups: readonly Group[]): number {
  if (!isMoving(groups)) return 0;
  const all = groups.flatMap(({ admitted, refused }) => [...admitted, ...refused]);
  const dates = all.map(dateOf).filter((date) => date !== undefined);
  const seconds =
    dates.length > 0 ? Math.max(...dates) - Math.min(...dates) : all.reduce((sum, each) => sum + each.seconds, 0);
  return Math.ceil((limitOf(groups) * (seconds + 1)) / MINUTE_SECONDS);
}
