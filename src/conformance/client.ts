import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Answer, type Exchange, NoAnswer, type Sent } from './exchange.ts';

const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
const RAW_BYTES_MAX = 1024 * 1024;

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
    this.#agent = new (this.#isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
  }

  /** Sends a request. Rejects with `NoAnswer` if none comes in time. */
  async send(sent: Sent, timeoutMs: number): Promise<Exchange> {
    const isLate = AbortSignal.timeout(timeoutMs);
    try {
      return { sent, answer: await this.#send(sent, this.#agent, isLate) };
    } catch (error) {
      // The server may have ended an idle connection just when the request was sent.
      if (isLate.aborted || !(error as { isReused?: true }).isReused) throw this.#failure(sent, error);
    }
    return this.sendAlone(sent, timeoutMs);
  }

  /** Sends a request on a connection of its own. Rejects with `NoAnswer`. */
  async sendAlone(sent: Sent, timeoutMs: number): Promise<Exchange> {
    try {
      return { sent, answer: await this.#send(sent, false, AbortSignal.timeout(timeoutMs)) };
    } catch (error) {
      throw this.#failure(sent, error);
    }
  }

  /** Writes bytes to a connection of their own, and returns the statuses of all answers until it ends. */
  sendRaw(text: string, timeoutMs: number): Promise<number[]> {
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    const { hostname, port } = this.#base;
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = this.#isTls
      ? connectTls({ host, port: Number(port || 443), ...(!isIP(host) && { servername: host }) })
      : connect({ host, port: Number(port || 80) });
    let received = '';
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
      if (received.length > RAW_BYTES_MAX) socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (received === '') reject(error);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve([...received.matchAll(/HTTP\/1\.[01] (\d{3})[ \r]/g)].map(([, status]) => Number(status)));
    });
    socket.write(text, 'latin1');
    return promise;
  }

  /** The path of an operation on the server. */
  pathOf(path: string): string {
    return `${this.#prefix}${path}`;
  }

  /** The whole address of a path. */
  addressOf(path: string): string {
    return `${this.#base.origin}${this.pathOf(path)}`;
  }

  /** For a `Host` header. */
  get host(): string {
    return this.#base.host;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send({ method, path, headers, body }: Sent, agent: HttpAgent | false, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const send = this.#isTls ? httpsRequest : httpRequest;
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const request = send(
      this.#base.origin,
      {
        method,
        path: this.pathOf(path),
        headers: { ...headers, ...(bytes && { 'content-length': bytes.length }) },
        agent,
        signal,
      },
      (response) => readAnswer(response).then(resolve, reject),
    );
    request.on('error', (error) => reject(Object.assign(error, request.reusedSocket && { isReused: true })));
    request.end(bytes);
    return promise;
  }

  #failure(sent: Sent, error: unknown): NoAnswer {
    const { code, message } = error as NodeJS.ErrnoException;
    return new NoAnswer(sent, code === 'ABORT_ERR' ? 'the time for it is over' : message || `${code}`);
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  const headers = new Map<string, string>();
  const { rawHeaders } = response;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    const value = rawHeaders[i + 1] ?? '';
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks).toString() };
}
