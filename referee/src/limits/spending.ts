import { dateOf, type Exchange, NoAnswer, retryAfterOf, Skipped } from './exchange.ts';
import { limitedOf } from './limited.ts';
import { known } from './rule.ts';
import type { Trial } from './trial.ts';

/** The requests of a run that are no spending: the first ones, those beyond the limit, and those after it. */
export const OTHER_REQUESTS = 75;
/** The number of requests beyond the limit that show that there is none. */
const BEYOND = 40;
const GROUP_MAX = 16;
/** A limit has to be spent well within a minute. */
const SPENDING_SECONDS_MAX = 25;
/** The time that the requests after the spending may take. */
const RESERVED_SECONDS = 4;
const REFUSALS = 3;
const WINDOWS_MAX = 2;
/** Taken for the window where nothing tells of it. */
const WINDOW_SECONDS = 60;
/** The time before the end of a wait in which it may be over, since it is rounded up: at least, and as its share. */
const MARGIN_SECONDS_MIN = 3;
const MARGIN_SHARE = 1 / 10;
const TRIES_MAX = 5;
const NO_WAIT = 'no refusal tells the end of the wait';
export const NO_REFUSALS = 'the caller was never refused';

/** Answers to the limited caller that were asked for at once: one, or several. A failure of the server is none of them. */
interface Group {
  readonly admitted: readonly Exchange[];
  readonly refused: readonly Exchange[];
  /** The number that got a failure or no answer, and may have been counted or not. */
  readonly unknown: number;
  /** A 4xx that is no refusal by a limit. */
  readonly other: Exchange | undefined;
}

interface Spent {
  readonly limit: number;
  /** In the order in which they were sent. */
  readonly groups: readonly Group[];
  /** The group that asked for the last token, if it was in one window; one of `groups`. */
  readonly volley: Group | undefined;
  /** The first refusal; undefined if there was none. */
  readonly refused: Exchange | undefined;
  /** The answer instead of a refusal, if it is another 4xx. */
  readonly other: Exchange | undefined;
  /** True if `groups` begins with the first request of its window. */
  readonly isWhole: boolean;
  /** Requests that may be admitted on top: what `Limit` allows meanwhile, or none in a window that stands still. */
  readonly refilled: number;
}

/** Spends the limit. Skipped if that takes too long, or if the caller is of no use. */
export function spend(trial: Trial): Promise<Spent> {
  const { begun, isFresh } = limitedOf(trial);
  return spendWindow(trial, begun, isFresh);
}

/** Like `spend`, and again in later windows, if there is time, until the last token was asked for at once. */
export async function spendToLastToken(trial: Trial): Promise<Spent> {
  let spent = await trial.once(spend);
  for (let windows = 0; trial.options.isFull && isUnclear(spent) && windows < WINDOWS_MAX; windows += 1) {
    const { after } = windows === 0 ? await trial.once(waitOut) : await outlast(trial);
    const isFirst = limitedOf(trial).isRefusal(after) === false;
    spent = await spendWindow(trial, isFirst ? [after] : [], isFirst);
  }
  return spent;
}

/** Refusals of the spent caller, a second apart. Skipped if it was never refused. */
export async function refusals(trial: Trial): Promise<readonly [Exchange, ...Exchange[]]> {
  const { refused } = await trial.once(spend);
  const found: [Exchange, ...Exchange[]] = [known(refused, NO_REFUSALS)];
  for (let tries = 0; found.length < REFUSALS && tries < 2 * REFUSALS; tries += 1) {
    await trial.wait(1, 'the next refusal');
    const next = await ask(trial, 1);
    if (next.admitted.length > 0) break;
    found.push(...next.refused);
  }
  return found;
}

/** The answer to the second request of the spent caller, just after a refusal. Skipped without one. */
export async function elsewhere(trial: Trial) {
  await trial.once(refusals);
  const second = known(limitedOf(trial).second, 'there is no other request; --second names one');
  const refused = await askUntilRefused(trial);
  const left = trial.secondsLeft;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const exchange = await trial.sendOnce(second);
    const isAnswer = exchange.status < 500 || limitedOf(trial).isRefusal(exchange);
    if (isAnswer) return { refused, exchange, secondsLater: left - trial.secondsLeft };
  }
  throw new Skipped('the server fails again and again');
}

