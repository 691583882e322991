import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import { type AnyErrorCode, CatalogError } from '../../catalog/error.ts';
import type { Decision, Limiter } from '../../limits/limiter.ts';
import type { Time } from '../../stdx/time.ts';
import type { AnsweredRequest, Events } from '../../telemetry/events.ts';
import { BODY_BYTES_MAX, Body, tooLarge } from './body.ts';

/** Time for a client to receive an answer: 30 s, plus a second for every 50 kB. */
const SEND_MS_MIN = 30_000;
const SEND_BYTES_PER_MS_MIN = 50;
/** Larger answers may not be sent at once. */
const LARGE_BYTES = 64 * 1024;
/** Exact, because Node accepts any expectation that contains the word. */
const CONTINUE_ONLY = /^100-continue$/i;

const NO_QUERY = new URLSearchParams();
const NO_BYTES = Buffer.alloc(0);
const NO_HEADERS: readonly string[] = [];
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const REQUEST_ID_RANDOM_BYTES = 12;
/** Version, trace id, parent id, flags; later versions may append fields. All-zero ids are invalid. */
const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(|-.*)$/;

/** The response of a handler. `headers` is flat (name, value, …), the form that Node writes fastest. */
export interface Answer {
  readonly status: number;
  readonly headers?: readonly string[];
  readonly body?: string | readonly Uint8Array[];
  /** Set for an error. */
  readonly code?: AnyErrorCode;
  /** The thrown error, for the log; with a status of 500 and above. */
  readonly cause?: unknown;
  /** For the records, as `cause` is for the log. */
  readonly ended?: AnsweredRequest['ended'];
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
export class Exchange {
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
  /** Why the rest of the request cannot be read. */
  failure: CatalogError | undefined;
  /** The status of the answer; undefined until it is written. */
  status: number | undefined;
  traceId: string | undefined;
  /** The caller's key, once it is authenticated, and what the limiter decided; see `AdmittedExchange`. */
  key: ApiKey | undefined;
  decision: Decision | undefined;
  /** Headers sent with every answer to this request, also an error; flat. */
  ownHeaders: readonly string[] = NO_HEADERS;

  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #startedMs = performance.now();
  readonly #body: Body | undefined;
  /** True if the client waits for `100 Continue` before it sends the body. */
  #awaitsContinue = false;
  #limiter: Pick<Limiter, 'current'> | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.isLast = !response.shouldKeepAlive || asksForUpgrade(request);
    this.#body = this.hasBody ? new Body(request) : undefined;
    const sentId = request.headers['x-request-id'];
    this.requestId = typeof sentId === 'string' && REQUEST_ID.test(sentId) ? sentId : options.newRequestId();
  }

  /** Notes what the limiter said of the key, and the limiter, which is asked again when the answer goes out. */
  admit(decision: Decision, limiter: Pick<Limiter, 'current'>): AdmittedExchange {
    this.decision = decision;
    this.#limiter = limiter;
    return this as AdmittedExchange;
  }

  /** The decision as it is at the second of the answer, which may be far from that of the request. */
  get presentDecision(): Decision | undefined {
    return this.key && this.decision && this.#limiter?.current(this.key, this.decision);
  }

  /** True if the request announces a body, even an empty one in chunks. */
  get hasBody(): boolean {
    const { 'content-length': length = '0', 'transfer-encoding': coding } = this.request.headers;
    return length !== '0' || coding !== undefined;
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
    this.#body?.fail(this.failure);
  }

  /** Called for a request with an `Expect` header. Any expectation but `100-continue` fails it. */
  expect(): void {
    if (CONTINUE_ONLY.test(this.request.headers.expect ?? '')) this.#awaitsContinue = true;
    else this.fail(new CatalogError('expectation_failed', 'The only supported expectation is 100-continue'));
  }

