import { type Exchange, limitsOf, retryAfterOf } from './exchange.ts';
import { isUnixTime } from './probes.ts';
import { known, Skipped } from './rule.ts';
import type { Trial } from './trial.ts';

/** A limited key has a smaller limit; a larger one would take too many requests. */
const LIMIT_MAX = 300;
/** How many requests beyond the limit show that there is none. */
const BEYOND = 40;
/** A Reset that has moved by more belongs to another window. */
const SAME_WINDOW_SECONDS = 30;
const REFUSALS = 3;

/** How a key was spent to its last request. */
export interface Spent {
  /** One after the other, in one window; the first is the first of the key. */
  readonly admitted: readonly Exchange[];
  /** At once, when one request was left. Empty if no answer told so, or if the window ended meanwhile. */
  readonly volley: readonly Exchange[];
  /** The first 429; undefined if there was none. */
  readonly refused: Exchange | undefined;
  readonly limit: number;
}

/** Spends the limited key: one request after the other, and for the last one several at once. */
export async function spend(trial: Trial): Promise<Spent> {
  let admitted: Exchange[] = [];
  let limit = 0;
  let isSecondWindow = false;
  for (let sent = 0; sent <= limit + BEYOND; sent += 1) {
    const exchange = await askLimited(trial);
    const { remaining } = limitsOf(exchange.answer);
    if (sent === 0) limit = limitOf(exchange);
    if (exchange.answer.status === 429) return { admitted, volley: [], refused: exchange, limit };
    if (isLaterWindow(exchange, admitted.at(-1)) && !isSecondWindow) {
      isSecondWindow = true;
      admitted = [];
      sent = 0;
    }
    admitted.push(exchange);
    if (remaining === 1) break;
  }
  const last = admitted.at(-1) as Exchange;
  if (limitsOf(last.answer).remaining !== 1) return { admitted, volley: [], refused: undefined, limit };
  const volley = await Promise.all(Array.from({ length: trial.concurrency }, () => askLimited(trial, true)));
  const isRefused = ({ answer }: Exchange) => answer.status === 429;
  let refused = volley.find(isRefused);
  for (let sent = 0; sent <= limit + BEYOND && !refused; sent += 1) refused = [await askLimited(trial)].find(isRefused);
  const isOneWindow = !volley.some((exchange) => isLaterWindow(exchange, last));
  return { admitted, volley: isOneWindow ? volley : [], refused, limit };
}

/** Refusals of the spent key, a second apart. Skipped if it was never refused. */
export async function refusals(trial: Trial): Promise<readonly Exchange[]> {
  const { refused } = await trial.once(spend);
  const found = [known(refused, 'the limited key was never refused')];
  while (found.length < REFUSALS) {
    await trial.wait(1, 'the next refusal');
    const next = await askLimited(trial);
    if (next.answer.status !== 429) break;
    found.push(next);
  }
  return found;
}

/** A refusal, and the answer after its `Retry-After`. */
export interface Waited {
  readonly refused: Exchange;
  readonly after: Exchange;
  readonly seconds: number;
}

/** Waits as a refusal of the spent key says. */
export async function waitOut(trial: Trial): Promise<Waited> {
  await trial.once(refusals);
  const refused = await askUntilRefused(trial);
  const seconds = known(retryAfterOf(refused.answer), 'there is no Retry-After');
  await trial.wait(seconds, 'Retry-After of the limited key');
  return { refused, after: await askLimited(trial), seconds };
}

/** Spends what is left of the limited key, and returns the refusal. Skipped if there is none. */
export async function askUntilRefused(trial: Trial): Promise<Exchange> {
  for (let sent = 0; sent <= LIMIT_MAX; sent += 1) {
    const exchange = await askLimited(trial);
    if (exchange.answer.status === 429) return exchange;
  }
  throw new Skipped('the limited key was not refused again');
}

/** A list with the limited key. Skipped without one. */
export function askLimited(trial: Trial, isAlone = false): Promise<Exchange> {
  const key = known(trial.keys.limitedKey, 'no --limited-key');
  return trial.sendOnce({ authorization: `Bearer ${key}` }, { isAlone });
}

function limitOf({ answer }: Exchange): number {
  if (answer.status === 401) throw new Skipped('the limited key is not valid');
  if (answer.status === 429) throw new Skipped('the limited key is spent already; give a fresh one');
  const { limit = 60 } = limitsOf(answer);
  if (limit > LIMIT_MAX) throw new Skipped(`the limited key has ${limit} requests; give one of the free plan`);
  return limit;
}

function isLaterWindow(exchange: Exchange, before: Exchange | undefined): boolean {
  const [now, then] = [limitsOf(exchange.answer).reset, before && limitsOf(before.answer).reset];
  if (now === undefined || then === undefined || !isUnixTime(now)) return false;
  return now - then > SAME_WINDOW_SECONDS;
}
