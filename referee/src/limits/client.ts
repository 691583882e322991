import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';

/** A larger body ends the connection, as does one that never ends. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
/** Kept of a body, for reports. */
const BYTES_SHOWN = 64 * 1024;
const CONNECTIONS_MAX = 16;

const ONLY_HTTP2 = 'it speaks HTTP/2 only';
/** The type of the frame with which a server begins (RFC 9113, section 3.4). */
const SETTINGS = 4;

type Failure = NodeJS.ErrnoException & { readonly isReused?: true; readonly rawPacket?: Buffer };

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
    this.#agent = new (this.#isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: CONNECTIONS_MAX });
  }

  /** Sends a request. Rejects with `NoAnswer` if none comes in time. */
  async send(sent: Sent, sending: Sending): Promise<Answer> {
    const { timeoutMs, isAlone = false } = sending;
    if (isAlone) this.#closeIdle();
    const isLate = AbortSignal.timeout(Math.ceil(timeoutMs));
    try {
      return await this.#send(sent, isAlone ? false : this.#agent, isLate);
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

  /** True if the server takes HTTP/2 alone in the handshake of TLS. */
  async speaksOnlyHttp2(timeoutMs: number): Promise<boolean> {
    const { hostname, port } = this.#base;
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const chosen = (protocol: string) => {
      const { promise, resolve } = Promise.withResolvers<string | false | null>();
      const server = { host, port: Number(port || 443), ...(!isIP(host) && { servername: host }) };
      const socket = connectTls({ ...server, ALPNProtocols: [protocol] }, () => resolve(socket.alpnProtocol));
      socket.setTimeout(timeoutMs, () => socket.destroy());
      socket.on('error', () => resolve(false)).on('close', () => resolve(false));
      return promise.finally(() => socket.destroy());
    };
    return this.#isTls && !(await chosen('http/1.1')) && (await chosen('h2')) === 'h2';
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
    const options = { method, path: `${this.#prefix}${path}` || '/', headers, agent, signal };
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

/** True for the frame that every HTTP/2 server sends first, in the clear. */
function isHttp2(bytes: Buffer): boolean {
  return bytes.length >= 9 && bytes[3] === SETTINGS && bytes.readUInt32BE(5) === 0;
}
