import { ApiPromise, type ApiResponse } from './api-promise.ts';
import { CLIENT_OPTIONS, callOptions, checkOptions, checkPart, typeOf } from './checks.ts';
import type { ErrorCode } from './contract.ts';
import { ApiError, ConnectionError, type Instant, PetCatalogError, TimeoutError } from './errors.ts';
import { readCursor, readDeprecation, readLimits, readMinute, readRetryAfter } from './headers.ts';
import type { Method, OperationName } from './operation.ts';
import type { ChangeOptions, Clock, CreateOptions, PetCatalogOptions, ResponseEvent } from './options.ts';
import { type Held, Throttle, type Turn } from './throttle.ts';

/** The version of the package, for `User-Agent`. */
const VERSION = '0.4.0';
const TIMEOUT_MS = 120_000;
const ATTEMPT_TIMEOUT_MS = 30_000;
const RETRIES_MAX = 4;
const BACKOFF_MS = 500;
const BACKOFF_MS_MAX = 10_000;
/** How many causes of a failed `fetch` are kept, as they could refer to each other. */
const CAUSES_MAX = 3;
/** The longest delay of setTimeout; a longer one would fire at once. */
const TIMER_MS_MAX = 2_147_483_647;

/** The request of an operation. */
export interface Call {
  /** Default: GET. */
  readonly method?: Method;
  readonly path: string;
  /** Appended to the path; whole, from 1. */
  readonly id?: number;
  readonly query?: object | undefined;
  readonly body?: object | undefined;
  readonly options?: (CreateOptions & ChangeOptions) | undefined;
  /** Whether the call does not count against the limits, and so bypasses the throttle. */
  readonly isFree?: boolean;
}

/** A list or a page of one. `next` is not enumerable, so the list compares and prints like an array. */
export type Page<Item> = Item[] & {
  /** The cursor of the next page; undefined on the last. */
  readonly next: string | undefined;
};

/** Makes a list a page. */
export function asPage<Item>(items: Item[], next: string | undefined): Page<Item> {
  return Object.defineProperty(items, 'next', { value: next }) as Page<Item>;
}

/** A request, identical for each attempt, so that the service recognizes a retry. */
interface Prepared {
  readonly operation: OperationName;
  readonly url: string;
  readonly init: RequestInit;
  readonly isFree: boolean;
  /** The cached response, used if the service responds with 304. */
  readonly cached: Cached | undefined;
}

interface Cached {
  readonly url: string;
  readonly etag: string;
  readonly text: string;
}

/** The calls that end with a signal, as its listener, which goes with the last of them. */
type Following = Set<AbortController> & EventListenerObject;

/** Not in every engine. */
const { captureStackTrace } = Error as { captureStackTrace?(target: object, above: unknown): void };

type Sent = Pick<ResponseEvent, 'attempt' | 'durationMs'>;

/** One attempt of a call. */
interface Attempt extends Turn {
  /** From 1. */
  readonly attempt: number;
  /** True if an earlier attempt may have been done. */
  readonly isUnknown: boolean;
}

/** A received response. */
interface Received extends Pick<ResponseEvent, 'status' | 'limits' | 'requestId'> {
  readonly headers: Headers;
  /** The body; for a 304 that of the cached response. */
  readonly text: string;
}

/** Sends the calls of one client. The API key stays in here. */
export class Transport {
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #options: Omit<PetCatalogOptions, 'apiKey'>;
  readonly #clock: Clock;
  readonly #throttle: Throttle;
  readonly #deprecated = new Set<OperationName>();
  /** The controllers that follow a signal. They share one listener, because Node.js warns of a leak above ten. */
  readonly #following = new WeakMap<AbortSignal, Following>();
  /** The last response to each GET that came with an ETag and without a query. */
  readonly #cached: { [operation in OperationName]?: Cached } = {};

