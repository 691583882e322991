import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { DIGEST_CHARACTERS, digest, kindOf, type Note } from '../client/note.ts';
import { type StepName, stepText } from '../client/script.ts';
import type { ProxyContext } from './context.ts';
import { type MadeUp, secondsToWait } from './dialect.ts';
import type { Follower, Turn } from './follower.ts';
import { greasedJson, holdsObject, unknownHeaders } from './grease.ts';
import { credentialsOf, endToEnd, type Fields, fieldOf, fieldsOf, forOtherBody, isJson, without } from './headers.ts';
import { jsonOf, meaningOf } from './operation.ts';

const PATH_CHARACTERS_MAX = 100;
/** A longer JSON text is passed on as it is. */
const GREASED_BYTES_MAX = 4 * 1024 * 1024;
/** Longer bodies are compared and passed on without a look into them. */
const INSPECTED_BYTES_MAX = 1024 * 1024;
/** Methods whose requests have a body unless their length says otherwise. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY']);
const CODINGS = /^accept-encoding$/i;
const HOST = /^host$/i;
const LENGTH = /^content-length$/i;
const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  deflate: inflateSync,
};

/** One caller: the script that it follows, and its requests. */
export interface Caller {
  readonly follower: Follower;
  readonly notes: Note[];
}

interface Answer {
  readonly status: number;
  readonly statusMessage?: string;
  readonly fields: Fields;
  readonly incoming: IncomingMessage;
}

