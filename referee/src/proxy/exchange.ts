import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { DIGEST_CHARACTERS, digest, type Note, notedKey } from '../client/note.ts';
import type { StepName } from '../client/script.ts';
import { CLOCK } from './clock.ts';
import { greasedJson, holdsObject, unknownHeaders } from './grease.ts';
import { endToEnd, type Fields, fieldOf, fieldsOf, forOtherBody, isJson, moved, without } from './headers.ts';
import { type MadeUp, NO_ANSWER, refusalOf, UNKNOWN } from './made-up-answers.ts';
import { type CurrentStep, notedStep, Progress, secondsOf } from './progress.ts';
import type { Upstream } from './upstream.ts';

const ROUTE_CHARACTERS_MAX = 100;
/** A longer JSON text is passed on as it is. */
const GREASED_BYTES_MAX = 4 * 1024 * 1024;
/** Methods whose requests have a body unless their length says otherwise. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY']);
const CODINGS = /^accept-encoding$/i;
const HOST = /^host$/i;
const MADE_TWICE = 'upstream: made twice what was sent twice with one Idempotency-Key';

/** State that the exchanges of one proxy share. */
export class ExchangeContext {
  readonly time = CLOCK;
  readonly upstream: Upstream;
  readonly progress: Progress;
  readonly errorBody: Buffer | undefined;
  origin = '';
  /** The media type of the latest JSON that the upstream sent. */
  jsonType = 'application/json';
  /** The POSTs that the upstream carried out, by path and Idempotency-Key. */
  readonly created = new Set<string>();
  /** Digests of the upstream's answers, by path, body and Idempotency-Key. */
  readonly answers = new Map<string, string>();
  readonly remarks = new Set<string>();
  /** Requests that the upstream did not answer, and the reason of the first. */
  unanswered = 0;
  reason: string | undefined;

  constructor(upstream: Upstream, { script, errorBody }: { script: string; errorBody?: Buffer | undefined }) {
    this.upstream = upstream;
    this.progress = new Progress(script, this.time);
    this.errorBody = errorBody;
  }
}

