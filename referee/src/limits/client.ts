import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';

/** A larger body ends the connection, as does one that never ends. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
/** Kept of a body, for reports. */
const BYTES_SHOWN = 2_048;
const CONNECTIONS_MAX = 16;

/** A server of HTTP/2 alone then ends the handshake. */
const TLS = { ALPNProtocols: ['http/1.1'] };

type Failure = NodeJS.ErrnoException & { readonly isReused?: true };

export interface Sending {
  readonly timeoutMs: number;
  /** On a new connection, while no other is idle: a server may serve one connection at a time. */
  readonly isAlone?: boolean;
}

/** Sends requests to a base address as they are, without redirects; repeats only on a connection that had ended. */
export class Client implements Disposable {
  readonly #base: URL;
  readonly #prefix: string;
  readonly #isTls: boolean;
  /** Requests that follow each other share a connection, so that one instance answers them. */
  readonly #agent: HttpAgent;

  constructor(base: URL) {
    this.#base = base;
    this.#prefix = base.pathname.replace(/\/$/, '');
    this.#isTls = base.protocol === 'https:';
    this.#agent = new (this.#isTls ? HttpsAgent : HttpAgent)({ ...TLS, keepAlive: true, maxSockets: CONNECTIONS_MAX });
  }

  /** Sends a request. Rejects with `NoAnswer` if none comes in time. */
  async send(sent: Sent, sending: Sending): Promise<Answer> {
    const { timeoutMs, isAlone = false } = sending;
    if (isAlone) this.#closeIdle();
    const isLate = AbortSignal.timeout(Math.ceil(timeoutMs));
    try {
      return await this.#send(sent, isAlone ? false : this.#agent, isLate);
    } catch (error) {
      const { code, message, isReused } = error as Failure;
      const seconds = Math.ceil(timeoutMs / 1000);
      if (isLate.aborted) throw new NoAnswer(sent, `no answer: none came within ${seconds} s`, 'LATE');
      if (error instanceof NoAnswer) throw error;
      // The server may have ended an idle connection just when the request was sent.
      if (isReused) return this.send(sent, { ...sending, isAlone: true });
      throw new NoAnswer(sent, `no answer: ${message || code}`, code ?? '');
    }
  }

  addressOf(path: string): string {
    return `${this.#base.origin}${this.#prefix}${path}`;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  #send(sent: Sent, agent: HttpAgent | false, signal: AbortSignal): Promise<Answer> {
    const { method, path, body } = sent;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const send = this.#isTls ? httpsRequest : httpRequest;
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const headers = { ...sent.headers, ...(bytes && { 'content-length': bytes.length }) };
    const options = { method, path: `${this.#prefix}${path}` || '/', headers, agent, signal, ...TLS };
    const request = send(this.#base.origin, options, (response) => {
      const early = () => new NoAnswer(sent, 'the body ends early', 'EARLY');
      readAnswer(response).then(resolve, (error) => reject(response.complete ? error : early()));
    });
    request.on('error', (error) => reject(Object.assign(error, request.reusedSocket && { isReused: true })));
    request.end(bytes);
    return promise;
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headersDistinct } = response;
  const headers = new Map(Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]));
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes < BYTES_SHOWN) chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > BODY_BYTES_MAX) break;
  }
  return { status, headers, body: Buffer.concat(chunks).subarray(0, BYTES_SHOWN).toString() };
}
