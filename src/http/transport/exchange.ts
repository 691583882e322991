import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { AnyErrorCode, CatalogError } from '../../catalog/error.ts';
import type { Decision, Limiter } from '../../limits/limiter.ts';
import type { Time } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Account, Holding, Ledger } from './ledger.ts';

/** Time for a client to receive an answer: 30 s, plus a second for every 50 kB. */
const SEND_MS_MIN = 30_000;
const SEND_BYTES_PER_MS_MIN = 50;
/** An unused body up to this size is read and discarded, which keeps the connection alive. */
const UNREAD_BYTES_MAX = 256 * 1024;
/** Memory for a request, its answer and its exchange without headers and bodies, as measured. */
const EXCHANGE_BYTES = 4 * 1024;
/** Memory for the name or the value of a header, without its characters, as measured with many short ones. */
const HEADER_TEXT_BYTES = 45;

const NO_QUERY = new URLSearchParams();
const NO_BYTES = Buffer.alloc(0);
const NO_HEADERS: readonly string[] = [];
const UNHELD: Account = { heldBytes: 0, cutOff: () => {} };
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const REQUEST_ID_RANDOM_BYTES = 12;
/** Version, trace id, parent id, flags; later versions may append fields. All-zero ids are invalid. */
const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(|-.*)$/;

/** The response of a handler. `headers` is flat (name, value, …), the form that Node writes fastest. */
export interface Answer {
  readonly status: number;
  readonly headers?: readonly string[];
  /** A text is this answer's own; bytes are shared with other answers, and so do not count as its memory. */
  readonly body?: string | readonly Uint8Array[];
  /** Set for an error. */
  readonly code?: AnyErrorCode;
  /** The thrown error, for the log; with a status of 500 and above. */
  readonly cause?: unknown;
  /** Closes the connection after this answer. */
  readonly closes?: boolean;
  /** Default: application/json. */
  readonly contentType?: string;
  readonly cacheControl?: string;
}

/** The parts of its service that an exchange uses. */
export interface Context {
  readonly time: Time;
  readonly events: Events;
  /** Default: public. */
  readonly listener?: 'public' | 'operator';
  /** Appends the limit headers to those of an answer; absent on a listener without limits. */
  addLimitHeaders?(headers: string[], exchange: Exchange): void;
}

export interface ExchangeOptions extends Context {
  /** Headers sent with every answer of the listener (flat: name, value, …). */
  readonly headers: readonly string[];
  readonly ledger: Ledger;
  /** Larger bodies are written in parts of this size, each once the socket has drained. */
  readonly partBytes: number;
  /** Generates the id of a request that came without a valid one. */
  newRequestId(): string;
  /** True if connections close after their next answer. */
  isStopping(): boolean;
}

/** Answers a request, synchronously or by the time the promise resolves. */
export type Serve = (exchange: Exchange) => void | Promise<void>;

/**
 * One request and its answer. The gates fill in its fields; `answer` writes the status, every header that the contract
 * promises and the body, once.
 */