/** Waits as refusals of the spent caller say, and asks again: `after` is the answer, `early` one before half. */
export async function waitOut(trial: Trial) {
  await trial.once(refusals);
  return outlast(trial);
}

async function outlast(trial: Trial) {
  const { isRefusal } = limitedOf(trial);
  const { refilled } = await trial.once(spend);
  const first = await askUntilRefused(trial);
  const ahead = aheadOf(trial, first);
  // A Reset that moves is no end before which all is refused.
  const told = retryAfterOf(first) ?? (refilled === 0 ? ahead : undefined);
  const why = 'the wait lasts';
  const marginSeconds = Math.max(MARGIN_SECONDS_MIN, Math.ceil((told ?? 0) * MARGIN_SHARE));
  let early: Exchange | undefined;
  if (trial.options.isFull && told !== undefined && told >= 2 * marginSeconds) {
    await trial.wait(told - marginSeconds, why);
    early = await askLimited(trial);
  }
  // A refusal may lengthen the wait; the last one says how long it is.
  const refused = early && isRefusal(early) ? early : first;
  const left = early && refused === early ? (retryAfterOf(refused) ?? aheadOf(trial, refused)) : undefined;
  const seconds = known(left ?? told ?? ahead, NO_WAIT);
  await trial.wait(seconds, why);
  return { first, marginSeconds, early, refused, seconds, refilled, after: await askLimited(trial) };
}

/** The seconds until the Reset of an answer. */
function aheadOf(trial: Trial, exchange: Exchange): number | undefined {
  const [{ reset }, date] = [limitedOf(trial).read(exchange), dateOf(exchange)];
  return reset === undefined || date === undefined ? undefined : Math.max(0, reset - date);
}

/** Spends what is left, and returns the refusal. Skipped if there is none. */
async function askUntilRefused(trial: Trial): Promise<Exchange> {
  const { limitMax } = limitedOf(trial);
  const width = widthFor(trial, limitMax / 2);
  for (let sent = 0; sent <= limitMax; sent += width) {
    const [refused] = (await ask(trial, width)).refused;
    if (refused) return refused;
  }
  throw new Skipped('the caller was not refused again');
}

/** One answer to the limited caller. Skipped if the server fails again and again. */
async function askLimited(trial: Trial): Promise<Exchange> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { admitted, refused } = await ask(trial, 1);
    const exchange = admitted[0] ?? refused[0];
    if (exchange) return exchange;
    await trial.wait(0.2, 'the server is busy');
  }
  throw new Skipped('the server fails again and again');
}

/** Sends the limited request, or several at once. A 5xx alone may be a failure, so it is asked once more. */
async function ask(trial: Trial, count: number): Promise<Group> {
  const group = await askAtOnce(trial, count);
  if (count > 1 || !group.refused.some(({ status }) => status >= 500)) return group;
  const again = await askAtOnce(trial, 1);
  return again.refused.length > 0 ? again : { ...again, unknown: again.unknown + 1 };
}

async function askAtOnce(trial: Trial, count: number): Promise<Group> {
  const { first } = limitedOf(trial);
  const sent = Array.from({ length: count }, () =>
    trial.sendOnce(first, count > 1 ? { isAlone: true } : {}).catch((error: unknown) => {
      if (!(error instanceof NoAnswer)) throw error;
    }),
  );
  const answered = (await Promise.all(sent)).filter((exchange) => exchange !== undefined);
  return groupOf(trial, answered, count);
}

