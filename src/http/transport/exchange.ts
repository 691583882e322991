import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { CatalogError, ErrorCode } from '../../catalog/error.ts';
import type { Decision } from '../../limits/limiter.ts';
import type { Clock } from '../../stdx/clock.ts';
import type { Events } from '../../telemetry/events.ts';

/** A caller has this long to take an answer, and a second more for every 50 kB of it. */
const TAKE_MS_MIN = 30_000;
const TAKE_BYTES_PER_MS_MIN = 50;
/** Less than this the system takes at once. */
const LARGE_BYTES = 16 * 1024;
/** A body up to this size that nobody reads is let through, so that the connection can be used again. */
const UNREAD_BYTES_MAX = 256 * 1024;

const NO_QUERY = new URLSearchParams();
const NO_BYTES = Buffer.alloc(0);
const NO_HEADERS: readonly string[] = [];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Version, trace id, parent id, flags; later versions may add something. Ids of nothing but zeros are none. */
const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(|-.*)$/;
const REQUEST_ID_RANDOM_BYTES = 12;

/** What an operation answers. `headers` is flat (name, value, name, value …), which is what Node writes fastest. */
export interface Answer {
  readonly status: number;
  readonly headers?: readonly string[];
  readonly body?: string | readonly Uint8Array[];
  /** The error's code, if it is one. */
  readonly code?: ErrorCode;
  /** Ends the connection after this answer. */
  readonly closes?: boolean;
  /** JSON unless said otherwise. */
  readonly contentType?: string;
  readonly cacheControl?: string;
}

/** What an exchange needs from where it takes place. */
export interface Context {
  readonly clock: Clock;
  readonly events: Events;
}

export interface ExchangeOptions extends Context {
  /** A name for a request whose caller gave it none. */
  newRequestId(): string;
  /** Whether connections are to end with their next answer. */
  isStopping(): boolean;
}

/** Answers a request: at once, or when the promise is fulfilled. */
export type Serve = (exchange: Exchange) => void | Promise<void>;

/**
 * One request and its one answer. The gates fill in what they learn on the way; `answer` writes the status, every
 * header that the contract promises and the body, once.
 */