  /** Throws a TypeError that names the option that is missing, unknown or malformed. */
  constructor({ apiKey = fromEnvironment('PET_CATALOG_KEY'), ...options }: PetCatalogOptions) {
    checkOptions({ apiKey, ...options }, CLIENT_OPTIONS);
    if (apiKey === undefined) throw new TypeError('apiKey is missing: pass it, or set PET_CATALOG_KEY');
    // Checked here, because `fetch` would quote the key in its error about invalid characters.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey is empty, or has blank or non-ASCII characters');
    this.#apiKey = apiKey;
    this.#baseUrl = readBaseUrl(options.baseUrl ?? fromEnvironment('PET_CATALOG_URL'));
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#throttle = new Throttle(this.#clock, options.pace ?? false);
  }

  /**
   * Runs a call; resolves with the body, typed by the contract, a list with the cursor of its next page. Rejects with a
   * PetCatalogError, with the reason of the caller's signal, or with a TypeError before anything is sent.
   */
  request<Data>(operation: OperationName, call: Call): ApiPromise<Data> {
    // The stack as it is now names the caller, which it no longer does once an answer has arrived. The line that is
    // left out is the method of this client.
    const called = new Error();
    captureStackTrace?.(called, this.request);
    const atCaller = (error: Error) =>
      Object.assign(error, { stack: `${error}\n${called.stack?.replace(/^Error\n.*\n/, '')}` });
    let prepared: Prepared;
    try {
      prepared = this.#prepare(operation, call);
    } catch (error) {
      return new ApiPromise(Promise.reject(error instanceof TypeError ? atCaller(error) : error));
    }
    const response = this.#run(prepared, call).catch((error) => {
      throw error instanceof PetCatalogError ? atCaller(error) : error;
    });
    return new ApiPromise(response as Promise<ApiResponse<Data>>);
  }

  /** The attempts of a call, the waits between them, and its timeout. */
  async #run(prepared: Prepared, call: Call): Promise<ApiResponse<unknown>> {
    const { operation } = prepared;
    const {
      signal,
      timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS,
      maxRetries = this.#options.maxRetries ?? RETRIES_MAX,
    } = call.options ?? {};
    const deadline = this.#clock.now() + timeoutMs;
    // Spreads the retries of clients that failed together. Drawn once a call, so that no wait is shorter than the last.
    const jitter = 0.5 + Math.random() / 2;
    let failure: PetCatalogError | undefined;
    const tooLate = () => new TimeoutError(operation, `not done within ${timeoutMs} ms`, {}, failure);
    return this.#within(timeoutMs, signal, tooLate, async (within) => {
      for (let attempt = 1, isUnknown = false; ; attempt += 1) {
        try {
          return await this.#attempt(prepared, { attempt, deadline, signal: within, isRetry: attempt > 1, isUnknown });
        } catch (error) {
          if (within.aborted || !(error instanceof PetCatalogError)) throw error;
          failure = error;
        }
        isUnknown ||= mayBeDone(failure);
        const isLast = attempt > maxRetries || (isUnknown && mayUndo(prepared.init));
        const waitMs = isLast ? undefined : waitMsAfter(failure, attempt, jitter);
        if (waitMs === undefined || this.#clock.now() + waitMs >= deadline) throw failure;
        const { onRetry } = this.#options;
        const event = { operation, attempt, waitMs, error: failure };
        quietly(() => onRetry?.(event));
        within.throwIfAborted();
        // After a 429 the call waits in the throttle, with all the others.
        if (failure.status !== 429 || !failure.code) await this.#clock.sleep(waitMs, within);
      }
    });
  }

  #prepare(operation: OperationName, call: Call): Prepared {
    const { method = 'GET', path, id, query = {}, body, options, isFree = false } = call;
    checkOptions(options ?? {}, callOptions(method));
    if (call.query !== undefined) checkPart(query, 'query');
    if ('body' in call) checkPart(body, 'body');
    const url = new URL(this.#baseUrl + path);
    if (!url.href.startsWith(`${this.#baseUrl}/`) || path.startsWith('/v1/') || url.search || url.hash) {
      throw new TypeError(`${operation}: the path must begin with /, without /v1, and have neither dots nor a query`);
    }
    if ('id' in call) {
      // Without it the call would be another operation, such as one on the whole list.
      if (!Number.isSafeInteger(id) || Number(id) < 1) {
        throw new TypeError(`${operation}: the id is ${typeOf(id)}; pass a whole number from 1`);
      }
      url.pathname += `/${id}`;
    }
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      const wrong = [value].flat().filter((each) => !/string|boolean/.test(typeof each) && !Number.isFinite(each));
      if (wrong.length > 0) throw new TypeError(`${operation}: ${name} is ${typeOf(wrong[0])}, which cannot be sent`);
      url.searchParams.set(name, value);
    }
    const last = this.#cached[operation];
    const cached = last?.url === url.href ? last : undefined;
    const { idempotencyKey = newIdempotencyKey() } = options ?? {};
    // `fetch` would cut a blank off at either end, and so make another key of it.
    if (!/^[!-~]([ -~]{0,253}[!-~])?$/.test(idempotencyKey)) {
      throw new TypeError(`${operation}: pass 1 to 255 printable ASCII characters as idempotencyKey, trimmed`);
    }
    const headers = new Headers({ 'User-Agent': `pet-catalog-client/${VERSION}` });
    for (const [name, value] of Object.entries({ ...this.#options.headers, ...options?.headers })) {
      headers.set(name, value);
    }
    headers.set('Authorization', `Bearer ${this.#apiKey}`);
    headers.delete('If-None-Match');
    headers.delete('If-Match');
    const { ifMatch } = options ?? {};
    if (ifMatch?.trim() === '') throw new TypeError(`${operation}: ifMatch is empty; pass the ETag of the resource`);
    if (ifMatch) headers.set('If-Match', ifMatch);
    if (body) headers.set('Content-Type', 'application/json');
    if (method === 'POST') headers.set('Idempotency-Key', idempotencyKey);
    if (cached) headers.set('If-None-Match', cached.etag);
    const init: RequestInit = { method, headers, body: body ? JSON.stringify(body) : null, redirect: 'manual' };
    return { operation, url: url.href, init, isFree, cached };
  }

  /** Sends one request when the throttle admits it. */
  async #attempt(prepared: Prepared, turn: Attempt): Promise<ApiResponse<unknown>> {
    const { operation, isFree } = prepared;
    const held = isFree ? undefined : await this.#throttle.enter(turn);
    if (held) throw notSent(operation, held, this.#instant());
    try {
      const { ticket } = this.#throttle;
      const startedAt = this.#clock.now();
      const received = await this.#exchange(prepared, turn.signal);
      this.#notify(prepared, received, { attempt: turn.attempt, durationMs: this.#clock.now() - startedAt });
      return this.#interpret(prepared, received, { ticket, isUnknown: turn.isUnknown });
    } finally {
      if (!isFree) this.#throttle.leave();
    }
  }

  /** Sends the request and receives the whole response. */
  #exchange({ operation, url, init, cached }: Prepared, signal: AbortSignal): Promise<Received> {
    const { fetch: send = fetch, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = this.#options;
    const tooLate = () => new TimeoutError(operation, `no answer within ${attemptTimeoutMs} ms`);
    return this.#within(attemptTimeoutMs, signal, tooLate, async (within) => {
      try {
        const response = await send(url, { ...init, signal: within });
        const { status, headers } = response;
        const text = status === 304 && cached ? cached.text : await response.text();
        return {
          status,
          headers,
          text,
          limits: readLimits(headers),
          requestId: this.#withoutKey(headers.get('X-Request-Id') ?? '') || undefined,
        };
      } catch (error) {
        const cause = this.#bare(error);
        const reason = `${cause.message}${cause.cause instanceof Error ? `: ${cause.cause.message}` : ''}`;
        throw new ConnectionError(operation, reason, {}, cause);
      }
    });
  }

  /** Converts a response to a result, or throws its error. Updates the throttle and the cache. */
  #interpret(
    { operation, url, init: { method } }: Prepared,
    received: Received,
    { ticket, isUnknown }: { ticket: number; isUnknown: boolean },
  ): ApiResponse<unknown> {
    const { status, headers, text, limits, requestId } = received;
    const isGood = status < 300 || status === 304;
    if (limits && status !== 429) this.#throttle.learn(ticket, limits, readMinute(headers));
    const data = parse(text);
    if (isGood && (data || status === 204)) {
      const etag = headers.get('ETag');
      // Pages would evict the whole list.
      if (etag && method === 'GET' && !url.includes('?')) this.#cached[operation] = { url, etag, text };
      if (Array.isArray(data)) asPage(data, readCursor(headers));
      return { data, status, headers, requestId, limits };
    }
    const instant = this.#instant();
    const retryAfter =
      status === 429 ? (readRetryAfter(headers, instant.unixMs, limits) ?? 1) : readRetryAfter(headers, instant.unixMs);
    const { code, message } = Object(data);
    if (isGood || typeof code !== 'string') {
      const untilMs = retryAfter && instant.unixMs + retryAfter * 1_000;
      throw new ConnectionError(operation, `status ${status} is not the service's`, { status, retryAfter, untilMs });
    }
    // After an attempt of unknown outcome a 404 says that this one deleted what is asked for.
    if (isUnknown && status === 404 && method === 'DELETE')
      return { data: undefined, status, headers, requestId, limits };
    const refusal = {
      code: this.#withoutKey(code) as ErrorCode,
      message: this.#withoutKey(`${message}`),
      status,
      requestId,
      headers: new Headers([...headers].map(([name, value]) => [name, this.#withoutKey(value)])),
      retryAfter,
      at: instant.now,
    };
    if (status === 429) this.#throttle.refused(refusal);
    throw new ApiError(operation, refusal, instant);
  }

  /** The present moment. The machine's clock may be corrected, and goes on while the machine sleeps. */
  #instant(): Instant {
    const now = this.#clock.now();
    return { now, unixMs: this.#clock === systemClock ? Date.now() : now };
  }

  /** Calls the hooks. Their errors and rejections do not affect the call. */
  #notify({ operation, url }: Prepared, { status, headers, limits, requestId }: Received, sent: Sent): void {
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
   * Runs the work with a signal that aborts with the outer one, or after `ms` with the error of `tooLate`. Rejects with
   * the reason of that signal as soon as it aborts, even if the work ignores it.
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

  /** Aborts the controller with the signal, until the returned function is called. */
  #follow(signal: AbortSignal, over: AbortController): () => void {
    const calls = this.#following.get(signal) ?? Object.assign(new Set<AbortController>(), { handleEvent });
    this.#following.set(signal, calls);
    calls.add(over);
    // Adding it twice adds it once.
    signal.addEventListener('abort', calls);
    return () => {
      calls.delete(over);
      if (!calls.size) signal.removeEventListener('abort', calls);
    };
  }

  /** Copies what explains an error of `fetch`. The error itself may hold the request, and so the key. */
  #bare(error: unknown, depth = CAUSES_MAX): Error {
    const { name = 'Error', message, code, cause } = Object(error);
    const own = cause && depth > 1 ? { cause: this.#bare(cause, depth - 1) } : undefined;
    const bare = new Error(this.#withoutKey(`${message || code}`), own);
    return Object.assign(bare, { name: this.#withoutKey(`${name}`) }, code && { code: this.#withoutKey(`${code}`) });
  }

  /** Masks the API key, which a proxy or a custom `fetch` may quote. */
  #withoutKey(text: string): string {
    return text.replaceAll(this.#apiKey, '[API key]');
  }
}

/** Milliseconds that passed between readings, and the last reading: a clock that is replaced or set back stops none. */
let passedMs = 0;
let readMs = 0;

/** A monotonic clock, so that changes of the system time do not move deadlines. Under fake timers it follows them. */
const systemClock: Clock = {
  now() {
    const now = performance.now();
    passedMs += Math.max(0, now - readMs);
    readMs = now;
    return passedMs;
  },
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const until = systemClock.now() + ms;
      const stop = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener('abort', stop);
        passedMs = Math.max(systemClock.now(), until);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(ms, TIMER_MS_MAX));
      signal.addEventListener('abort', stop);
    }),
};

/** Aborts every call of a signal. */
function handleEvent(this: Following, { target }: Event): void {
  for (const each of this) each.abort((target as AbortSignal).reason);
}

/** The wait before the next attempt, in milliseconds; undefined if there should be none. */
function waitMsAfter(failure: PetCatalogError, attempt: number, jitter: number): number | undefined {
  const { status = 503, retryAfter = 0, code } = failure;
  if (code === 'key_banned') return undefined;
  if (status === 429 && code) return retryAfter * 1_000;
  const backoffMs = jitter * Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (attempt - 1));
  const isTransient = status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
  return isTransient ? retryAfter * 1_000 + backoffMs : undefined;
}

