import type { IncomingMessage } from 'node:http';
import type { ApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { AppOptions } from '../../http/app.ts';
import { errorAnswer, refusal } from '../../http/errors.ts';
import type { Operation } from '../../http/operations/operation.ts';
import type { Answer, Exchange, Serve } from '../../http/transport/exchange.ts';
import { BODY_BYTES_MAX, readBytes } from '../../http/transport/request.ts';
import type { Decision } from '../../limits/limiter.ts';
import { later } from '../../limits/window.ts';
import type { Time } from '../../stdx/time.ts';
import { interceptAnswers } from '../intercepted-answers.ts';
import type { TurnedTime } from '../turned-time.ts';
import { digest, notedKey } from '../verdict/note.ts';
import { greased, holdsObject, textOf } from './grease.ts';
import { type CurrentStep, type Held, machineMs, notedStep, secondsOf } from './progress.ts';
import type { ScriptedKey, ScriptedKeys } from './scripted-key.ts';

/** A request whose key exists nowhere: the real authenticator refuses it as it refuses every unknown key. */
const UNKNOWN_KEY = { headers: { authorization: 'Bearer unknown' } } as IncomingMessage;

/**
 * Wraps the making of an app so that requests with a scripted key meet their steps. Its gates get an authenticator, a
 * limiter and operations that know the script; the app itself knows nothing of it.
 */
export function withScripts(
  createApp: (options: AppOptions) => Serve,
  { keys, time }: { keys: ScriptedKeys; time: TurnedTime },
): (options: AppOptions) => Serve {
  return (options) => {
    const { authenticator } = options;
    const exchanges = new WeakMap<IncomingMessage, Exchange>();
    const scripts = new WeakMap<Exchange, ScriptedRequest>();
    const isFree = freeRoutes(options.operations);

    const serve = createApp({
      ...options,
      authenticator: {
        async authenticate(request) {
          const at = machineMs(time);
          const found = await authenticator.authenticate(request);
          const exchange = exchanges.get(request);
          const key = found.key && (await keys.find(found.key.id));
          if (!exchange || !found.key || !key) return found;
          const scripted = new ScriptedRequest(exchange, { key, at, time });
          scripts.set(exchange, scripted);
          if (scripted.isRevoked({ isFree: isFree(exchange) })) return authenticator.authenticate(UNKNOWN_KEY);
          return { key: { ...found.key, scripted } };
        },
      },
      limiter: scriptedLimiter(options.limiter, time),
      operations: options.operations.map((operation) => ({
        ...operation,
        handle: (catalog, exchange) => {
          const work = () => operation.handle(catalog, exchange);
          return scriptOf(exchange.key)?.carryOut(work) ?? work();
        },
      })),
    });
    return async (exchange) => {
      exchanges.set(exchange.request, exchange);
      let concluding: Promise<void> | undefined;
      interceptAnswers(exchange, (answer, send) => {
        const scripted = scripts.get(exchange);
        if (!scripted) return send(answer);
        concluding ??= scripted.conclude(answer, send);
      });
      await serve(exchange);
      await concluding;
    };
  };
}

/** True if a request is for an operation that spends no step. */
function freeRoutes(operations: readonly Operation[]): (exchange: Exchange) => boolean {
  const free = operations.filter(({ free: isFree }) => isFree).map(({ method, path }) => `${method} /v1${path}`);
  return ({ request, route }) => free.includes(`${request.method === 'HEAD' ? 'GET' : request.method} ${route}`);
}

/** The request of a key that follows a script: each request gets a copy of the key, which has it. */
function scriptOf(key: ApiKey & { readonly scripted?: ScriptedRequest }): ScriptedRequest | undefined {
  return key.scripted;
}

/** A limiter that refuses what a script refuses, by the arithmetic of the real one. */
function scriptedLimiter(limiter: AppOptions['limiter'], time: Time): AppOptions['limiter'] {
  /** Decisions made by a script; they are not restated. */
  const made = new WeakSet<Decision>();
  const peek = async (key: ApiKey) => {
    const known = await limiter.peek(key);
    const held = scriptOf(key)?.held();
    if (!held) return known;
    const decision = refused(known, held, time);
    made.add(decision);
    return decision;
  };
  return {
    async charge(key) {
      const request = scriptOf(key);
      request?.begin();
      if (!request?.held() && !request?.isReset) return limiter.charge(key);
      return peek(key);
    },
    peek,
    current: (key, decision) => (made.has(decision) ? decision : limiter.current(key, decision)),
  };
}

/** The refusal by windows in the state that the step pretends. */
function refused(known: Decision, { step, seconds }: Held, time: Time): Decision {
  const moment = time.now();
  const until = moment.unix + seconds;
  const spent = { remaining: 0, reset: until };
  if (step.name === 'limit' || step.name === 'limit-date') {
    return later({ ...known, minute: { ...known.minute, ...spent } }, moment);
  }
  if (step.name === 'ban') return later({ ...known, ban: { until, reason: 'banned by its script' } }, moment);
  const day = { ...known.day, remaining: 0 };
  // A real day ends at midnight; here the script decides.
  return { ...later({ ...known, day }, moment), reset: until, day: { ...day, ...spent } };
}

interface ScriptedRequestOptions {
  readonly key: ScriptedKey;
  /** When it came, by the machine's time. */
  readonly at: number;
  readonly time: TurnedTime;
}

/** One request with a scripted key: what it meets, what was done, and how it ends. */
class ScriptedRequest {
  readonly #exchange: Exchange;
  readonly #options: ScriptedRequestOptions;
  readonly #number: number;
  readonly #turnedBy: number;
  #current: CurrentStep | undefined;
  #isDone = false;
  #hasCreated = false;

  constructor(exchange: Exchange, options: ScriptedRequestOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#number = options.key.nextNumber();
    this.#turnedBy = options.time.turnedBy;
  }

  get #step(): string | undefined {
    return this.#current?.step.name;
  }

  /** True if the connection is reset before anything is done. */
  get isReset(): boolean {
    return this.#step === 'reset';
  }

  /** True if the key is revoked, by this request unless it spends no step. */
  isRevoked({ isFree }: { isFree: boolean }): boolean {
    const current = this.#options.key.progress.look();
    if (current?.step.name !== 'revoked' || (isFree && current.isConsumed)) return false;
    this.begin();
    return true;
  }

  /** Spends a step. Call once, before anything is done. */
  begin(): void {
    this.#current = this.#options.key.progress.take();
  }

  /** The limit, quota or ban in force for this request. */
  held(): Held | undefined {
    return this.#options.key.progress.held();
  }

  /** Carries the operation out, unless the step is that nothing is done. */
  async carryOut(handle: () => Answer | Promise<Answer>): Promise<Answer> {
    if (this.isReset || this.#step === 'unavailable' || this.#step === 'error') return this.#madeUp({ status: 503 });
    const answer = await handle();
    this.#isDone = true;
    this.#hasCreated = answer.status === 201 && !answer.headers?.includes('Idempotency-Replayed');
    return answer;
  }

  /** Ends the request by its step: with the answer, with another one, or without any. The note is stored before. */
  async conclude(given: Answer, send: (answer: Answer) => void): Promise<void> {
    const { request } = this.#exchange;
    const answer = this.#madeUp(given);
    const body = await this.#readBody();
    if (this.#current && this.#step === 'slow') await this.#waitOut(this.#current.step.seconds);
    // Without a body there is nothing to cut.
    const cut = this.#step === 'cut' && request.method !== 'HEAD' ? truncated(answer) : undefined;
    const isLost = this.isReset || this.#step === 'lost' || (this.#step === 'cut' && !cut);
    const isDelivered = !isLost && !cut && !this.#hasLeft;
    try {
      await this.#save(isLost ? undefined : answer, { body, isDelivered });
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      return send(errorAnswer(error));
    }
    if (this.isReset && !('encrypted' in request.socket)) request.socket.resetAndDestroy();
    else if (isLost) request.socket.destroy();
    else send(cut ?? answer);
    if (cut) request.socket.destroySoon();
  }

  /** True if the client closed the connection. While it waits for a slow answer, its half is enough. */
  get #hasLeft(): boolean {
    const { socket } = this.#exchange.request;
    return socket.destroyed || (this.#step === 'slow' && socket.readableEnded);
  }

  #madeUp(answer: Answer): Answer {
    if (this.#step === 'unavailable') {
      const seconds = `${this.#current?.step.seconds}`;
      return refusal('unavailable', `The service cannot do this now; retry in ${seconds} s`, ['Retry-After', seconds]);
    }
    if (this.#step === 'error') return errorAnswer(new Error('rehearsed'));
    if (this.#step === 'unknown') {
      const message = 'It is not known whether this was stored; retry with the same Idempotency-Key, or look first';
      return errorAnswer(new CatalogError('outcome_unknown', message));
    }
    if (this.#step === 'grease') return this.#greased(answer);
    const held = this.#step === 'limit-date' ? this.held() : undefined;
    return held && answer.status === 429 ? withRetryAfter(answer, held.retryAfter) : answer;
  }

  /** The greased answer; one that has no object spends no step. */
  #greased(answer: Answer): Answer {
    const { progress } = this.#options.key;
    if (!this.#current) return answer;
    if (answer.body !== undefined && holdsObject(textOf(answer.body))) {
      return greased(answer, `${progress.script} ${this.#current.place}`);
    }
    progress.giveBack(this.#current);
    this.#current = undefined;
    return answer;
  }

  /** The body, also if the answer needed none of it: it decides whether two requests are the same. */
  async #readBody(): Promise<Buffer> {
    const { request, bodyBytes, awaitsContinue } = this.#exchange;
    const isUnread = bodyBytes.length === 0 && request.readableFlowing === null && !request.readableEnded;
    if (!isUnread || awaitsContinue || Number(request.headers['content-length']) > BODY_BYTES_MAX) return bodyBytes;
    return readBytes(this.#exchange, BODY_BYTES_MAX).catch(() => bodyBytes);
  }

  /** Waits, but not longer than the client. */
  #waitOut(seconds: number): Promise<void> {
    const { socket } = this.#exchange.request;
    return new Promise((resolve) => {
      const timer = this.#options.time.setTimeout(resolve, seconds * 1_000);
      const leave = () => {
        timer[Symbol.dispose]();
        resolve();
      };
      this.#exchange.onClose(leave);
      socket.once('end', leave);
    });
  }

  #save(answer: Answer | undefined, { body, isDelivered }: { body: Buffer; isDelivered: boolean }): Promise<void> {
    const { request, path, query, route } = this.#exchange;
    const { key, at, time } = this.#options;
    const idempotencyKey = request.headers['idempotency-key'];
    return key.save(this.#number, {
      at,
      answeredAt: machineMs(time),
      turnedBy: this.#turnedBy,
      method: request.method ?? '',
      route,
      target: digest(`${path}?${query}`),
      body: body.length === 0 ? null : digest(body),
      idempotencyKey: notedKey(idempotencyKey?.toString()),
      credentials: null,
      ...notedStep(this.#current),
      status: answer?.status ?? null,
      retryAfter: secondsOf(retryAfterOf(answer), time),
      isDelivered,
      isDone: this.#isDone,
      hasCreated: this.#hasCreated,
    });
  }
}

/** The answer with the length of all its body, and half of the body; undefined if there is too little to cut. */
function truncated(answer: Answer): Answer | undefined {
  const { body = '' } = answer;
  const bytes = typeof body === 'string' ? Buffer.from(body) : Buffer.concat(body);
  if (bytes.length < 2) return undefined;
  const parts = [bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)];
  // Its length counts both parts; only the first is written.
  const cut = Object.assign(parts, { [Symbol.iterator]: () => parts.slice(0, 1).values() });
  return { ...answer, body: cut };
}

function withRetryAfter(answer: Answer, value: string): Answer {
  const { headers = [] } = answer;
  return { ...answer, headers: headers.with(headers.indexOf('Retry-After') + 1, value) };
}

function retryAfterOf({ headers = [] }: Partial<Answer> = {}): string | undefined {
  const index = headers.indexOf('Retry-After');
  return index < 0 ? undefined : headers[index + 1];
}