function groupOf(trial: Trial, answered: readonly Exchange[], count: number): Group {
  const { isRefusal } = limitedOf(trial);
  const refusals = answered.filter(isRefusal);
  // Beside refusals of another status a 5xx is a failure.
  const clear = refusals.filter(({ status }) => status < 500);
  const refused = clear.length > 0 ? clear : refusals;
  const admitted = answered.filter(({ status }) => status < 400);
  const other = answered.find((each) => each.status >= 400 && each.status < 500 && !isRefusal(each));
  return { admitted, refused, unknown: count - admitted.length - refused.length - (other ? 1 : 0), other };
}

/** The admitted requests of groups; of those that asked for the last token, at most one. */
export function countAdmitted(groups: readonly Group[], volley?: Group): number {
  const most = (group: Group) => (group === volley && group.refused.length > 0 ? 1 : Number.POSITIVE_INFINITY);
  return groups.reduce((sum, group) => sum + Math.min(most(group), group.admitted.length), 0);
}

/** The requests whose outcome is not known. */
export function countUnknown(groups: readonly Group[]): number {
  return groups.reduce((sum, { unknown }) => sum + unknown, 0);
}

/**
 * Spends one window: one request after the other, or by groups where that would take too long, and for the last token
 * several at once. `begun` are the answers of the window so far; `isFresh` if they, or the next, begin it.
 */
async function spendWindow(trial: Trial, begun: readonly Exchange[], isFresh: boolean): Promise<Spent> {
  let width = 0;
  let groups: Group[] = begun.map((exchange) => groupOf(trial, [exchange], 1));
  let volley: Group | undefined;
  let isWhole = isFresh;
  for (let windows = 1; ; ) {
    const [limit, used] = [limitOf(trial, groups), countAdmitted(groups)];
    const quota = isWhole ? limit : leftOf(trial, groups, limit);
    width ||= groups.length > 0 ? widthFor(trial, limit) : 0;
    const isCounted = countUnknown(groups) === 0 && !isMoving(trial, groups);
    const isLast = !volley && (isCounted ? quota - used === 1 : hasOneLeft(trial, groups));
    // One is left for the volley.
    const size = isLast
      ? trial.options.concurrency
      : Math.max(1, used < quota ? Math.min(width, quota - used - 1) : width);
    const group = await ask(trial, size);
    if (hasEnded(trial, groups, group)) {
      windows += 1;
      if (windows > WINDOWS_MAX) throw new Skipped('the window ended twice meanwhile');
      // A group that straddles the end shows neither window.
      [groups, isWhole, volley] = [size === 1 ? [group] : [], size === 1, undefined];
      continue;
    }
    groups.push(group);
    if (isLast) volley = group;
    const [refused] = group.refused;
    const refilled = refilledIn(trial, groups);
    const isOver = countAdmitted(groups) + countUnknown(groups) > limitOf(trial, groups) + refilled + BEYOND;
    const { other } = group;
    if (other && used === 0) throw new Skipped(`the caller is answered with ${other.status}`);
    if (refused || other || isOver) {
      return { limit: limitOf(trial, groups), groups, volley, refused, other, isWhole, refilled };
    }
  }
}

/** True if the requests at once for the last token were none, or got too few answers. */
function isUnclear({ volley, refused }: Spent): boolean {
  return refused !== undefined && (volley ? volley.admitted.length + volley.refused.length : 0) < 2;
}

function limitOf(trial: Trial, groups: readonly Group[]): number {
  const { limitMax, read } = limitedOf(trial);
  const [first] = groups.flatMap(({ admitted }) => admitted);
  if (!first) {
    if (groups.some(({ refused }) => refused.length > 0)) throw new Skipped('the caller is spent; give a fresh one');
    if (groups.length > TRIES_MAX) throw new Skipped('the server fails again and again');
    return trial.options.requestsMax;
  }
  const limit = read(first).limit ?? trial.options.requestsMax;
  if (limit <= limitMax) return limit;
  throw new Skipped(`the caller has ${limit} requests; --max ${limit + OTHER_REQUESTS + 1} spends them`);
}