export class Exchange {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** Whether the answer belongs to the API and so carries the limit headers. */
  isApi = true;
  path = '';
  query = NO_QUERY;
  params: Readonly<Record<string, string | undefined>> = {};
  /** The body, read and parsed, and the bytes that it was. */
  body: unknown;
  bodyBytes: Buffer = NO_BYTES;
  /** The route's template once it is known. */
  route = 'unmatched';
  /** Whether the connection ends with this exchange; known at the latest when it is answered. */
  isLast = false;
  /** Whether the caller waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  /** Why the rest of the request cannot be read, once that is known. */
  failure: CatalogError | undefined;
  /** The status of the answer, once it is given. */
  status: number | undefined;
  /** The trace that the request belongs to, where spans are made of it. */
  traceId: string | undefined;
  /** What the answer carries whatever it will be; flat. */
  ownHeaders: readonly string[] = NO_HEADERS;
  /** Called with `failure` as soon as there is one, while somebody reads the body. */
  onFailure: ((failure: CatalogError) => void) | undefined;

  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #startedMs = performance.now();
  #key: ApiKey | undefined;
  #decision: Decision | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.isLast = !response.shouldKeepAlive;
    const wished = request.headers['x-request-id'];
    this.requestId = typeof wished === 'string' && REQUEST_ID.test(wished) ? wished : options.newRequestId();
  }

  /** The caller's key; set by the gate that authenticates, before any operation runs. */
  get key(): ApiKey {
    if (!this.#key) throw new Error('The request is not authenticated');
    return this.#key;
  }

  set key(key: ApiKey) {
    this.#key = key;
  }

  /** What the limiter said of this request; set by its gate, before any operation runs. */
  get decision(): Decision {
    if (!this.#decision) throw new Error('The request has not been counted');
    return this.#decision;
  }

  set decision(decision: Decision) {
    this.#decision = decision;
  }

  /** Whether the request has come to its end; without a body that is the end of its head. */
  get isRead(): boolean {
    const { complete, headers } = this.request;
    return complete || (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined);
  }

  /** Whether the system has taken the whole answer. */
  get isSent(): boolean {
    return this.#response.writableEnded && this.#response.writableLength === 0;
  }

  /** Calls back once the answer is sent, or cannot be any more. */
  onClose(listener: () => void): void {
    this.#response.on('close', listener);
  }

  /** Notes that the request cannot be read to its end, and wakes whoever is reading it. */
  fail(failure: CatalogError): void {
    this.failure ??= failure;
    this.onFailure?.(this.failure);
  }

  /** Tells a caller that waits for it to send the body. */
  continue(): void {
    if (this.awaitsContinue) this.#response.writeContinue();
    this.awaitsContinue = false;
  }

  /** Writes the answer; a second one is ignored. */
  answer(answer: Answer): void {
    if (this.status !== undefined) return;
    const { status, body } = answer;
    const bytes = body === undefined ? 0 : bodyBytes(body);
    const response = this.#response;
    response.writeHead(status, this.#headers(answer, bytes));
    // Only now: a head that cannot be written throws, and then there is still an error to answer.
    this.status = status;
    if (body === undefined || typeof body === 'string') {
      // Where every character is a byte, there is nothing to encode.
      response.end(body, body?.length === bytes ? 'latin1' : 'utf8');
    } else {
      response.cork();
      for (const part of body) response.write(part);
      response.end();
      response.uncork();
    }
    if (bytes >= LARGE_BYTES && !this.isSent) this.#giveTimeToTake(bytes);
    this.#options.events.requestAnswered({
      requestId: this.requestId,
      keyId: this.#key?.id,
      plan: this.#key?.plan,
      method: this.request.method ?? '',
      route: this.route,
      status,
      code: answer.code,
      traceId: this.traceId ?? traceIdOf(this.request.headers.traceparent),
      durationMs: performance.now() - this.#startedMs,
    });
  }

  #headers(answer: Answer, bytes: number): string[] {
    const headers = this.isApi ? limitHeaders(this.#decision, this.#options.clock) : [];
    headers.push('X-Request-Id', this.requestId);
    for (const text of this.ownHeaders) headers.push(text);
    addContentHeaders(headers, answer, bytes);
    if (answer.closes || this.failure || this.#options.isStopping() || this.#leavesMuchUnread()) this.isLast = true;
    if (this.isLast) headers.push('Connection', 'close');
    return headers;
  }

  #leavesMuchUnread(): boolean {
    const { headers } = this.request;
    // Whether the body follows is the caller's choice, so that nobody knows where the next request begins.
    if (this.awaitsContinue) return true;
    if (this.isRead) return false;
    return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > UNREAD_BYTES_MAX;
  }

  /** Whoever reads a large answer a byte at a time does not hold its connection for ever. */
  #giveTimeToTake(bytes: number): void {
    const response = this.#response;
    const timer = setTimeout(() => response.destroy(), TAKE_MS_MIN + bytes / TAKE_BYTES_PER_MS_MIN).unref();
    response.once('close', () => clearTimeout(timer));
  }
}

/** Gives ids that no other process gives: random at the front, counted behind. Random ones cost more than a gate. */
export function requestIds(): () => string {
  const front = randomBytes(REQUEST_ID_RANDOM_BYTES).toString('base64url');
  let given = 0;
  return () => {
    given += 1;
    return `${front}.${given.toString(36)}`;
  };
}

/** The published limit headers, and the IETF draft's pair where there is a key whose limits it can tell. */
export function limitHeaders(decision: Decision | undefined, clock: Clock): string[] {
  if (!decision) {
    // Who has no key has no quota, and learns nothing of a key that was presented.
    return ['X-RateLimit-Limit', '0', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', `${clock().unix}`];
  }
  const { limit, remaining, reset, minute, day, now } = decision;
  return [
    'X-RateLimit-Limit',
    `${limit}`,
    'X-RateLimit-Remaining',
    `${remaining}`,
    'X-RateLimit-Reset',
    `${reset}`,
    'RateLimit-Policy',
    `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    'RateLimit',
    `"minute";r=${minute.remaining};t=${minute.reset - now}, "day";r=${day.remaining};t=${day.reset - now}`,
  ];
}

/** Adds the headers that describe an answer's body of so many bytes, and the answer's own. */
export function addContentHeaders(headers: string[], answer: Answer, bytes: number): void {
  headers.push('X-Content-Type-Options', 'nosniff', 'Cache-Control', answer.cacheControl ?? 'no-store');
  for (const text of answer.headers ?? []) headers.push(text);
  if (answer.body !== undefined) headers.push('Content-Type', answer.contentType ?? 'application/json');
  if (answer.status !== 204 && answer.status !== 304) headers.push('Content-Length', `${bytes}`);
}

/** How long a body is on the wire. */
export function bodyBytes(body: string | readonly Uint8Array[]): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, part) => sum + part.byteLength, 0);
}

/** The trace that a `traceparent` names (W3C Trace Context, section 3.2); undefined if it is malformed. */
function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, rest] = TRACEPARENT.exec(header) ?? [];
  return version === 'ff' || (version === '00' && rest !== '') ? undefined : traceId;
}
