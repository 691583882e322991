import type { VirtualTime } from '../client/virtual-time.ts';

/** Why a try failed. */
export interface Failure {
  /** From 1. */
  readonly attempt: number;
  /** Undefined without an answer. */
  readonly status: number | undefined;
  /** The value of the header. */
  readonly retryAfter: string | undefined;
  /** The wait before this try. */
  readonly waitedMs: number;
  /** The client's present time. */
  readonly nowMs: number;
  /** From 0 to 1. */
  random(): number;
}

/** One sent create or list. */
interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly name?: string | undefined;
}

/** The habits of a client; each can be broken alone. */
export interface Habits {
  /** The milliseconds before the next try; undefined to give up. */
  wait(failure: Failure): number | undefined;
  /** How long nothing else is sent after a failure. */
  pause(failure: Failure): number;
  /** The Idempotency-Key of a create. */
  key(call: number, attempt: number): string | undefined;
  body(call: Call, attempt: number): string;
  /** Whether it accepts members that it does not know. */
  readonly isTolerant: boolean;
  readonly timeoutMs: number;
}

const KNOWN_MEMBERS = new Set(['id', 'name', 'description', 'categoryId', 'status']);
const TRIES = 5;

/** The milliseconds of a `Retry-After`, as a number or a date; 0 without one. */
export function retryAfterMs({ retryAfter, nowMs }: Failure): number {
  if (retryAfter === undefined) return 0;
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Math.max(0, Date.parse(retryAfter) - nowMs);
}

/** Whether a later try may succeed. */
export function mayRetry({ status, attempt }: Failure, tries = TRIES): boolean {
  return attempt < tries && (status === undefined || status === 429 || status >= 500);
}

/** Waits for a Retry-After, else as the backoff says. */
export function retrying(backoffMs: (failure: Failure) => number, tries = TRIES): Habits['wait'] {
  return (failure) => (mayRetry(failure, tries) ? retryAfterMs(failure) || backoffMs(failure) : undefined);
}

export const exponential = ({ attempt }: Failure) => 250 * 2 ** (attempt - 1);

export const CAREFUL: Habits = {
  wait: retrying(exponential),
  pause: retryAfterMs,
  key: (call) => `key-${call}`,
  body: ({ name }) => JSON.stringify({ name }),
  isTolerant: true,
  timeoutMs: 10_000,
};

/** A client as a customer may write one. Its calls tell whether they succeeded. */
export interface SmallClient {
  list(path?: string): Promise<boolean>;
  create(name: string): Promise<boolean>;
  sleep(ms: number): Promise<void>;
}

interface Target {
  readonly url: string;
  readonly secret: string;
  readonly time: VirtualTime;
}

/** Makes a client with these habits. */
export function smallClient({ url, secret, time }: Target, habits: Habits): SmallClient {
  const sleep = (ms: number) => time.clock.sleep(ms, new AbortController().signal);
  const random = randomFrom(secret);
  let calls = 0;
  let quietUntil = 0;
  let isRefused = false;

  async function send(call: Call, number: number, attempt: number): Promise<Response | undefined> {
    const headers: Record<string, string> = { authorization: `Bearer ${secret}`, connection: 'close' };
    const key = call.method === 'POST' ? habits.key(number, attempt) : undefined;
    if (key !== undefined) headers['idempotency-key'] = key;
    const body = call.method === 'POST' ? habits.body(call, attempt) : undefined;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const timeout = new AbortController();
    const timer = new AbortController();
    time.clock.sleep(habits.timeoutMs, timer.signal).then(
      () => timeout.abort(),
      () => {},
    );
    const init = { method: call.method, headers, signal: timeout.signal, ...(body !== undefined && { body }) };
    const answer = await time.fetch(url + call.path, init).catch(() => undefined);
    timer.abort();
    return answer;
  }

  async function run(call: Call): Promise<boolean> {
    if (isRefused) return false;
    calls += 1;
    const number = calls;
    for (let attempt = 1, waitedMs = 0; ; attempt += 1) {
      while (time.clock.now() < quietUntil) await sleep(quietUntil - time.clock.now());
      const answer = await send(call, number, attempt);
      const isDecoded = answer?.ok && (habits.isTolerant || isKnown(await answer.text()));
      if (isDecoded) return true;
      const status = answer?.ok ? undefined : answer?.status;
      const retryAfter = answer?.headers.get('retry-after') ?? undefined;
      const failure = { attempt, status, retryAfter, waitedMs, nowMs: time.clock.now(), random };
      const waitMs = habits.wait(failure);
      quietUntil = Math.max(quietUntil, time.clock.now() + habits.pause(failure));
      if (waitMs === undefined) {
        isRefused = status === 401;
        return false;
      }
      await sleep(waitMs);
      waitedMs = waitMs;
    }
  }

  return {
    list: (path = '/categories') => run({ method: 'GET', path }),
    create: (name) => run({ method: 'POST', path: '/categories', name }),
    sleep,
  };
}

function isKnown(text: string): boolean {
  const items: object[] = [JSON.parse(text)].flat();
  return items.flatMap((item) => Object.keys(item)).every((name) => KNOWN_MEMBERS.has(name));
}

/** Numbers that follow from a text, so that a run can be repeated. */
function randomFrom(seed: string): () => number {
  let state = [...seed].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) >>> 0, 7);
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
