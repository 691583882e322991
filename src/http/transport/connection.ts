import type { Socket } from 'node:net';
import { CatalogError } from '../../catalog/error.ts';
import { errorAnswer } from '../errors.ts';
import {
  addContentHeaders,
  addLimitHeaders,
  bodyBytes,
  type Exchange,
  type ExchangeOptions,
  type Serve,
} from './exchange.ts';
import { namesAnotherProtocol } from './protocol.ts';
import type { Turns } from './turns.ts';
import { isConnectionFull } from './unsent-bytes.ts';

// As in the listener: an import of node:http would load its client as well.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Lingering close: input discarded after the last answer, so that no reset overtakes it (RFC 9112, section 9.6). */
const LINGER_MS = 2_000;
const DISCARDED_BYTES_MAX = 16 * 1024 * 1024;
/** Backpressure: with this many pipelined requests waiting, reading pauses. At most one packet goes beyond. */
const WAITING_MAX = 100;
/** A connection paused once is then parsed in slices, one a turn, or one packet would fill a turn by itself. */
const SLICE_BYTES = 4 * 1024;
/** A refused body that is larger is read in slices too. */
const REFUSED_BODY_BYTES_MAX = 16 * 1024;
/** Memory that a waiting request holds, without large headers. */
const WAITING_BYTES = 2_560;

/** Pipelined requests that run concurrently; each may hold a large answer until it can be sent. */
const RUNNING_MAX = 8;

