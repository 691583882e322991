import type { ErrorCode, Operation } from './contract.ts';
import { ApiError, ConnectionError, PetCatalogError, TimeoutError } from './errors.ts';
import { readCursor, readDeprecation, readLimits, readMinute, readRetryAfter } from './headers.ts';
import type { Clock, CreateOptions, PetCatalogOptions, ResponseEvent } from './options.ts';
import { Throttle, type Turn } from './throttle.ts';

const TIMEOUT_MS = 120_000;
const ATTEMPT_TIMEOUT_MS = 30_000;
const ATTEMPTS_MAX = 5;
const BACKOFF_MS = 500;
const BACKOFF_MS_MAX = 10_000;
/** The longest wait that a timer can be given; a longer one would be none. */
const TIMER_MS_MAX = 2_147_483_647;

/** What an operation sends. */
export interface Call {
  /** GET if left out. */
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** The last part of the path. */
  readonly id?: number;
  readonly query?: object | undefined;
  readonly body?: object;
  readonly options?: CreateOptions | undefined;
  /** Whether the call costs nothing and is answered beyond the limit too. */
  readonly isFree?: boolean;
}

/**
 * A list or a part of it. `next` is the cursor of the part that follows, undefined at the end; it is not enumerable, so
 * that the list compares and prints as an array does.
 */
export type Page<Item> = Item[] & { readonly next: string | undefined };

/** What an operation is answered: the value of the body, undefined if there is none, and the cursor of what follows. */
interface Answer {
  readonly value: unknown;
  readonly next?: string | undefined;
}

/** A request made ready: the same for each attempt, so that the service knows a repetition. */
interface Prepared {
  readonly operation: Operation;
  readonly url: string;
  readonly init: RequestInit;
  readonly isFree: boolean;
  /** The list that the client has already, in case the service says that it is unchanged. */
  readonly known: Known | undefined;
}

interface Known {
  readonly url: string;
  readonly etag: string;
  readonly text: string;
}

type Sent = Pick<ResponseEvent, 'attempt' | 'durationMs'>;

/** An answer as it came. */
interface Received extends Pick<ResponseEvent, 'status' | 'limits' | 'requestId'> {
  readonly headers: Headers;
  /** The body; that of the list that the client has, if that is unchanged. */
  readonly text: string;
}

/** Sends the calls of one client. It alone holds the API key. */
export class Transport {
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #options: Omit<PetCatalogOptions, 'apiKey'>;
  readonly #clock: Clock;
  readonly #throttle: Throttle;
  readonly #deprecated = new Set<Operation>();
  /** Who follows which signal. One listener serves them all: of more than ten, Node.js warns as of a leak. */
  readonly #following = new WeakMap<AbortSignal, Set<AbortController>>();
  /** The last whole list that came with a validator. */
  #known: Known | undefined;

  /** Throws a TypeError if address or key cannot be right. */
  constructor({ apiKey = '', ...options }: PetCatalogOptions) {
    // A header takes no other characters, and `fetch` would quote the key when it refuses them.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey is missing, or not one word of ASCII');
    const { origin, pathname } = new URL(options.baseUrl);
    this.#apiKey = apiKey;
    this.#baseUrl = origin + pathname.replace(/\/+$/, '');
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#throttle = new Throttle(this.#clock, options.pace ?? false);
  }