/** One request, its step, and how it ended. */
export class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #context: ProxyContext;
  readonly #connection: ReturnType<ProxyContext['connection']>;
  readonly #fields: Fields;
  readonly #at: number;
  /** Aborted when the client has left, or has its answer. */
  readonly #left: AbortSignal;
  /** A digest of the credentials; the same for one caller. */
  readonly credentials: string;
  #turn: Turn | undefined;
  /** The beginning of the body; undefined where it is longer than may be looked at. */
  #sent: Buffer | undefined = Buffer.alloc(0);
  #bodyDigest: string | null = null;
  #operation: string | undefined;
  /** The whole body, if it was read before the step was known. */
  #ahead: readonly Buffer[] | undefined;
  #answer: { status: number; fields: Fields; retryAfter: number | null } | undefined;
  #answeredAt: number | undefined;
  #isDelivered = false;
  #isDone = false;
  #hasJson = false;
  #hasReset = false;

  constructor(request: IncomingMessage, response: ServerResponse, context: ProxyContext) {
    this.#request = request;
    this.#response = response;
    this.#context = context;
    this.#connection = context.connection(request.socket);
    this.#at = context.clock.steadyMs();
    this.#fields = fieldsOf(request.rawHeaders);
    this.credentials = credentialsOf(request.rawHeaders);
    request.on('error', () => {});
    response.on('error', () => {});
    const leaving = new AbortController();
    this.#left = leaving.signal;
    response.once('close', () => leaving.abort());
  }

  get #path(): string {
    return pathOf(this.#request.url ?? '').replace(/\?.*$/s, '');
  }

  get #method(): string {
    return this.#request.method ?? '';
  }

  note(): Note {
    const key = this.#idempotencyKey();
    return {
      at: this.#at,
      answeredAt: this.#answeredAt ?? this.#context.clock.steadyMs(),
      method: this.#method,
      path: this.#path.slice(0, PATH_CHARACTERS_MAX),
      kind: kindOf(this.#method, this.#path, this.#operation),
      call: digest(`${this.#method} ${pathOf(this.#request.url ?? '')} ${this.#bodyDigest}`),
      body: this.#bodyDigest,
      idempotencyKey: key === undefined ? null : digest(key.replace(/^"(.*)"$/, '$1')),
      isConditional: fieldOf(this.#fields, 'if-match') !== undefined,
      credentials: this.credentials,
      connection: this.#connection.number,
      connectedAt: this.#connection.openedAt,
      step: this.#turn?.isSpent ? stepText(this.#turn.step) : null,
      isEarly: this.#turn?.isEarly ?? false,
      status: this.#answer?.status ?? null,
      retryAfter: this.#answer?.retryAfter ?? null,
      isDelivered: this.#isDelivered && !this.#request.socket.errored,
      isDone: this.#isDone,
      hasJson: this.#hasJson,
      hasReset: this.#hasReset,
    };
  }

  /** Passes request and answer on, without a step. */
  async pass(): Promise<void> {
    await this.#forward();
    await this.#ended();
  }

  /** Plays the next step of a script. */
  async play(follower: Follower): Promise<void> {
    const { upstream, dialect } = this.#context;
    const [method, path] = [this.#method, this.#path];
    const ownPath = path.startsWith(upstream.path) ? path.slice(upstream.path.length) : path;
    if (follower.isByOperation) await this.#readAhead();
    // It would spend a step.
    if (await this.#hasLeft()) return this.#close('destroy');
    const operation = this.#operation;
    this.#turn = follower.take({ method, path, ownPath, operation, credentials: this.credentials });
    const made = this.#turn && this.#step !== 'unknown' ? dialect.answerOf(this.#turn) : undefined;
    if (made || this.#step === 'reset') await this.#readBody();
    if (made) await this.answer(made);
    else if (this.#step === 'reset') this.#close('resetAndDestroy');
    else await this.#forward(follower);
    await this.#ended();
  }

  get #step(): StepName | undefined {
    return this.#turn?.step.name;
  }

  /** Sends an answer that is there as a whole, unless the client has left. */
  async answer({ status, fields, body }: MadeUp): Promise<void> {
    if (await this.#hasLeft()) return this.#close('destroy');
    this.#head({ status, fields });
    this.#stamp();
    this.#response.end(body);
  }

  /** The Idempotency-Key: the first header, or member of a JSON body, that is named so. */
  #idempotencyKey(): string | undefined {
    for (const name of this.#context.idempotency) {
      const value = name.startsWith('$.') ? this.#member(name.slice(2)) : fieldOf(this.#fields, name.toLowerCase());
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #member(path: string): string | undefined {
    let value = this.#sent && jsonOf(this.#sent);
    for (const name of path.split('.')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name];
    return value === undefined || value === null ? undefined : String(value);
  }

  /**
   * Takes the moment as the end of the answer. Called before its last bytes are written: the client may have them, and
   * its clock run, before this process runs again.
   */
  #stamp(): void {
    const { clock } = this.#context;
    this.#answeredAt = clock.steadyMs();
    if (this.#answer) this.#answer.retryAfter = secondsToWait(this.#answer.status, this.#answer.fields, clock);
  }

  /** True if the client has left. On a busy machine its end is still unread when an answer is ready. */
  async #hasLeft(): Promise<boolean> {
    // What is to be read is read between two turns.
    for (let turns = 0; turns < 2; turns += 1) await turn();
    return this.#request.socket.readableEnded || this.#left.aborted;
  }

  #head({ status, statusMessage, fields }: Omit<Answer, 'incoming'>): void {
    this.#answer = { status, fields, retryAfter: null };
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

  /** Reads a body that may name an operation. */
  async #readAhead(): Promise<void> {
    if (isJson(fieldOf(this.#fields, 'content-type'))) {
      if (this.#request.headers.expect !== undefined) this.#response.writeContinue();
      this.#ahead = await Array.fromAsync(this.#body()).catch(() => undefined);
    } else this.#operation = meaningOf(this.#fields, undefined).operation;
  }

  /** The chunks of the body; its digest and its operation are kept. */
  async *#body(): AsyncGenerator<Buffer, void> {
    if (this.#ahead) return yield* this.#ahead;
    const content = createHash('sha256');
    let bytes = 0;
    for await (const chunk of this.#request as AsyncIterable<Buffer>) {
      content.update(chunk);
      bytes += chunk.length;
      this.#sent = this.#sent && bytes <= INSPECTED_BYTES_MAX ? Buffer.concat([this.#sent, chunk]) : undefined;
      yield chunk;
    }
    const meaning = meaningOf(this.#fields, this.#sent);
    this.#operation = meaning.operation;
    const whole = content.digest('base64url').slice(0, DIGEST_CHARACTERS);
    const changing = this.#changingPart();
    const text = meaning.content ?? (changing && this.#sent?.toString('latin1').replaceAll(changing, ''));
    this.#bodyDigest = bytes === 0 ? '' : text === undefined ? whole : digest(text);
  }

  /** The part of a body that may differ between tries of one call: the boundary of a form, or a key in the body. */
  #changingPart(): string | undefined {
    const { 'content-type': type = '' } = this.#request.headers;
    const names = this.#context.idempotency.filter((name) => name.startsWith('$.'));
    const keys = names.flatMap((name) => this.#member(name.slice(2)) ?? []);
    return /^multipart\/.*;\s*boundary="?([^";]+)/i.exec(type)?.[1] ?? keys[0];
  }

  async #forward(follower?: Follower): Promise<void> {
    const { upstream, closing } = this.#context;
    const outgoing = upstream.request(this.#method, pathOf(this.#request.url ?? ''), this.#requestFields().flat());
    const leave = () => outgoing.destroy();
    this.#left.addEventListener('abort', leave);
    closing.addEventListener('abort', leave);
    outgoing.once('close', () => closing.removeEventListener('abort', leave));
    // `response` or the chunks of the answer fail too.
    outgoing.on('error', () => {});
    outgoing.on('information', ({ statusCode, rawHeaders }) => this.#inform(statusCode, rawHeaders));
    const response = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    try {
      // The upstream may answer before it has the whole body.
      this.#send(outgoing).catch(() => {});
      const [incoming] = await response;
      // The upstream is read to its end behind an answer that is lost or cut.
      if (this.#step === 'lost' || this.#step === 'cut') this.#left.removeEventListener('abort', leave);
      await this.#conclude(incoming, follower);
    } catch (error) {
      if (this.#response.destroyed || this.#response.closed) return;
      if (this.#answer) this.#close('destroy');
      else await this.#failed(error as NodeJS.ErrnoException, follower);
    }
  }

  /** The upstream did not answer, so that the step was not played. */
  async #failed({ message, code }: NodeJS.ErrnoException, follower: Follower | undefined): Promise<void> {
    this.#giveBack(follower);
    this.#context.unanswered += 1;
    this.#context.reason ??= code ?? message;
    await this.answer(
      this.#context.dialect.ownAnswer({ status: 502, code: 'bad_gateway', message: 'The upstream did not answer' }),
    );
  }

  async #send(outgoing: ClientRequest): Promise<void> {
    const closed = once(outgoing, 'close').catch(() => {});
    for await (const chunk of this.#body()) {
      if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), closed]);
    }
    const trailers = fieldsOf(this.#request.rawTrailers);
    if (trailers.length > 0) outgoing.addTrailers(Object.fromEntries(trailers));
    outgoing.end();
  }

  #requestFields(): Fields {
    const { headers } = this.#request;
    const { upstream, headers: given } = this.#context;
    const own: [string, string][] = [['Host', upstream.host]];
    if (headers['transfer-encoding'] !== undefined) own.push(['Transfer-Encoding', 'chunked']);
    else if (headers['content-length'] === undefined && WITH_BODY.has(this.#method)) own.push(['Content-Length', '0']);
    const names = given.map(([name]) => name.toLowerCase());
    const passed = without(endToEnd(this.#fields), HOST).filter(([name]) => !names.includes(name.toLowerCase()));
    if (this.#step !== 'grease') return [...own, ...given, ...passed];
    return [...own, ...given, ...without(passed, CODINGS), ['Accept-Encoding', 'identity']];
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
  async #conclude(incoming: IncomingMessage, follower: Follower | undefined): Promise<void> {
    const { statusCode: status = 0, statusMessage = '', rawHeaders } = incoming;
    const { dialect, mover } = this.#context;
    const fields = mover.fields(endToEnd(fieldsOf(rawHeaders)));
    const contentType = fieldOf(fields, 'content-type');
    dialect.learn(fields, isJson(contentType) ? contentType : undefined);
    this.#isDone = status < 400;
    this.#hasJson = status < 300 && this.#method !== 'HEAD' && isJson(contentType);
    this.#hasReset = fields.some(([name]) => /rate-?limit-reset$/i.test(name));
    const answer = { status, statusMessage, fields, incoming };
    const made = this.#step === 'unknown' && this.#turn ? dialect.answerOf(this.#turn) : undefined;
    if (made) {
      await this.answer(made);
      await drain(incoming);
    } else if (this.#step === 'lost') this.#lose(incoming);
    else if (this.#step === 'cut') await this.#cut(answer);
    else if (this.#step === 'stall') await this.#stall(answer);
    else if (this.#step === 'grease' && this.#isGreasable(answer)) await this.#grease(answer, follower);
    else {
      // An answer that cannot be greased spends no step.
      if (this.#step === 'grease') this.#giveBack(follower);
      await this.#deliver(answer);
    }
  }

  async #deliver(answer: Answer): Promise<void> {
    const { step } = this.#turn ?? {};
    if (step?.name === 'slow') await wait(step.value * 1_000, undefined, { signal: this.#left }).catch(() => {});
    if (await this.#hasLeft()) return this.#close('destroy');
    const { incoming, fields } = answer;
    const length = Number(fieldOf(fields, 'content-length') ?? Number.NaN);
    const hasBody = this.#method !== 'HEAD' && answer.status !== 304;
    const isText = hasBody && isJson(fieldOf(fields, 'content-type'));
    if (isText && length <= INSPECTED_BYTES_MAX) return this.#deliverJson(answer);
    const isMoved = isText && Number.isNaN(length) && fieldOf(fields, 'content-encoding') === undefined;
    const chunks = incoming as AsyncIterable<Buffer>;
    this.#head(answer);
    this.#response.flushHeaders();
    for await (const chunk of isMoved ? this.#context.mover.stream(chunks) : chunks) await this.#write(chunk);
    const trailers = fieldsOf(incoming.rawTrailers);
    if (trailers.length > 0) this.#response.addTrailers(Object.fromEntries(trailers));
    // The last byte of a length is in the last chunk; without one the end is a separate write.
    if (this.#answeredAt === undefined || Number.isNaN(length)) this.#stamp();
    this.#response.end();
  }

  /** Delivers a JSON body of a known length, with the upstream's addresses moved. */
  async #deliverJson({ incoming, fields, ...answer }: Answer): Promise<void> {
    const read = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
    const { mover } = this.#context;
    const coding = (fieldOf(fields, 'content-encoding') ?? 'identity').toLowerCase();
    if (coding !== 'identity') this.#countUnmoved(read, coding);
    const body = coding === 'identity' && mover.isIn(`${read}`) ? Buffer.from(mover.text(`${read}`)) : read;
    const length: Fields = [['Content-Length', `${body.length}`]];
    const own = body === read ? fields : [...without(fields, LENGTH), ...length];
    await this.answer({ ...answer, fields: own, body });
  }

  #countUnmoved(body: Buffer, coding: string): void {
    try {
      if (this.#context.mover.isIn(`${DECODERS[coding]?.(body) ?? ''}`)) this.#context.unmoved += 1;
    } catch {
      // A body that cannot be decoded is the client's to judge.
    }
  }

  #close(how: 'destroy' | 'destroySoon' | 'resetAndDestroy'): void {
    this.#stamp();
    this.#request.socket[how]();
  }

  #giveBack(follower: Follower | undefined): void {
    if (this.#turn) follower?.giveBack(this.#turn);
    this.#turn = undefined;
  }

  /** Closes the connection without an answer, and reads the upstream to its end. */
  #lose(incoming: IncomingMessage): void {
    this.#close('destroy');
    drain(incoming).catch(() => {});
  }

  /** Sends half of the first piece of a body, as soon as it is there. */
  async #cut(answer: Answer): Promise<void> {
    const chunks = answer.incoming[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
    const { value } = await chunks.next();
    const half = (value ?? Buffer.alloc(0)).subarray(0, Math.floor((value?.length ?? 0) / 2));
    if (half.length > 0) {
      this.#head(answer);
      // A piece may wait in the message until the next turn.
      await new Promise((resolve) => this.#response.write(half, resolve));
    }
    this.#close('destroySoon');
    drain(chunks).catch(() => {});
  }

  /** Sends the head, and nothing more until the client leaves. */
  async #stall(answer: Answer): Promise<void> {
    this.#head(answer);
    if (this.#method !== 'HEAD' && fieldOf(answer.fields, 'content-length') !== '0') this.#response.flushHeaders();
    if (!this.#left.aborted) await once(this.#left, 'abort');
    this.#stamp();
  }

  #isGreasable({ status, fields }: Answer): boolean {
    const coding = fieldOf(fields, 'content-encoding') ?? 'identity';
    const isWhole = status >= 200 && status < 300 && status !== 206 && this.#method !== 'HEAD';
    return isWhole && coding === 'identity' && isJson(fieldOf(fields, 'content-type'));
  }

  async #grease(answer: Answer, follower: Follower | undefined): Promise<void> {
    const { fields, incoming } = answer;
    const read = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
    const text = read.toString('utf8');
    if (!this.#turn || read.length > GREASED_BYTES_MAX || !holdsObject(text)) {
      this.#giveBack(follower);
      return this.answer({ ...answer, body: read });
    }
    const seed = `${this.#context.seed} ${follower?.script} ${this.#turn.place}`;
    const body = Buffer.from(greasedJson(this.#context.mover.text(text), seed));
    const own = fieldsOf([...unknownHeaders(seed), 'Content-Length', `${body.length}`]);
    await this.answer({ ...answer, fields: [...forOtherBody(fields), ...own], body });
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
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks) {
    // The upstream does its work to the end.
  }
}

/** The path and query of a target, which may be an absolute address (RFC 9112, section 3.2.2). */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?]*/i, '') || '/';
}