/** Safe methods may run concurrently (RFC 9110, section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

export interface ConnectionOptions extends ExchangeOptions {
  readonly serve: Serve;
  readonly turns: Turns;
}

/**
 * One socket: the exchanges in flight on it, and its end. Guarantees that unparsable input is answered once and in
 * order, that nothing follows the last answer, and that no reset destroys it.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** At most `RUNNING_MAX`, so an array beats a set. */
  #running: Exchange[] = [];
  readonly #waiting: Exchange[] = [];
  /** The last exchange begun, as long as its input is unread or it ends the connection. */
  #latest: Exchange | undefined;
  #hasBegun = false;
  /** Reading is paused, because enough requests wait. */
  #isPaused = false;
  /** Read in slices, one a turn, from the next read on. */
  #isSlow = false;
  #failed = false;
  #finalError: CatalogError | undefined;
  #discarding = false;
  #ended = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // Node calls this after an answer with `Connection: close`, or the last one to a half-closed peer. Its own version
    // also stops reading, so further input would cause a reset, which can overtake the answer.
    socket.destroySoon = () => {
      if (this.#running[0]?.isLast || !this.#failed) this.#end();
    };
    // After CONNECT Node removes its own listener, and an unhandled reset would end the process.
    socket.on('error', () => {});
    socket.once('close', () => this.#drop());
  }

  /** Nothing is served or sent any more. Of pipelined answers, Node tells only the one that was being sent. */
  #drop(): void {
    this.#ended = true;
    for (const exchange of this.#running) this.#options.unsent.delete(exchange);
    for (const exchange of this.#waiting) this.#options.unsent.delete(exchange);
    this.#running = [];
    this.#waiting.length = 0;
  }

  /** Queues a request whose head was read, or serves it. Ignored if an earlier one ends the connection. */
  begin(exchange: Exchange): void {
    if (this.#failed || this.#latest?.isLast) return;
    // Only for these, because the check copies the packet: other protocols show at once, or by another version.
    if (!this.#hasBegun || exchange.request.httpVersion !== '1.1') refuseOtherProtocols(exchange);
    this.#hasBegun = true;
    this.#latest = exchange;
    if (this.#running.length === 0 && this.#waiting.length === 0 && !this.#ended) {
      this.#serve(exchange);
    } else {
      this.#waiting.push(exchange);
      this.#options.unsent.add(exchange, WAITING_BYTES);
      if (this.#waiting.length === 1) this.#serveWaiting();
      if (this.#waiting.length === WAITING_MAX) this.#stopReading();
    }
  }

  /** Pauses until nothing waits and a turn is granted. Discarded input is still read, or a reset would follow. */
  #stopReading(): void {
    if (this.#discarding) return;
    this.#isPaused = true;
    this.#socket.pause();
    if (this.#isSlow) return;
    this.#isSlow = true;
    let isSliced = false;
    this.#socket.on('resume', () => {
      // Node resumes the socket for an answered request whose body was not read, even if it has none.
      if (this.#isPaused) this.#socket.pause();
      if (this.#socket.isPaused() || isSliced || this.#discarding) return;
      isSliced = true;
      this.#slice();
    });
  }

  /**
   * Slices what goes from the socket to the parser, which Node otherwise gives up to 64 KiB at once. Installed only
   * while the socket is read: the listener ends Node's shortcut around the stream, which would also resume reading.
   */
  #slice(): void {
    const socket = this.#socket;
    const parsers = socket.listeners('data');
    socket.removeAllListeners('data');
    socket.on('data', (chunk: NonSharedBuffer) => {
      for (const parse of parsers) parse.call(socket, chunk.subarray(0, SLICE_BYTES));
      if (chunk.length <= SLICE_BYTES || this.#discarding || socket.destroyed) return;
      // Node itself pauses a socket whose request does not read its body, and resumes it.
      const isPausedByNode = socket.isPaused() && !this.#isPaused;
      socket.unshift(chunk.subarray(SLICE_BYTES));
      if (!isPausedByNode) this.#readInTurn();
    });
  }

  #readInTurn(): void {
    this.#stopReading();
    if (this.#waiting.length === 0) this.#serveWaiting();
  }

  /** Called when an answer was sent, or can no longer be sent. */
  #finish(exchange: Exchange): void {
    this.#running = this.#running.filter((running) => running !== exchange);
    this.#options.unsent.delete(exchange);
    this.#forget(exchange);
    if (hasLargeBodyLeft(exchange)) this.#stopReading();
    this.#resume();
  }

  readonly #resume = (): void => {
    this.#serveWaiting();
    if (this.#failed) this.#endWhenQuiet();
  };

  /** Called when the parser failed. Answers the request that it was reading, unless that has its answer already. */
  fail(failure: CatalogError): void {
    if (this.#failed || this.#ended) return;
    this.#failed = true;
    if (this.#latest && !this.#latest.isRead) this.#latest.fail(failure);
    else this.#finalError = failure;
    this.#discardInput();
    this.#endWhenQuiet();
  }

  /** Runs safe pipelined requests concurrently and the others in order (RFC 9112, section 9.3.2). */
  #serveWaiting(): void {
    for (let next = this.#waiting[0]; next && this.#mayRun(next); next = this.#waiting[0]) {
      if (!this.#options.turns.take(this.#resume)) return;
      this.#waiting.shift();
      this.#options.unsent.delete(next);
      this.#serve(next);
    }
    if (this.#isPaused && this.#waiting.length === 0 && !this.#ended && this.#options.turns.takeRead(this.#resume)) {
      this.#isPaused = false;
      this.#socket.resume();
    }
  }

  #serve(exchange: Exchange): void {
    this.#running.push(exchange);
    try {
      this.#options.serve(exchange)?.catch((error) => this.#abort(exchange, error));
    } catch (error) {
      this.#abort(exchange, error);
    }
    // Fast path: most answers are sent by now. The last one stays listed, because `destroySoon` looks for it.
    if (exchange.isSent && !exchange.isLast) {
      this.#running.pop();
      this.#forget(exchange);
      if (hasLargeBodyLeft(exchange)) this.#readInTurn();
    } else {
      exchange.onClose(() => this.#finish(exchange));
    }
  }

  /** Drops the last request, or every garbage collection copies it for each idle connection. */
  #forget(exchange: Exchange): void {
    if (this.#latest === exchange && exchange.isRead && !exchange.isLast) this.#latest = undefined;
  }

  /** Destroys the socket after a defect that prevented even an error answer, so that the process survives. */
  #abort({ requestId }: Exchange, error: unknown): void {
    this.#options.events.requestFailed(requestId, error);
    this.#socket.destroy();
  }

  #mayRun(exchange: Exchange): boolean {
    if (this.#ended) return false;
    if (this.#running.length === 0) return true;
    // Node in turn stops reading from a socket whose peer does not read.
    if (isConnectionFull(this.#running)) return false;
    const [running] = this.#running;
    return this.#running.length < RUNNING_MAX && running !== undefined && isSafe(running) && isSafe(exchange);
  }

  #endWhenQuiet(): void {
    if (this.#ended || this.#running.length > 0 || this.#waiting.length > 0) return;
    if (this.#finalError) this.#socket.write(this.#errorBytes(this.#finalError));
    this.#end();
  }

  /** Closes for writing now, and for reading after the peer had time to receive the last answer. */
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

  /** Detaches the socket from the parser and discards further input. */
  #discardInput(): void {
    if (this.#discarding) return;
    this.#discarding = true;
    const socket = this.#socket;
    // Also if Node has just resumed a paused socket, which it reads from in the next tick only.
    const isRead = !this.#isPaused && !socket.isPaused();
    this.#isPaused = false;
    let left = DISCARDED_BYTES_MAX;
    const discard = () => {
      socket.removeAllListeners('data');
      socket.on('data', (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) socket.destroy();
      });
    };
    // As in `#slice`: only while the socket is read from.
    if (isRead) discard();
    else socket.once('resume', discard).resume();
  }

  #errorBytes(failure: CatalogError): string {
    const { clock, events, newRequestId, headers: always } = this.#options;
    const requestId = newRequestId();
    const answer = errorAnswer(failure);
    const headers = ['Date', new Date(clock().unix * 1000).toUTCString()];
    addLimitHeaders(headers, undefined, clock);
    headers.push('X-Request-Id', requestId, ...always);
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
      windows: undefined,
      traceId: undefined,
    });
    return `${head}\r\n${answer.body}`;
  }
}

function refuseOtherProtocols(exchange: Exchange): void {
  if (!namesAnotherProtocol(exchange.request)) return;
  exchange.fail(new CatalogError('malformed_request', 'The request line names another protocol; send HTTP/1.1'));
}

/** Whether much of an answered request is still unread; the next one comes after it. */
function hasLargeBodyLeft({ isRead, isLast, request: { headers } }: Exchange): boolean {
  if (isRead || isLast) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > REFUSED_BODY_BYTES_MAX;
}

/** Whether a request may run concurrently. Not if it awaits `100 Continue`: its answer can end the connection. */
function isSafe({ request, awaitsContinue }: Exchange): boolean {
  return SAFE_METHODS.has(request.method) && !awaitsContinue;
}