  /**
   * The whole life of a call: its attempts, the waits between them, and the deadline over all. Rejects with a
   * PetCatalogError, or with the reason of the caller's signal.
   */
  async request(operation: Operation, call: Call): Promise<Answer> {
    const { signal, timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS } = call.options ?? {};
    const prepared = this.#prepare(operation, call);
    const deadline = this.#clock.now() + timeoutMs;
    let failure: PetCatalogError | undefined;
    const tooLate = () => new TimeoutError(operation, `not done within ${timeoutMs} ms`, {}, failure);
    return this.#within(timeoutMs, signal, tooLate, async (within) => {
      for (let attempt = 1, isUnknown = false; ; attempt += 1) {
        try {
          return await this.#attempt(prepared, attempt, { deadline, signal: within, isRetry: attempt > 1 });
        } catch (error) {
          if (within.aborted || !(error instanceof PetCatalogError)) throw error;
          failure = error;
        }
        // What an earlier attempt may have deleted all the same is gone, as it should be.
        if (call.method === 'DELETE' && isUnknown && failure.status === 404) return { value: undefined };
        isUnknown ||= (failure.status ?? 500) >= 500 && failure.code !== 'unavailable';
        const waitMs = this.#waitMs(failure, attempt);
        if (waitMs === undefined || this.#clock.now() + waitMs >= deadline) throw failure;
        // Whoever met the limit waits in the throttle, with all the others.
        if (failure.status !== 429 || !failure.code) await this.#clock.sleep(waitMs, within);
      }
    });
  }

  /** As `request`: the body, taken to be what the contract promises. */
  async value<Value>(operation: Operation, call: Call): Promise<Value> {
    return (await this.request(operation, call)).value as Value;
  }

  /** As `request`: a list, with the cursor of what follows. */
  async page<Item>(operation: Operation, call: Call): Promise<Page<Item>> {
    const { value, next } = await this.request(operation, call);
    return Object.defineProperty(value as Page<Item>, 'next', { value: next });
  }

  #prepare(
    operation: Operation,
    { method = 'GET', path, id, query = {}, body, options, isFree = false }: Call,
  ): Prepared {
    const url = new URL(this.#baseUrl + path);
    // As a number it can lead nowhere else, whatever a caller without types gives.
    if (id !== undefined) url.pathname += `/${Number(id)}`;
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const known = method === 'GET' && this.#known?.url === url.href ? this.#known : undefined;
    const headers = new Headers({ Authorization: `Bearer ${this.#apiKey}` });
    if (body) headers.set('Content-Type', 'application/json');
    if (method === 'POST') headers.set('Idempotency-Key', options?.idempotencyKey ?? newIdempotencyKey());
    if (known) headers.set('If-None-Match', known.etag);
    const init: RequestInit = { method, headers, body: body ? JSON.stringify(body) : null, redirect: 'manual' };
    return { operation, url: url.href, init, isFree, known };
  }

  /** One request, when its turn has come. */
  async #attempt(prepared: Prepared, attempt: number, turn: Turn): Promise<Answer> {
    const { operation, isFree } = prepared;
    const held = isFree ? undefined : await this.#throttle.enter(turn);
    if (held) {
      const message = `not sent; an earlier call was answered: ${held.message}`;
      throw new ApiError(operation, { ...held, message }, this.#clock.now());
    }
    try {
      const { ticket } = this.#throttle;
      const startedAt = this.#clock.now();
      const received = await this.#exchange(prepared, turn.signal);
      this.#tell(prepared, received, { attempt, durationMs: this.#clock.now() - startedAt });
      return this.#judge(prepared, received, ticket);
    } finally {
      if (!isFree) this.#throttle.leave();
    }
  }

  /** Sends the request and receives the whole answer. */
  #exchange({ operation, url, init, known }: Prepared, signal: AbortSignal): Promise<Received> {
    const { fetch: send = fetch, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = this.#options;
    const tooLate = () => new TimeoutError(operation, `no answer within ${attemptTimeoutMs} ms`);
    return this.#within(attemptTimeoutMs, signal, tooLate, async (within) => {
      try {
        const response = await send(url, { ...init, signal: within });
        const { status, headers } = response;
        const text = status === 304 && known ? known.text : await response.text();
        return {
          status,
          headers,
          text,
          limits: readLimits(headers),
          requestId: this.#withoutKey(headers.get('X-Request-Id') ?? '') || undefined,
        };
      } catch (error) {
        throw new ConnectionError(operation, this.#withoutKey(reasonOf(error)));
      }
    });
  }

  /** Turns an answer into the value or the error that it stands for, and learns from it. */
  #judge({ operation, url }: Prepared, received: Received, ticket: number): Answer {
    const { status, headers, text, limits, requestId } = received;
    const isGood = status < 300 || status === 304;
    if (limits && status !== 429) this.#throttle.learn(ticket, limits, readMinute(headers));
    const value = parse(text);
    if (isGood && (value || status === 204)) {
      const etag = headers.get('ETag');
      if (etag) this.#known = { url, etag, text };
      return { value, next: readCursor(headers) };
    }
    const at = this.#clock.now();
    const retryAfter = readRetryAfter(headers, at) ?? (status === 429 ? 1 : undefined);
    const { code, message } = Object(value);
    if (isGood || typeof code !== 'string') {
      throw new ConnectionError(operation, `status ${status} is not the service's`, { status, retryAfter });
    }
    const refusal = {
      code: this.#withoutKey(code) as ErrorCode,
      message: this.#withoutKey(`${message}`),
      status,
      requestId,
      retryAfter,
      at,
    };
    if (status === 429) this.#throttle.refused(refusal);
    throw new ApiError(operation, refusal, at);
  }

  /** How long to wait before the next attempt; undefined if there should be none. */
  #waitMs(failure: PetCatalogError, attempt: number): number | undefined {
    const { status = 503, retryAfter = 0, code } = failure;
    if (attempt >= (this.#options.maxAttempts ?? ATTEMPTS_MAX) || code === 'key_banned') return undefined;
    if (status === 429 && code) return retryAfter * 1_000;
    // Full jitter, so that those who failed together do not come back together.
    const backoffMs = Math.random() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (attempt - 1));
    const isPassing = status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
    return isPassing ? retryAfter * 1_000 + backoffMs : undefined;
  }

  /** Tells the hooks. Neither what they throw nor what they promise touches the call. */
  #tell({ operation, url }: Prepared, { status, headers, limits, requestId }: Received, sent: Sent): void {
    const { onResponse, onDeprecation = (event) => console.warn('pet-catalog: deprecated', event) } = this.#options;
    quietly(() => onResponse?.({ operation, status, ...sent, limits, requestId }));
    quietly(() => {
      const deprecation = this.#deprecated.has(operation) ? undefined : readDeprecation(headers, url);
      if (!deprecation) return;
      this.#deprecated.add(operation);
      return onDeprecation({ operation, ...deprecation });
    });
  }

  /**
   * Does the work with a signal that aborts with the outer one, or after so many milliseconds with the error made then.
   * Rejects with the reason of that signal once it is aborted, whether the work minds it or not.
   */
  async #within<Result>(
    ms: number,
    outer: AbortSignal | undefined,
    tooLate: () => Error,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    outer?.throwIfAborted();
    const over = new AbortController();
    const unfollow = outer && this.#follow(outer, over);
    this.#clock.sleep(ms, over.signal).then(
      () => over.abort(tooLate()),
      () => {},
    );
    try {
      return await new Promise((resolve, reject) => {
        over.signal.addEventListener('abort', () => reject(over.signal.reason));
        work(over.signal).then(resolve, reject);
      });
    } finally {
      unfollow?.();
      over.abort();
    }
  }

  /** Aborts the one when the other does, until told to stop. */
  #follow(signal: AbortSignal, over: AbortController): () => void {
    const following = this.#following.get(signal) ?? new Set();
    if (!this.#following.has(signal)) {
      this.#following.set(signal, following);
      signal.addEventListener('abort', () => {
        for (const each of following) each.abort(signal.reason);
      });
    }
    following.add(over);
    return () => following.delete(over);
  }

  /** A proxy or a `fetch` of the caller's may quote what it was sent. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#apiKey, '[API key]');
  }
}

/** The real time. The system clock is read once, so that setting it moves no deadline. */
const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, TIMER_MS_MAX));
      signal.addEventListener('abort', stop);
    }),
};

/** 128 random bits. `crypto.randomUUID` is missing on pages that came over plain HTTP. */
function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What `fetch` says, and the cause that it names. Nothing else of them is kept: they may hold what was sent. */
function reasonOf(error: unknown): string {
  const { message, code, cause } = Object(error);
  return `${message || code}${cause ? `: ${cause.message || cause.code}` : ''}`;
}

function quietly(tell: () => unknown): void {
  new Promise((resolve) => resolve(tell())).catch(() => {});
}