/** True if the service may have done what a failed attempt asked for. */
function mayBeDone({ status = 500, code }: PetCatalogError): boolean {
  return status >= 500 && code !== 'unavailable';
}

/** True if a repetition could undo what another caller changed: a stock set again forgets the orders between. */
function mayUndo({ method, headers }: Prepared['init']): boolean {
  return method === 'PATCH' && !new Headers(headers).has('If-Match');
}

/** 128 random bits. Browsers lack `crypto.randomUUID` on pages loaded over plain HTTP. */
function newIdempotencyKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/** The address without a slash at its end. Throws a TypeError; quotes nothing, because it may hold a password. */
function readBaseUrl(baseUrl: string | URL | undefined): string {
  if (!baseUrl) throw new TypeError('baseUrl is missing: pass it, or set PET_CATALOG_URL');
  const { protocol, username, password, search, hash, origin, pathname } = URL.canParse(baseUrl)
    ? new URL(baseUrl)
    : {};
  if (!/^https?:$/.test(`${protocol}`)) throw new TypeError('baseUrl must begin with http:// or https://');
  if (username || password) throw new TypeError('baseUrl must have no user or password; pass the key as apiKey');
  if (search || hash) throw new TypeError('baseUrl must have neither a query nor a fragment');
  const address = `${origin}${pathname?.replace(/\/+$/, '')}`;
  if (address.endsWith('/v1/v1')) throw new TypeError(`baseUrl ends in /v1 twice: ${address}`);
  if (!address.endsWith('/v1')) throw new TypeError(`baseUrl must end in /v1: ${address}`);
  return address;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A variable of the environment; undefined where there is no environment, as in browsers. */
function fromEnvironment(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.[name];
}

/** The error of a call that the throttle does not admit. */
function notSent(operation: OperationName, held: Held, at: Instant): PetCatalogError {
  if ('code' in held) {
    const message = `not sent; an earlier call was answered: ${held.message}`;
    return new ApiError(operation, { ...held, message }, at);
  }
  const leftMs = held.turnAt - at.now;
  const retryAfter = Math.ceil(leftMs / 1_000);
  const message = `not sent; pacing would send it in ${retryAfter} s, after its deadline`;
  return new TimeoutError(operation, message, { retryAfter, untilMs: at.unixMs + leftMs });
}

function quietly(notify: () => unknown): void {
  new Promise((resolve) => resolve(notify())).catch(() => {});
}
