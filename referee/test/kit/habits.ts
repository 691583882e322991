import { randomUUID } from 'node:crypto';
import { Agent, type IncomingMessage, request as send } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Why a try failed. */
export interface Failure {
  /** From 1. */
  readonly attempt: number;
  /** Undefined without a whole answer. */
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  /** The wait before this try. */
  readonly waitedMs: number;
}

/** One call that a program makes. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly name?: string;
}

/** The habits of a client; each can be broken alone. */
export interface Habits {
  /** The milliseconds before the next try; undefined to give up. */
  wait(failure: Failure): number | undefined;
  /** How long nothing else is sent after a failure. */
  pause(failure: Failure): number;
  /** The headers of a try, besides its credentials. */
  headers(call: Call, key: string, attempt: number): Record<string, string>;
  body(call: Call, attempt: number): string | undefined;
  /** True if it accepts members that it does not know. */
  readonly isTolerant: boolean;
  /** True if it reports a write that failed. */
  readonly tells: boolean;
  readonly timeoutMs: number;
  readonly keepAlive: boolean;
  /** True if it sends by the fetch of Node.js, whose pool takes turns on several connections. */
  readonly usesFetch: boolean;
}

const KNOWN_MEMBERS = new Set(['id', 'name']);
const TRIES = 5;

/** The milliseconds of a `Retry-After`, as a number or a date; 0 without one. */
export function retryAfterMs({ retryAfter }: Failure): number {
  if (retryAfter === undefined) return 0;
  return /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Math.max(0, Date.parse(retryAfter) - Date.now());
}

/** True if a later try may succeed. */
export function mayRetry({ status, attempt }: Failure, tries = TRIES): boolean {
  return attempt < tries && (status === undefined || status === 429 || status >= 500);
}

/** Waits for a Retry-After, else as the backoff says. */
export function retrying(backoffMs: (failure: Failure) => number, tries = TRIES): Habits['wait'] {
  return (failure) => (mayRetry(failure, tries) ? retryAfterMs(failure) || backoffMs(failure) : undefined);
}

export const exponential = ({ attempt }: Failure) => 60 * 2 ** (attempt - 1);

export const CAREFUL: Habits = {
  wait: retrying(exponential),
  pause: retryAfterMs,
  headers: ({ method }, key) => (/POST|PATCH/.test(method) ? { 'idempotency-key': key } : {}),
  body: ({ method, name }) => (/POST|PATCH|PUT/.test(method) ? JSON.stringify({ name }) : undefined),
  isTolerant: true,
  tells: true,
  timeoutMs: 4_000,
  keepAlive: true,
  usesFetch: false,
};

/** A client as a customer may write one. */
export interface SmallClient {
  /** Throws if the call failed. */
  call(method: string, path: string, name?: string): Promise<void>;
}

/** Makes a client with these habits; `close` ends its connections. */
export function smallClient(url: string, habits: Habits): SmallClient & { close(): void } {
  const agent = new Agent({ keepAlive: habits.keepAlive });
  let quietUntil = 0;

  async function once(
    call: Call,
    key: string,
    attempt: number,
  ): Promise<[number, string, string | undefined] | undefined> {
    const body = habits.body(call, attempt);
    const own = { authorization: 'Bearer k', ...habits.headers(call, key, attempt) };
    const headers = body === undefined ? own : { ...own, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(habits.timeoutMs);
    try {
      if (habits.usesFetch) {
        const init = { method: call.method, headers, signal, ...(body !== undefined && { body }) };
        const answer = await fetch(url + call.path, init);
        return [answer.status, await answer.text(), answer.headers.get('retry-after') ?? undefined];
      }
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = send(url + call.path, { method: call.method, headers, agent, signal });
        sent.on('response', resolve).on('error', reject).end(body);
      });
      return [answer.statusCode ?? 0, await text(answer), answer.headers['retry-after']];
    } catch {
      return undefined;
    }
  }

  async function call(method: string, path: string, name?: string): Promise<void> {
    const called: Call = name === undefined ? { method, path } : { method, path, name };
    const key = randomUUID();
    for (let attempt = 1, waitedMs = 0; ; attempt += 1) {
      while (Date.now() < quietUntil) await sleep(quietUntil - Date.now());
      const [code, body = '', retryAfter] = (await once(called, key, attempt)) ?? [];
      const isGood = code !== undefined && code < 400 && (habits.isTolerant || isKnown(body));
      if (isGood) return;
      const status = code !== undefined && code < 400 ? undefined : code;
      const failure = { attempt, status, retryAfter, waitedMs };
      const waitMs = habits.wait(failure);
      quietUntil = Math.max(quietUntil, Date.now() + habits.pause(failure));
      if (waitMs === undefined) {
        if (!habits.tells && method !== 'GET') return;
        throw new Error(`${method} ${path} failed with ${code}`);
      }
      await sleep(waitMs);
      waitedMs = waitMs;
    }
  }

  return { call, close: () => agent.destroy() };
}

function isKnown(body: string): boolean {
  if (body === '') return true;
  const items: object[] = [JSON.parse(body)].flat();
  return items.flatMap((item) => Object.keys(item)).every((name) => KNOWN_MEMBERS.has(name));
}