/** The requests that are admitted from the first of the groups on, by its `Remaining`. */
function leftOf(trial: Trial, groups: readonly Group[], limit: number): number {
  const [first] = groups.flatMap(({ admitted }) => admitted);
  const { remaining = limit - 1 } = first ? limitedOf(trial).read(first) : {};
  return Math.min(limit, remaining + 1);
}

/** True if the last two answers counted down to 1: a `Remaining` that never changes shows nothing. */
function hasOneLeft(trial: Trial, groups: readonly Group[]): boolean {
  const { read } = limitedOf(trial);
  const singles = groups.filter(({ admitted }) => admitted.length === 1).slice(-2);
  const [before, last] = singles.map(({ admitted: [exchange] }) => exchange && read(exchange).remaining);
  // Failures between the two may have been counted.
  const between = countUnknown(groups.slice(groups.indexOf(singles[0] as Group)));
  return last === 1 && before !== undefined && before >= 2 && before <= 2 + between;
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
function hasEnded(trial: Trial, groups: readonly Group[], { admitted }: Group): boolean {
  const { read, resetTolerance } = limitedOf(trial);
  const before = groups.at(-1)?.admitted.at(-1);
  if (!before || isMoving(trial, groups)) return false;
  const then = read(before);
  return admitted.some((exchange) => {
    const { reset, remaining } = read(exchange);
    if (reset === undefined || then.reset === undefined || reset <= then.reset + resetTolerance) return false;
    const now = dateOf(exchange);
    const isOver = now === undefined || now >= then.reset - 1;
    return isOver && (remaining ?? 0) > (then.remaining ?? 0);
  });
}

/** True if `Reset` is no moment of a window that stands still, so that requests may come back meanwhile. */
function isMoving(trial: Trial, groups: readonly Group[]): boolean {
  const { read, resetTolerance } = limitedOf(trial);
  const admitted = groups.flatMap((group) => group.admitted);
  const moments = admitted.map((exchange) => read(exchange).reset).filter((reset) => reset !== undefined);
  if (moments.length === 0) return admitted.length > 0;
  const [earliest, latest] = [Math.min(...moments), Math.max(...moments)];
  const now = admitted.at(-1) && dateOf(admitted.at(-1) as Exchange);
  // The next token of a bucket is always as near as a tolerance hides.
  const isNear = resetTolerance > 0 && now !== undefined && latest - now <= 2 * resetTolerance;
  return latest - earliest > resetTolerance || isNear;
}

/**
 * By the server's clock, plus a second, as a date has no fractions; without a date by the referee's clock. Where no
 * window is told, Remaining tells what came back, and no more than `Limit` until the furthest Reset.
 */
function refilledIn(trial: Trial, groups: readonly Group[]): number {
  if (!isMoving(trial, groups)) return 0;
  const { windowSeconds, names } = limitedOf(trial);
  const all = groups.flatMap(({ admitted, refused }) => [...admitted, ...refused]);
  const dates = all.map(dateOf).filter((date) => date !== undefined);
  const seconds =
    dates.length > 0 ? Math.max(...dates) - Math.min(...dates) : all.reduce((sum, each) => sum + each.seconds, 0);
  const isTold = windowSeconds !== undefined || names.remaining === '';
  const ahead = Math.max(1, ...groups.flatMap(({ admitted }) => admitted.map((each) => aheadOf(trial, each) ?? 1)));
  const window = windowSeconds ?? (isTold ? WINDOW_SECONDS : ahead);
  const most = Math.ceil((limitOf(trial, groups) * (seconds + 1)) / window);
  return isTold ? most : Math.min(most, gainedIn(trial, groups) + 1);
}

/** The requests that came back between answers, by their Remaining. */
function gainedIn(trial: Trial, groups: readonly Group[]): number {
  let gained = 0;
  let before: number | undefined;
  for (const { admitted } of groups) {
    const told = admitted.flatMap((exchange) => limitedOf(trial).read(exchange).remaining ?? []);
    if (told.length === 0) continue;
    const left = Math.min(...told);
    if (before !== undefined) gained += Math.max(0, left + admitted.length - before);
    before = left;
  }
  return gained;
}