  /**
   * Reads the body to its end, after `100 Continue` if the client waits for that. Rejects with `payload_too_large`, or
   * with the error that ended the request.
   */
  readBody(bytesMax: number): Promise<Buffer> {
    if (this.failure) return Promise.reject(this.failure);
    if (Number(this.request.headers['content-length']) > bytesMax) return Promise.reject(tooLarge(bytesMax));
    if (this.#awaitsContinue) this.#response.writeContinue();
    this.#awaitsContinue = false;
    return this.#body?.read(bytesMax) ?? Promise.resolve(NO_BYTES);
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
    if (bytes > LARGE_BYTES) {
      this.#sendLarge(body ?? []);
    } else if (body === undefined || typeof body === 'string') {
      // One byte per character means ASCII, for which latin1 is the fastest encoding.
      response.end(body, body?.length === bytes ? 'latin1' : 'utf8');
    } else {
      response.end(Buffer.concat(body));
    }
    this.#body?.discard();
    if (!this.isSent && !this.request.socket.destroyed) {
      const timer = this.#cutOffAfter(bytes);
      response.once('close', () => clearTimeout(timer));
    }
    this.#record(answer);
  }

  /**
   * Writes an answer whose length is not known, each part once the client took the one before. The first part that
   * fails rejects; a later one, or one that is taken too slowly, ends the connection, so that the client does not take
   * the answer for whole.
   */
  async answerInParts(answer: Answer, parts: AsyncIterator<string>): Promise<void> {
    const response = this.#response;
    let part = await parts.next();
    const headers = this.#headers(answer, 0);
    headers.splice(headers.indexOf('Content-Length'), 2, 'Content-Type', answer.contentType ?? 'text/plain');
    response.writeHead(answer.status, headers);
    this.status = answer.status;
    this.#body?.discard();
    try {
      for (; !part.done && !response.destroyed; part = await parts.next()) await this.#sendPart(part.value);
      response.end();
    } catch (cause) {
      response.destroy();
      this.#options.events.requestFailed(this.requestId, cause);
    } finally {
      await parts.return?.();
      this.#record(answer);
    }
  }

  #sendPart(part: string): Promise<void> {
    const response = this.#response;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#cutOffAfter(part.length);
    response.once('close', resolve);
    response.write(part, () => resolve());
    return promise.finally(() => {
      clearTimeout(timer);
      response.off('close', resolve);
    });
  }

  #record({ status, code, cause, ended }: Answer): void {
    const { events, listener = 'public' } = this.#options;
    events.requestAnswered({
      listener,
      api: this.isUnderV1 ? 'true' : 'false',
      requestId: this.requestId,
      keyId: this.key?.id,
      plan: this.key?.plan,
      method: this.request.method ?? '',
      route: this.route,
      status,
      code,
      cause,
      ended,
      windows: this.decision,
      traceId: this.traceId ?? traceIdOf(this.request.headers.traceparent),
      durationMs: performance.now() - this.#startedMs,
      userAgent: this.request.headers['user-agent'],
      request: this.request,
    });
  }

  #headers(answer: Answer, bytes: number): string[] {
    const headers: string[] = [];
    if (this.hasLimitHeaders) this.#options.addLimitHeaders?.(headers, this);
    headers.push('X-Request-Id', this.requestId);
    for (const text of this.ownHeaders) headers.push(text);
    addContentHeaders(headers, answer, bytes);
    if (answer.closes || this.failure || this.#options.isStopping() || this.#leavesMuchUnread()) this.isLast = true;
    if (this.isLast) headers.push('Connection', 'close');
    return headers;
  }

  #leavesMuchUnread(): boolean {
    const { headers } = this.request;
    // The client may or may not send the body now, so the start of the next request is unknown.
    if (this.#awaitsContinue) return true;
    // Chunks count as unread until they were taken, so that it makes no difference in which packets they come.
    if (headers['transfer-encoding'] !== undefined) return this.#body?.isTaken !== true;
    // An unused body of less is read and discarded, which keeps the connection alive.
    return !this.isRead && Number(headers['content-length']) > BODY_BYTES_MAX;
  }

  /** Ends the answer only once it was sent: a stopping server takes a connection for idle when its answer has ended. */
  #sendLarge(body: string | readonly Uint8Array[]): void {
    const response = this.#response;
    const parts = typeof body === 'string' ? [body] : body;
    response.cork();
    for (const [index, part] of parts.entries()) {
      response.write(part, () => {
        if (index === parts.length - 1) response.end();
      });
    }
    response.uncork();
  }

  /** Disconnects a client that receives an answer too slowly. */
  #cutOffAfter(bytes: number): NodeJS.Timeout {
    const cutOff = () => {
      this.#options.events.connectionCutOff();
      this.#response.destroy();
    };
    return setTimeout(cutOff, SEND_MS_MIN + bytes / SEND_BYTES_PER_MS_MIN).unref();
  }
}

/** A request whose key is known and that was counted, as handlers of the API get it. */
export interface AdmittedExchange extends Exchange {
  readonly key: ApiKey;
  readonly decision: Decision;
}

/** Upgrades are not supported, and Node's parser loses what follows such a request in the same packet. */
function asksForUpgrade({ headers: { upgrade, connection = '' } }: IncomingMessage): boolean {
  return upgrade !== undefined && /\bupgrade\b/i.test(connection);
}

/** The trace id of a `traceparent` (W3C Trace Context, section 3.2); undefined if it is malformed. */
function traceIdOf(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const [, version, traceId, rest] = TRACEPARENT.exec(header) ?? [];
  return version === 'ff' || (version === '00' && rest !== '') ? undefined : traceId;
}

/** Creates a generator of unique ids: a random prefix per process, which begins no option (`-`), and a counter. */
export function requestIds(): () => string {
  const prefix = `${randomBytes(REQUEST_ID_RANDOM_BYTES).toString('base64url').replace(/^-/, '_')}.`;
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
