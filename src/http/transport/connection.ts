import type { Socket } from 'node:net';
import { CatalogError } from '../../catalog/error.ts';
import { errorAnswer } from '../errors.ts';
import {
  addContentHeaders,
  bodyBytes,
  type Exchange,
  type ExchangeOptions,
  limitHeaders,
  type Serve,
} from './exchange.ts';

// As in the listener: importing it as a module would load much that nobody uses here.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** What is taken and thrown away after the last answer, so that the peer can read it (RFC 9112, section 9.6). */
const LINGER_MS = 2_000;
const DISCARDED_BYTES_MAX = 16 * 1024 * 1024;
/** Pipelined requests that may wait their turn; they have not been counted yet, so the limiter cannot bound them. */
const WAITING_MAX = 1_000;

/** Pipelined requests that run side by side; each may hold a large answer until its turn to be sent. */
const RUNNING_MAX = 8;

/** These change nothing, so that they may run side by side (RFC 9110, section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export interface ConnectionOptions extends ExchangeOptions {
  readonly serve: Serve;
}

/**
 * One socket: which exchanges are under way on it, and how it ends. Sees to it that what the parser cannot read is
 * answered once, after the answers before it, that nothing follows the last answer, and that it is not lost to a reset.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** A handful at most, so that an array beats a set. */
  #running: Exchange[] = [];
  readonly #waiting: Exchange[] = [];
  /** The last that was begun, until nothing depends on it any more. */
  #latest: Exchange | undefined;
  #failed = false;
  #farewell: CatalogError | undefined;
  #discarding = false;
  #ended = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // Node calls this after an answer with `Connection: close`, or the last one to a peer that has half-closed. Its
    // own would close for reading as well, and what the peer still sends would then be met with a reset, which can
    // overtake the answer.
    socket.destroySoon = () => {
      if (this.#running[0]?.isLast || !this.#failed) this.#end();
    };
    // After CONNECT Node takes its own listener away, and a reset would end the process.
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#ended = true;
    });
  }

  /** A request's head has been read. It is served in its turn, unless the one before it ends the connection. */
  begin(exchange: Exchange): void {
    if (this.#failed || this.#latest?.isLast) return;
    if (this.#waiting.length >= WAITING_MAX) {
      this.fail(tooManyWaiting());
      return;
    }
    this.#latest = exchange;
    if (this.#waiting.length === 0 && this.#mayRun(exchange)) this.#serve(exchange);
    else this.#waiting.push(exchange);
  }

  /** An answer is out, or cannot be given any more. */
  #finish(exchange: Exchange): void {
    this.#running = this.#running.filter((running) => running !== exchange);
    this.#forget(exchange);
    this.#serveWaiting();
    if (this.#failed) this.#endWhenQuiet();
  }

  /** The parser cannot read on. What it was reading gets the failure for an answer, unless it has one already. */
  fail(failure: CatalogError): void {
    if (this.#failed || this.#ended) return;
    this.#failed = true;
    if (this.#latest && !this.#latest.isRead) this.#latest.fail(failure);
    else this.#farewell = failure;
    this.#discardInput();
    this.#endWhenQuiet();
  }

  /** Of pipelined requests only safe ones run at the same time; the others keep their order (RFC 9112, section 9.3.2). */
  #serveWaiting(): void {
    for (let next = this.#waiting[0]; next && this.#mayRun(next); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#serve(next);
    }
  }

  #serve(exchange: Exchange): void {
    this.#running.push(exchange);
    try {
      this.#options.serve(exchange)?.catch((error) => this.#giveUp(exchange, error));
    } catch (error) {
      this.#giveUp(exchange, error);
    }
    // Most are answered and sent by now; one that ends the connection is looked for when it does.
    if (exchange.isSent && !exchange.isLast) {
      this.#running.pop();
      this.#forget(exchange);
    } else {
      exchange.onClose(() => this.#finish(exchange));
    }
  }

  /** What a thousand idle connections remember of their last requests, every garbage collection has to move about. */
  #forget(exchange: Exchange): void {
    if (this.#latest === exchange && exchange.isRead && !exchange.isLast) this.#latest = undefined;
  }

  /** Not even an error could be answered: a defect, which must not take the process with it. */
  #giveUp({ requestId }: Exchange, error: unknown): void {
    this.#options.events.requestFailed(requestId, error);
    this.#socket.destroy();
  }

  #mayRun(exchange: Exchange): boolean {
    if (this.#ended) return false;
    if (this.#running.length === 0) return true;
    const [running] = this.#running;
    return this.#running.length < RUNNING_MAX && running !== undefined && isSafe(running) && isSafe(exchange);
  }

  #endWhenQuiet(): void {
    if (this.#ended || this.#running.length > 0 || this.#waiting.length > 0) return;
    if (this.#farewell) this.#socket.write(this.#farewellBytes(this.#farewell));
    this.#end();
  }

  /** Closes for writing, and for reading when the peer has had time to take the last answer. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const socket = this.#socket;
    socket.end();
    this.#discardInput();
    const peerIsDone = () =>
      socket.writableFinished ? socket.destroy() : socket.once('finish', () => socket.destroy());
    if (socket.readableEnded) peerIsDone();
    else socket.once('end', peerIsDone);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Takes the socket from the parser; what comes from now on is nobody's. */
  #discardInput(): void {
    if (this.#discarding) return;
    this.#discarding = true;
    const socket = this.#socket;
    let left = DISCARDED_BYTES_MAX;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    socket.resume();
  }

  #farewellBytes(failure: CatalogError): string {
    const { clock, events, newRequestId } = this.#options;
    const requestId = newRequestId();
    const answer = errorAnswer(failure);
    const headers = ['Date', new Date().toUTCString(), ...limitHeaders(undefined, clock), 'X-Request-Id', requestId];
    addContentHeaders(headers, answer, bodyBytes(answer.body ?? ''));
    headers.push('Connection', 'close');
    let head = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n`;
    for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
    events.requestAnswered({
      requestId,
      keyId: undefined,
      plan: undefined,
      method: '',
      route: 'unread',
      status: answer.status,
      code: failure.code,
      durationMs: 0,
      traceId: undefined,
    });
    return `${head}\r\n${answer.body}`;
  }
}

function tooManyWaiting(): CatalogError {
  return new CatalogError(
    'unavailable',
    `${WAITING_MAX} requests of this connection wait for their turn; read answers before you send more`,
  );
}

/** Whoever waits for `100 Continue` may have its connection ended with the answer, so nothing runs beside it. */
function isSafe({ request, awaitsContinue }: Exchange): boolean {
  return SAFE_METHODS.has(request.method) && !awaitsContinue;
}
