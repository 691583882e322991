import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { AnyErrorCode, CatalogError } from '../../catalog/error.ts';
import type { Decision, Limiter } from '../../limits/limiter.ts';
import type { Clock } from '../../stdx/clock.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Unsent, UnsentBytes } from './unsent-bytes.ts';

/** Time for a client to receive an answer: 30 s, plus a second for every 50 kB. */
const SEND_MS_MIN = 30_000;
const SEND_BYTES_PER_MS_MIN = 50;
/** Smaller answers fit into the socket buffer. */
const LARGE_BYTES = 16 * 1024;
/** An unused body up to this size is read and discarded, which keeps the connection alive. */
const UNREAD_BYTES_MAX = 256 * 1024;

/** What an unsent answer holds besides its body: about its head. */
const HEAD_BYTES = 1024;

const NO_QUERY = new URLSearchParams();
const NO_BYTES = Buffer.alloc(0);
const NO_HEADERS: readonly string[] = [];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Version, trace id, parent id, flags; later versions may append fields. All-zero ids are invalid. */
const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(|-.*)$/;
const REQUEST_ID_RANDOM_BYTES = 12;

/** The response of a handler. `headers` is flat (name, value, …), the form that Node writes fastest. */
export interface Answer {
  readonly status: number;
  readonly headers?: readonly string[];
  /** A text is this answer's own; bytes are shared with other answers, and so do not count as its memory. */
  readonly body?: string | readonly Uint8Array[];
  /** Set for an error. */
  readonly code?: AnyErrorCode;
  /** Closes the connection after this answer. */
  readonly closes?: boolean;
  /** Default: application/json. */
  readonly contentType?: string;
  readonly cacheControl?: string;
}

/** What an exchange takes from its service. */
export interface Context {
  readonly clock: Clock;
  readonly events: Events;
}

export interface ExchangeOptions extends Context {
  /** Headers sent with every answer of the listener (flat: name, value, …). */
  readonly headers: readonly string[];
  readonly unsent: UnsentBytes;
  /** Generates the id of a request that came without a valid one. */
  newRequestId(): string;
  /** Whether connections close after their next answer. */
  isStopping(): boolean;
}

/** Answers a request, synchronously or by the time the promise resolves. */
export type Serve = (exchange: Exchange) => void | Promise<void>;

/**
 * One request and its answer. The gates fill in its fields; `answer` writes the status, every header that the contract
 * promises and the body, once.
 */