/** One request, its step, and how it ended. */
export class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: ExchangeContext;
  readonly #fields: Fields;
  readonly #at: number;
  /** Aborted when the client has left, or has its answer. */
  readonly #left: AbortSignal;
  #current: CurrentStep | undefined;
  #bodyDigest: string | null = null;
  #answer: { status: number; retryAfterField: string | undefined; retryAfter: number | null } | undefined;
  #answeredAt: number | undefined;
  #isDelivered = false;
  #isDone = false;
  #hasCreated = false;

  constructor(request: IncomingMessage, response: ServerResponse, context: ExchangeContext) {
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.#at = context.time.steadyMs();
    this.#fields = fieldsOf(request.rawHeaders);
    request.on('error', () => {});
    response.on('error', () => {});
    const leaving = new AbortController();
    this.#left = leaving.signal;
    response.once('close', () => leaving.abort());
  }

  note(): Note {
    const { url = '', method = '' } = this.#request;
    const credentials = ['authorization', 'cookie'].map((name) => fieldOf(this.#fields, name) ?? '').join('\n');
    return {
      at: this.#at,
      answeredAt: this.#answeredAt ?? this.#context.time.steadyMs(),
      method,
      route: url.replace(/\?.*$/s, '').slice(0, ROUTE_CHARACTERS_MAX),
      target: digest(url),
      body: this.#bodyDigest,
      idempotencyKey: this.#idempotencyKey,
      credentials: digest(credentials),
      ...notedStep(this.#current),
      status: this.#answer?.status ?? null,
      retryAfter: this.#answer?.retryAfter ?? null,
      isDelivered: this.#isDelivered,
      isDone: this.#isDone,
      hasCreated: this.#hasCreated,
    };
  }

  get #idempotencyKey(): string | null {
    return notedKey(fieldOf(this.#fields, 'idempotency-key'));
  }

  /** The path and the Idempotency-Key. */
  get #place(): string {
    return `${digest(this.#request.url ?? '')} ${this.#idempotencyKey}`;
  }

  get #step(): StepName | undefined {
    return this.#current?.step.name;
  }

  /** Passes request and answer on, without a step. */
  async pass(): Promise<void> {
    await this.#forward();
    await this.#ended();
  }

  async play(): Promise<void> {
    const { progress } = this.#context;
    this.#current = progress.take();
    const refusal = this.#current && refusalOf(this.#current.step, progress.held());
    if (refusal || this.#step === 'reset') await this.#readBody();
    if (refusal) this.answer(refusal);
    else if (this.#step === 'reset') this.#close('resetAndDestroy');
    else await this.#forward();
    await this.#ended();
  }

  /** Sends an answer that the upstream did not give, in the media type of its JSON. */
  answer({ status, code, message, headers = [] }: MadeUp): void {
    const body = this.#context.errorBody ?? Buffer.from(JSON.stringify({ code, message, status }));
    const type = ['Content-Type', this.#context.jsonType] as const;
    const length = ['Content-Length', `${body.length}`] as const;
    this.#head({ status, fields: [...headers, type, length, ['Cache-Control', 'no-store']] });
    this.#stamp();
    this.#response.end(body);
  }

  /**
   * Takes the moment as the end of the answer. Called before its last bytes are written: the client may have them, and
   * its clock run, before this process runs again.
   */
  #stamp(): void {
    const { time } = this.#context;
    this.#answeredAt = time.steadyMs();
    if (this.#answer) this.#answer.retryAfter = secondsOf(this.#answer.retryAfterField, time);
  }

  #head({ status, statusMessage, fields }: Omit<UpstreamAnswer, 'chunks'>): void {
    const retryAfter = status === 429 || status >= 500 ? fieldOf(fields, 'retry-after') : undefined;
    this.#answer = { status, retryAfterField: retryAfter, retryAfter: null };
    // The rest of the body is not read, so that the connection cannot go on.
    if (!this.#request.complete) this.#response.shouldKeepAlive = false;
    this.#response.writeHead(status, statusMessage, fields.flat());
  }

  async #ended(): Promise<void> {
    if (!this.#response.writableFinished) await this.#until('finish');
    this.#isDelivered = this.#answer !== undefined && this.#response.writableFinished;
  }

  async #readBody(): Promise<void> {
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue();
    // The client may leave.
    await drain(this.#body()).catch(() => {});
  }

  /** The chunks of the body; its digest is kept. */
  #body(): AsyncIterable<Buffer> {
    return digested(this.#request, (body) => {
      this.#bodyDigest = body;
    });
  }

  async #forward(): Promise<void> {
    const { method = '', url = '' } = this.#request;
    const outgoing = this.#context.upstream.request(method, pathOf(url), this.#requestFields().flat());
    this.#response.once('close', () => outgoing.destroy());
    // Told by `response` or the chunks of the answer.
    outgoing.on('error', () => {});
    outgoing.on('information', ({ statusCode, rawHeaders }) => this.#inform(statusCode, rawHeaders));
    const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    try {
      // The upstream may answer before it has the whole body.
      this.#send(outgoing).catch(() => {});
      const [incoming] = await response;
      await this.#conclude(incoming);
    } catch (error) {
      if (this.#response.destroyed || this.#response.closed) return;
      if (this.#answer) this.#close('destroy');
      else this.#failed(error as NodeJS.ErrnoException);
    }
  }

  /** The upstream did not answer, so that the step was not played. */
  #failed({ message, code }: NodeJS.ErrnoException): void {
    this.#giveBack();
    this.#context.unanswered += 1;
    this.#context.reason ??= code ?? message;
    this.answer(NO_ANSWER);
  }

  async #send(outgoing: ClientRequest): Promise<void> {
    const closed = once(outgoing, 'close').catch(() => {});
    for await (const chunk of this.#body()) {
      if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), closed]);
    }
    outgoing.end();
  }

  #requestFields(): Fields {
    const { headers, method = '' } = this.#request;
    const own: [string, string][] = [['Host', this.#context.upstream.host]];
    if (headers['transfer-encoding'] !== undefined) own.push(['Transfer-Encoding', 'chunked']);
    else if (headers['content-length'] === undefined && WITH_BODY.has(method)) own.push(['Content-Length', '0']);
    const passed = without(endToEnd(this.#fields), HOST);
    if (this.#step !== 'grease') return [...own, ...passed];
    return [...own, ...without(passed, CODINGS), ['Accept-Encoding', 'identity']];
  }

  #inform(status: number, rawHeaders: readonly string[]): void {
    if (status === 100) {
      this.#response.writeContinue();
      return;
    }
    const fields = endToEnd(fieldsOf(rawHeaders));
    const informed = Object.fromEntries(
      [...Map.groupBy(fields, ([name]) => name)].map(([name, same]) => [name, same.map(([, value]) => value)]),
    );
    this.#response.writeInformation(status, informed);
  }

  /** Ends the exchange with the upstream's answer, by the step. */
  async #conclude(incoming: IncomingMessage): Promise<void> {
    const { statusCode: status = 0, statusMessage = '', rawHeaders } = incoming;
    const { upstream, origin } = this.#context;
    const fields = moved(endToEnd(fieldsOf(rawHeaders)), upstream.origin, origin);
    const contentType = fieldOf(fields, 'content-type');
    if (isJson(contentType)) this.#context.jsonType = contentType;
    this.#isDone = status < 400;
    if (this.#request.method === 'POST' && status < 300) this.#recordCreate();
    const answer = { status, statusMessage, fields, chunks: this.#recorded(incoming, status) };
    if (this.#step === 'lost' || this.#step === 'unknown') await this.#withhold(answer);
    else if (this.#step === 'cut') await this.#cut(answer);
    else if (this.#step === 'grease' && this.#isGreasable(answer)) await this.#grease(answer);
    else await this.#deliver(answer);
  }

  async #deliver(answer: UpstreamAnswer): Promise<void> {
    const { fields, chunks } = answer;
    const { step } = this.#current ?? {};
    if (step?.name === 'slow') await wait(step.seconds * 1_000, undefined, { signal: this.#left }).catch(() => {});
    if (this.#response.closed) return;
    // An answer that cannot be greased consumes no step.
    if (this.#step === 'grease') this.#giveBack();
    this.#head(answer);
    for await (const chunk of chunks) await this.#write(chunk);
    // The last byte of a length is in the last chunk; without one the end is a separate write.
    if (this.#answeredAt === undefined || fieldOf(fields, 'content-length') === undefined) this.#stamp();
    this.#response.end();
  }

  #close(how: 'destroy' | 'destroySoon' | 'resetAndDestroy'): void {
    this.#stamp();
    this.#request.socket[how]();
  }

  #giveBack(): void {
    if (this.#current) this.#context.progress.giveBack(this.#current);
    this.#current = undefined;
  }

  async #withhold({ chunks }: UpstreamAnswer): Promise<void> {
    await drain(chunks);
    if (this.#step === 'unknown') this.answer(UNKNOWN);
    else this.#close('destroy');
  }

  /** Sends half of the body, or of its first chunk where its length is unknown. */
  async #cut(answer: UpstreamAnswer): Promise<void> {
    const length = fieldOf(answer.fields, 'content-length');
    let left: number | undefined;
    for await (const chunk of answer.chunks) {
      left ??= Math.floor(Number(length ?? chunk.length) / 2);
      if (left === 0) continue;
      if (!this.#answer) this.#head(answer);
      const part = chunk.subarray(0, left);
      left -= part.length;
      await this.#write(part);
    }
    this.#close('destroySoon');
  }

  #isGreasable({ status, fields }: UpstreamAnswer): boolean {
    const coding = fieldOf(fields, 'content-encoding') ?? 'identity';
    const isWhole = status >= 200 && status < 300 && status !== 206 && this.#request.method !== 'HEAD';
    return isWhole && coding === 'identity' && isJson(fieldOf(fields, 'content-type'));
  }

  async #grease(answer: UpstreamAnswer): Promise<void> {
    const { fields, chunks } = answer;
    const read: Buffer[] = [];
    let bytes = 0;
    let isWhole = false;
    while (bytes <= GREASED_BYTES_MAX && !isWhole) {
      const { value, done } = await chunks.next();
      if (value) read.push(value);
      bytes += value?.length ?? 0;
      isWhole = done === true;
    }
    const text = isWhole ? Buffer.concat(read).toString('utf8') : '';
    if (!this.#current || !holdsObject(text)) return this.#deliver({ ...answer, chunks: joined(read, chunks) });
    const seed = `${this.#context.progress.script} ${this.#current.place}`;
    const body = Buffer.from(greasedJson(text, seed));
    const own = fieldsOf([...unknownHeaders(seed), 'Content-Length', `${body.length}`]);
    this.#head({ ...answer, fields: [...forOtherBody(fields), ...own] });
    this.#stamp();
    this.#response.end(body);
  }

  async #write(chunk: Buffer): Promise<void> {
    if (this.#response.destroyed) return;
    this.#stamp();
    if (!this.#response.write(chunk)) await this.#until('drain');
  }

  /** Waits for an event of the response, but not longer than the client. */
  async #until(event: 'drain' | 'finish'): Promise<void> {
    await once(this.#response, event, { signal: this.#left }).catch(() => {});
  }

  /** The chunks of the upstream's answer. At their end the answer to a POST is recorded, as a digest. */
  #recorded(incoming: IncomingMessage, status: number): AsyncGenerator<Buffer, undefined> {
    return digested(incoming, (body) => {
      if (this.#request.method === 'POST' && status < 300) this.#recordAnswer(`${body}`);
    });
  }

  /** A POST that is repeated with its Idempotency-Key is taken for one create, whatever the upstream made of it. */
  #recordCreate(): void {
    const { created } = this.#context;
    this.#hasCreated = this.#idempotencyKey === null || !created.has(this.#place);
    created.add(this.#place);
  }

  #recordAnswer(answer: string): void {
    const { answers, remarks } = this.#context;
    if (this.#idempotencyKey === null) return;
    const sent = `${this.#place} ${this.#bodyDigest}`;
    const earlier = answers.get(sent) ?? answer;
    if (earlier !== answer) remarks.add(MADE_TWICE);
    answers.set(sent, earlier);
  }
}

interface UpstreamAnswer {
  readonly status: number;
  readonly statusMessage?: string;
  readonly fields: Fields;
  readonly chunks: AsyncGenerator<Buffer, undefined>;
}

/** The chunks of a message. At their end its digest is told, null without a body. */
async function* digested(
  message: IncomingMessage,
  tell: (digest: string | null) => void,
): AsyncGenerator<Buffer, undefined> {
  const content = createHash('sha256');
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    content.update(chunk);
    bytes += chunk.length;
    yield chunk;
  }
  tell(bytes > 0 ? content.digest('base64url').slice(0, DIGEST_CHARACTERS) : null);
  return undefined;
}

async function drain(chunks: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of chunks) {
    // The upstream does its work to the end.
  }
}

async function* joined(read: readonly Buffer[], rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  yield* read;
  yield* rest;
  return undefined;
}

/** The path of a target, which may be an absolute address (RFC 9112, section 3.2.2). */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?]*/i, '') || '/';
}
