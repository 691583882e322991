import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { pipeline, type Transform } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { createBrotliDecompress, createInflate, createUnzip, createZstdDecompress } from 'node:zlib';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';
import { ListReader } from './list-reader.ts';

const BODY_BYTES_MAX = 8 * 1024 * 1024;
const LIST_BYTES_MAX = 256 * 1024 * 1024;
/** What is kept of a list, and of a body that is too large. */
const BYTES_SHOWN = 64 * 1024;
const RAW_BYTES_MAX = 1024 * 1024;
const CONNECTIONS_MAX = 16;
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

const ONLY_HTTP2 = 'it speaks HTTP/2 only';
/** The type of the frame with which a server begins (RFC 9113, section 3.4). */
const SETTINGS = 4;

type Failure = NodeJS.ErrnoException & { readonly isReused?: true; readonly rawPacket?: Buffer };

export interface Sending {
  readonly timeoutMs: number;
  /** On a new connection, while no other is idle: a server may serve one connection at a time. */
  readonly isAlone?: boolean;
  /** Tells the names of this run, if the answer is the list of categories. */
  readonly isOwn?: ((name: string) => boolean) | undefined;
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
    this.#agent = new (this.#isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  }

  /** Sends a request. Rejects with `NoAnswer` if none comes in time. */
  async send(sent: Sent, sending: Sending): Promise<Answer> {
    const { timeoutMs, isAlone = false } = sending;
    if (isAlone) this.closeIdle();
    const isLate = AbortSignal.timeout(Math.ceil(timeoutMs));
    try {
      return await this.#send(sent, { ...sending, agent: isAlone ? false : this.#agent, signal: isLate });
    } catch (error) {
      const { code, message, isReused, rawPacket } = error as Failure;
      const seconds = Math.ceil(timeoutMs / 1000);
      if (isLate.aborted) throw new NoAnswer(sent, `no answer: none came within ${seconds} s`, 'LATE');
      if (error instanceof NoAnswer) throw error;
      // The server may have ended an idle connection just when the request was sent.
      if (isReused) return this.send(sent, { ...sending, isAlone: true });
      if (rawPacket && isHttp2(rawPacket)) throw new NoAnswer(sent, ONLY_HTTP2, 'HTTP2');
      throw new NoAnswer(sent, `no answer: ${message || code}`, code ?? '');
    }
  }

  /** Closes the connections that wait for a request. */
  closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Writes bytes to a connection of their own, and returns the statuses of all answers until it ends. */
  sendRaw(text: string, timeoutMs: number): Promise<number[]> {
    this.closeIdle();
    const { promise, resolve, reject } = Promise.withResolvers<number[]>();
    const { host, port } = this.#address;
    const socket = this.#isTls
      ? connectTls({ host, port, ...(!isIP(host) && { servername: host }) })
      : connect({ host, port });
    let received = '';
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
      if (received.length > RAW_BYTES_MAX) socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const sent = { method: 'GET', path: '/categories', headers: {}, body: undefined };
      if (received === '') reject(new NoAnswer(sent, `no answer: ${error.message || error.code}`, error.code ?? ''));
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve([...received.matchAll(/HTTP\/1\.[01] (\d{3})[ \r]/g)].map(([, status]) => Number(status)));
    });
    socket.write(text, 'latin1');
    return promise;
  }

  /** True if the server takes HTTP/2 alone in the handshake of TLS. */
  async speaksOnlyHttp2(timeoutMs: number): Promise<boolean> {
    const chosen = (protocol: string) => {
      const { promise, resolve } = Promise.withResolvers<string | false | null>();
      const { host, port } = this.#address;
      const options = { host, port, ALPNProtocols: [protocol], ...(!isIP(host) && { servername: host }) };
      const socket = connectTls(options, () => resolve(socket.alpnProtocol));
      socket.setTimeout(timeoutMs, () => socket.destroy());
      socket.on('error', () => resolve(false)).on('close', () => resolve(false));
      return promise.finally(() => socket.destroy());
    };
    return this.#isTls && !(await chosen('http/1.1')) && (await chosen('h2')) === 'h2';
  }

  pathOf(path: string): string {
    return `${this.#prefix}${path}` || '/';
  }

  addressOf(path: string): string {
    return `${this.#base.origin}${this.#prefix}${path}`;
  }

  get #address(): { readonly host: string; readonly port: number } {
    const { hostname, port } = this.#base;
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || (this.#isTls ? 443 : 80)) };
  }

  get host(): string {
    return this.#base.host;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send(
    { method, path, headers, body }: Sent,
    { agent, signal, isOwn }: Sending & { readonly agent: HttpAgent | false; readonly signal: AbortSignal },
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const send = this.#isTls ? httpsRequest : httpRequest;
    const bytes = body === undefined ? undefined : Buffer.from(body);
    const length = bytes && { 'content-length': bytes.length };
    const request = send(
      this.#base.origin,
      { method, path: this.pathOf(path), headers: { ...headers, ...length }, agent, signal },
      (response) => {
        const early = () => new NoAnswer({ method, path, headers, body }, 'the body ends early', 'EARLY');
        readAnswer(response, isOwn).then(resolve, (error) => reject(response.complete ? error : early()));
      },
    );
    request.on('error', (error) => reject(Object.assign(error, request.reusedSocket && { isReused: true })));
    request.end(bytes);
    return promise;
  }
}

async function readAnswer(response: IncomingMessage, isOwn: Sending['isOwn']): Promise<Answer> {
  const { statusCode: status = 0, headersDistinct } = response;
  const headers = new Map(Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]));
  const reader = isOwn && status === 200 ? new ListReader(isOwn) : undefined;
  const chunks: Buffer[] = [];
  const bytesMax = reader ? LIST_BYTES_MAX : BODY_BYTES_MAX;
  let [bytes, isCut] = [0, false];
  for await (const chunk of decoded(response, headers.get('content-encoding') ?? '')) {
    if (!reader || bytes < BYTES_SHOWN) chunks.push(chunk);
    bytes += chunk.length;
    isCut = bytes > bytesMax || reader?.write(chunk) === false;
    // Leaving the loop ends the connection.
    if (isCut) break;
  }
  const whole = Buffer.concat(chunks);
  const body = (isCut ? whole.subarray(0, BYTES_SHOWN) : whole).toString();
  return { status, headers, body, isCut: isCut && !reader, list: reader?.end() };
}

/** An answer without the content coding that it may have although none was asked for (RFC 9110, section 12.5.3). */
function decoded(
  response: IncomingMessage & { readonly req?: { readonly method: string } },
  coding: string,
): AsyncIterable<Buffer> {
  const decoder = DECODERS[coding.trim().toLowerCase()]?.();
  const hasBody = response.req?.method !== 'HEAD' && response.statusCode !== 304 && response.statusCode !== 204;
  if (!decoder || !hasBody) return response;
  return pipeline(response, decoder, () => {});
}

/** True for the frame that every HTTP/2 server sends first, in the clear. */
function isHttp2(bytes: Buffer): boolean {
  return bytes.length >= 9 && bytes[3] === SETTINGS && bytes.readUInt32BE(5) === 0;
}