export class Exchange implements Unsent {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** Whether the answer carries the limit headers. */
  isApi = true;
  path = '';
  query = NO_QUERY;
  params: Readonly<Record<string, string | undefined>> = {};
  /** The parsed body, and its raw bytes. */
  body: unknown;
  bodyBytes: Buffer = NO_BYTES;
  /** The path template of the matched route. */
  route = 'unmatched';
  /** Whether the connection closes after this exchange; final once it is answered. */
  isLast = false;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  /** Why the rest of the request cannot be read. */
  failure: CatalogError | undefined;
  /** The status of the answer; undefined until it is written. */
  status: number | undefined;
  /** Counted by `UnsentBytes` while the request waits and while the answer is unsent. */
  unsentBytes = 0;
  /** The trace id, if the request is traced. */
  traceId: string | undefined;
  /** Headers sent with every answer to this request, also an error; flat. */
  ownHeaders: readonly string[] = NO_HEADERS;
  /** Set while the body is read: called with `failure`. */
  onFailure: ((failure: CatalogError) => void) | undefined;

  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #startedMs = performance.now();
  #key: ApiKey | undefined;
  #decision: Decision | undefined;
  #limiter: Pick<Limiter, 'current'> | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.isLast = !response.shouldKeepAlive;
    const sentId = request.headers['x-request-id'];
    this.requestId = typeof sentId === 'string' && REQUEST_ID.test(sentId) ? sentId : options.newRequestId();
  }

  /** The caller's key, set by authentication. Throws before that. */
  get key(): ApiKey {
    if (!this.#key) throw new Error('The request is not authenticated');
    return this.#key;
  }

  set key(key: ApiKey) {
    this.#key = key;
  }

  get keyId(): string | undefined {
    return this.#key?.id;
  }

  get holder(): unknown {
    return this.#key?.id ?? this.request.socket;
  }

  /** Whether the key has too many unread answers to be served. */
  get isKeyFull(): boolean {
    return this.#options.unsent.isFull(this.key.id);
  }

  /** The limiter's decision, set by the rate-limit gate. Throws before that. */
  get decision(): Decision {
    if (!this.#decision) throw new Error('The request has not been counted');
    return this.#decision;
  }

  /** Notes what the limiter said, and the limiter, which is asked again when the answer goes out. */
  decide(decision: Decision, limiter: Pick<Limiter, 'current'>): void {
    this.#decision = decision;
    this.#limiter = limiter;
  }

  /** Whether the request was read to its end; without a body that is the end of its head. */
  get isRead(): boolean {
    const { complete, headers } = this.request;
    return complete || (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined);
  }

  /** Whether the whole answer was handed to the operating system. */
  get isSent(): boolean {
    return this.#response.writableEnded && this.#response.writableLength === 0;
  }

  /** Calls back once the answer was sent, or can no longer be sent. */
  onClose(listener: () => void): void {
    this.#response.on('close', listener);
  }

  /** Closes the connection at once. */
  cutOff(): void {
    const { socket } = this.request;
    if (!socket.destroyed) this.#options.events.connectionCutOff(this.keyId);
    socket.destroy();
  }

  /** Records that the request cannot be read to its end, and rejects a pending read of the body. */
  fail(failure: CatalogError): void {
    this.failure ??= failure;
    this.onFailure?.(this.failure);
  }

  /** Sends `100 Continue` if the client waits for it. */
  continue(): void {
    if (this.awaitsContinue) this.#response.writeContinue();
    this.awaitsContinue = false;
  }

  /** Writes the answer; a second call is ignored. */
  answer(answer: Answer): void {
    if (this.status !== undefined) return;
    const { status, body } = answer;
    const bytes = body === undefined ? 0 : bodyBytes(body);
    const response = this.#response;
    response.writeHead(status, this.#headers(answer, bytes));
    // Set only now: if writeHead throws, an error answer can still be sent.
    this.status = status;
    if (body === undefined || typeof body === 'string') {
      // One byte per character means ASCII, for which latin1 is the fastest encoding.
      response.end(body, body?.length === bytes ? 'latin1' : 'utf8');
    } else {
      response.cork();
      for (const part of body) response.write(part);
      response.end();
      response.uncork();
    }
    if (!this.isSent) this.#keepUnsent(typeof body === 'string' ? bytes : 0, bytes);
    this.#options.events.requestAnswered({
      requestId: this.requestId,
      keyId: this.keyId,
      plan: this.#key?.plan,
      method: this.request.method ?? '',
      route: this.route,
      status,
      code: answer.code,
      windows: this.#decision,
      traceId: this.traceId ?? traceIdOf(this.request.headers.traceparent),
      durationMs: performance.now() - this.#startedMs,
    });
  }

  #headers(answer: Answer, bytes: number): string[] {
    const headers: string[] = [];
    if (this.isApi) this.#addLimitHeaders(headers);
    headers.push('X-Request-Id', this.requestId);
    for (const text of this.#options.headers) headers.push(text);
    for (const text of this.ownHeaders) headers.push(text);
    addContentHeaders(headers, answer, bytes);
    if (answer.closes || this.failure || this.#options.isStopping() || this.#leavesMuchUnread()) this.isLast = true;
    if (this.isLast) headers.push('Connection', 'close');
    return headers;
  }

  /** True at the second of the answer, which may be far from that of the request. */
  #addLimitHeaders(headers: string[]): void {
    const decision = this.#decision && this.#limiter?.current(this.key, this.#decision);
    addLimitHeaders(headers, decision, this.#options.clock);
  }

  #leavesMuchUnread(): boolean {
    const { headers } = this.request;
    // The client may or may not send the body now, so the start of the next request is unknown.
    if (this.awaitsContinue) return true;
    if (this.isRead) return false;
    return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > UNREAD_BYTES_MAX;
  }

  /** Slow path: the client does not read as fast as it sends. */
  #keepUnsent(ownBytes: number, bytes: number): void {
    // Once the connection is gone, no 'close' follows to end the count.
    if (this.request.socket.destroyed) return;
    if (bytes >= LARGE_BYTES) this.#limitSendTime(bytes);
    this.#options.unsent.add(this, HEAD_BYTES + (this.request.method === 'HEAD' ? 0 : ownBytes));
  }

  /** Disconnects a client that receives a large answer too slowly. */
  #limitSendTime(bytes: number): void {
    const response = this.#response;
    const timer = setTimeout(() => response.destroy(), SEND_MS_MIN + bytes / SEND_BYTES_PER_MS_MIN).unref();
    response.once('close', () => clearTimeout(timer));
  }
}