export class Exchange implements Holding {
  readonly request: IncomingMessage;
  readonly requestId: string;
  /** True if the path is under `/v1` of the public listener. */
  isUnderV1 = false;
  /** False for a page: of a listener with limits, every other answer tells them. */
  hasLimitHeaders = true;
  path = '';
  query = NO_QUERY;
  params: Readonly<Record<string, string | undefined>> = {};
  /** The parsed body, and its raw bytes. */
  body: unknown;
  bodyBytes: Buffer = NO_BYTES;
  route = 'unmatched';
  /** True if the connection closes after this exchange; final once it is answered. */
  isLast = false;
  /** True if the client waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  /** Why the rest of the request cannot be read. */
  failure: CatalogError | undefined;
  /** The status of the answer; undefined until it is written. */
  status: number | undefined;
  /** Kept by the ledger, from when the request has to wait for anything until its answer was sent. */
  heldBytes = 0;
  /** The connection, set once it takes the request. */
  account: Account = UNHELD;
  traceId: string | undefined;
  /** Headers sent with every answer to this request, also an error; flat. */
  ownHeaders: readonly string[] = NO_HEADERS;
  /** Set while the body is read: called with `failure`. */
  onFailure: ((failure: CatalogError) => void) | undefined;

  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #startedMs = performance.now();
  #requestBytes = 0;
  /** Held of the body, and then of the answer. */
  #bodyBytes = 0;
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
    const { heldBytes } = this;
    if (heldBytes > 0) this.#options.ledger.hold(this, 0);
    this.#key = key;
    if (heldBytes > 0) this.#options.ledger.hold(this, heldBytes);
  }

  get keyId(): string | undefined {
    return this.#key?.id;
  }

  /** True if the key holds too much to be served. */
  get isKeyFull(): boolean {
    return this.#options.ledger.isFull(this.key.id);
  }

  /** Charges the request and, if given, the bytes of its body or answer. */
  hold(bodyBytes: number = this.#bodyBytes): void {
    this.#bodyBytes = bodyBytes;
    // Once the connection is gone, nothing follows to give it back.
    if (this.request.socket.destroyed) return;
    this.#requestBytes ||= memoryOf(this.request);
    this.#options.ledger.hold(this, this.#requestBytes + bodyBytes);
  }

  release(): void {
    this.#options.ledger.hold(this, 0);
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

  /** The decision as it is at the second of the answer, which may be far from that of the request. */
  get presentDecision(): Decision | undefined {
    return this.#decision && this.#limiter?.current(this.key, this.#decision);
  }

  /** True if the request was read to its end; without a body that is the end of its head. */
  get isRead(): boolean {
    const { complete, headers } = this.request;
    return complete || (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined);
  }

  /** True if the whole answer was handed to the operating system. */
  get isSent(): boolean {
    return this.#response.writableEnded && this.#response.writableLength === 0;
  }

  /** Calls back once the answer was sent, or can no longer be sent. */
  onClose(listener: () => void): void {
    this.#response.on('close', listener);
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
    if (bytes > this.#options.partBytes) {
      this.#sendInParts(body ?? []);
    } else if (body === undefined || typeof body === 'string') {
      // One byte per character means ASCII, for which latin1 is the fastest encoding.
      response.end(body, body?.length === bytes ? 'latin1' : 'utf8');
    } else {
      response.cork();
      for (const part of body) response.write(part);
      response.end();
      response.uncork();
    }
    if (!this.isSent) this.#keepUnsent(typeof body === 'string' ? bytes : 0, bytes);
    const { events, listener = 'public' } = this.#options;
    events.requestAnswered({
      listener,
      api: this.isUnderV1 ? 'true' : 'false',
      requestId: this.requestId,
      keyId: this.keyId,
      plan: this.#key?.plan,
      method: this.request.method ?? '',
      route: this.route,
      status,
      code: answer.code,
      cause: answer.cause,
      windows: this.#decision,
      traceId: this.traceId ?? traceIdOf(this.request.headers.traceparent),
      durationMs: performance.now() - this.#startedMs,
    });
  }

  #headers(answer: Answer, bytes: number): string[] {
    const headers: string[] = [];
    if (this.hasLimitHeaders) this.#options.addLimitHeaders?.(headers, this);
    headers.push('X-Request-Id', this.requestId);
    for (const text of this.#options.headers) headers.push(text);
    for (const text of this.ownHeaders) headers.push(text);
    addContentHeaders(headers, answer, bytes);
    if (answer.closes || this.failure || this.#options.isStopping() || this.#leavesMuchUnread()) this.isLast = true;
    if (this.isLast) headers.push('Connection', 'close');
    return headers;
  }

  #leavesMuchUnread(): boolean {
    const { headers } = this.request;
    // The client may or may not send the body now, so the start of the next request is unknown.
    if (this.awaitsContinue) return true;
    // Chunks count as unread until they were taken, so that it makes no difference in which packets they come.
    if (headers['transfer-encoding'] !== undefined) return !this.request.readableEnded;
    return !this.isRead && Number(headers['content-length']) > UNREAD_BYTES_MAX;
  }

  #sendInParts(body: string | readonly Uint8Array[]): void {
    const response = this.#response;
    const { partBytes } = this.#options;
    const parts = typeof body === 'string' ? partsOfText(body, partBytes) : partsOf(body, partBytes);
    const send = () => {
      for (let next = parts.next(); !next.done; next = parts.next()) if (!response.write(next.value)) return;
      response.end();
    };
    response.on('drain', send);
    send();
  }

  /** Slow path: the system has not taken the answer, or answers before it are to be sent. */
  #keepUnsent(ownBytes: number, bytes: number): void {
    const { socket, method } = this.request;
    if (socket.destroyed) return;
    // Bytes that answers share are no memory of this one, unless they are encrypted for it.
    const { writableLength } = this.#response;
    this.hold(method === 'HEAD' ? 0 : Math.max(ownBytes, 'encrypted' in socket ? 2 * writableLength : 0));
    if (this.#response.socket) this.#limitSendTime(bytes);
    else this.#response.once('socket', () => this.#limitSendTime(bytes));
  }

  /** Disconnects a client that receives an answer too slowly. */
  #limitSendTime(bytes: number): void {
    const response = this.#response;
    const timer = setTimeout(() => response.destroy(), SEND_MS_MIN + bytes / SEND_BYTES_PER_MS_MIN).unref();
    response.once('close', () => clearTimeout(timer));
  }
}

function* partsOf(chunks: readonly Uint8Array[], bytesMax: number): Generator<Uint8Array> {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += bytesMax) yield chunk.subarray(at, at + bytesMax);
  }
}

/** Encoded by Node one by one: the blocks of whole answers, once freed, would stay with the process. */
function* partsOfText(text: string, lengthMax: number): Generator<string> {
  for (let at = 0; at < text.length; ) {
    // Not between the two halves of a character.
    const isHalf = (text.codePointAt(at + lengthMax - 1) ?? 0) > 0xffff;
    const part = text.slice(at, at + lengthMax - (isHalf ? 1 : 0));
    at += part.length;
    yield part;
  }
}

/** About the memory that a request takes with its headers. */
function memoryOf({ rawHeaders, url = '' }: IncomingMessage): number {
  let bytes = EXCHANGE_BYTES + url.length;
  for (const text of rawHeaders) bytes += HEADER_TEXT_BYTES + text.length;
  return bytes;
}

/** The trace id of a `traceparent` (W3C Trace Context, section 3.2); undefined if it is malformed. */
function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, rest] = TRACEPARENT.exec(header) ?? [];
  return version === 'ff' || (version === '00' && rest !== '') ? undefined : traceId;
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

/** Appends the answer's own headers and those that describe its body. */
function addContentHeaders(headers: string[], answer: Answer, bytes: number): void {
  headers.push('X-Content-Type-Options', 'nosniff', 'Cache-Control', answer.cacheControl ?? 'no-store');
  for (const text of answer.headers ?? []) headers.push(text);
  if (answer.body !== undefined) headers.push('Content-Type', answer.contentType ?? 'application/json');
  if (answer.status !== 204 && answer.status !== 304) headers.push('Content-Length', `${bytes}`);
}

function bodyBytes(body: string | readonly Uint8Array[]): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((sum, part) => sum + part.byteLength, 0);
}