/** Creates a generator of unique ids: a random prefix per process and a counter, which is cheaper than random ids. */
export function requestIds(): () => string {
  const prefix = `${randomBytes(REQUEST_ID_RANDOM_BYTES).toString('base64url')}.`;
  let count = 0;
  return () => {
    count += 1;
    return prefix + count.toString(36);
  };
}

/** Appends the published limit headers and, for a valid key, those of the IETF draft. */
export function addLimitHeaders(headers: string[], decision: Decision | undefined, clock: Clock): void {
  if (!decision) {
    // Without a valid key there is no quota, and nothing is revealed about the key that was sent.
    headers.push('X-RateLimit-Limit', '0', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', `${clock().unix}`);
    return;
  }
  const { limit, remaining, reset, minute, day, now } = decision;
  headers.push(
    'X-RateLimit-Limit',
    `${limit}`,
    'X-RateLimit-Remaining',
    `${remaining}`,
    'X-RateLimit-Reset',
    `${reset}`,
    'RateLimit-Policy',
    policyOf(minute.limit, day.limit),
    'RateLimit',
    `"minute";r=${minute.remaining};t=${minute.reset - now}, "day";r=${day.remaining};t=${day.reset - now}`,
  );
}

/** The last policy, cached because most requests in a row are on the same plan. */
let lastPolicy = { minute: Number.NaN, day: Number.NaN, text: '' };

function policyOf(minute: number, day: number): string {
  if (lastPolicy.minute !== minute || lastPolicy.day !== day) {
    lastPolicy = { minute, day, text: `"minute";q=${minute};w=60, "day";q=${day};w=86400` };
  }
  return lastPolicy.text;
}

/** Appends the answer's own headers and those that describe its body. */
export function addContentHeaders(headers: string[], answer: Answer, bytes: number): void {
  headers.push('X-Content-Type-Options', 'nosniff', 'Cache-Control', answer.cacheControl ?? 'no-store');
  for (const text of answer.headers ?? []) headers.push(text);
  if (answer.body !== undefined) headers.push('Content-Type', answer.contentType ?? 'application/json');
  if (answer.status !== 204 && answer.status !== 304) headers.push('Content-Length', `${bytes}`);
}

/** The Content-Length of a body. */
export function bodyBytes(body: string | readonly Uint8Array[]): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, part) => sum + part.byteLength, 0);
}

/** The trace id of a `traceparent` (W3C Trace Context, section 3.2); undefined if it is malformed. */
function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, rest] = TRACEPARENT.exec(header) ?? [];
  return version === 'ff' || (version === '00' && rest !== '') ? undefined : traceId;
}
