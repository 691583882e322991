import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { CatalogError } from '../../catalog/error.ts';
import { errorAnswer } from '../errors.ts';
import { BODY_BYTES_MAX } from './body.ts';
import { Exchange, type ExchangeOptions, type Serve } from './exchange.ts';

// As in the listener: an import of node:http would load its client as well.
const { IncomingMessage: Request, ServerResponse: Response } = process.getBuiltinModule('node:http');

/** Pipelined requests that wait on a connection. */
const WAITING_MAX = 128;
/** Weight of all requests that wait on all connections of a listener. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;
/** Memory for a request and its answer without headers and body, as measured. */
const REQUEST_BYTES = 4 * 1024;
/** Memory for the name or the value of a header, without its characters, as measured with many short ones. */
const HEADER_TEXT_BYTES = 90;
/** Requests that Node has parsed and keeps until their connections close, though nothing serves them. */
const UNSERVED_MAX = 8_192;
/** Input discarded after the last answer, so that no reset overtakes it (RFC 9112, section 9.6). */
const DISCARDED_BYTES_MAX = 16 * 1024 * 1024;
/** Time for the peer to receive the last answer. */
const LINGER_MS = 2_000;

/** Memory that the connections of a listener hold together for requests that are not served, or not yet. */
interface Backlog {
  waitingBytes: number;
  unserved: number;
}

export interface ConnectionOptions extends ExchangeOptions {
  readonly serve: Serve;
  readonly backlog: Backlog;
}

interface Waiting {
  readonly exchange: Exchange;
  readonly bytes: number;
}

/**
 * One socket: the request that runs, those pipelined behind it, and its end. Guarantees that one request runs at a
 * time, that unparsable input is answered once and in order, that nothing follows the last answer, and that no reset
 * destroys it.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  #running: Exchange | undefined;
  readonly #waiting: Waiting[] = [];
  /** The last request taken, as long as its body is unread or it ends the connection. */
  #latest: Exchange | undefined;
  #takesMore = true;
  #finalError: CatalogError | undefined;
  #unserved = 0;
  #isDiscarding = false;
  #ended = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // Node calls this after an answer with `Connection: close`, or the last one to a half-closed peer. Its own version
    // also stops reading, so further input would cause a reset, which can overtake the answer.
    socket.destroySoon = () => this.#end();
    // After CONNECT Node removes its own listener, and an unhandled reset would end the process.
    socket.on('error', () => {});
    socket.once('close', () => this.#drop());
  }

  /**
   * Takes a request whose head was read: serves it, or lets it wait for those before it. Beyond the bounds it is not
   * served, and the connection closes after the answers to those before (RFC 9112, section 9.3.2).
   */
  take(request: IncomingMessage, response: ServerResponse, hasExpectation: boolean): void {
    if (this.#socket.destroyed) return;
    const isFirst = !this.#running && this.#waiting.length === 0;
    const bytes = isFirst ? 0 : weightOf(request);
    if (this.#latest?.isLast || !this.#hasRoom(bytes)) {
      this.#leaveUnserved();
      return;
    }
    const exchange = new Exchange(request, response, this.#options);
    if (hasExpectation) exchange.expect();
    this.#latest = exchange;
    if (isFirst) {
      this.#serve(exchange);
    } else {
      this.#options.backlog.waitingBytes += bytes;
      this.#waiting.push({ exchange, bytes });
    }
  }

  /** False, from now on, if a request does not fit. */
  #hasRoom(bytes: number): boolean {
    const { waitingBytes } = this.#options.backlog;
    if (!this.#takesMore) return false;
    if (this.#waiting.length < WAITING_MAX && waitingBytes + bytes <= WAITING_BYTES_MAX) return true;
    const last = this.#waiting.at(-1)?.exchange ?? this.#running;
    if (last) last.isLast = true;
    this.#takeNoMore();
    return false;
  }

  /** Called when the parser failed. Answers the request that it was reading, unless that has its answer already. */
  fail(failure: CatalogError): void {
    if (!this.#takesMore || this.#ended) return;
    if (this.#latest && !this.#latest.isRead) this.#latest.fail(failure);
    else if (!this.#latest?.isLast) this.#finalError = failure;
    this.#takeNoMore();
    this.#endWhenAnswered();
  }

  /**
   * Closes the connection if it waits for nothing but its client, which may not read its answer, and then returns true.
   * A client cannot be seen to read: what the system has taken of the answer still reaches it.
   */
  makeRoom(): boolean {
    const socket = this.#socket;
    const isAnswered = this.#running ? this.#running.status !== undefined : socket.bytesWritten > 0;
    if (!isAnswered || socket.destroyed) return false;
    this.#options.events.connectionCutOff();
    socket.destroy();
    return true;
  }

  #takeNoMore(): void {
    this.#takesMore = false;
    this.#discardInput();
  }

  /** Node keeps request and response until the connection closes, so dropped ones are bounded too. */
  #leaveUnserved(): void {
    const { backlog, events } = this.#options;
    this.#unserved += 1;
    backlog.unserved += 1;
    if (backlog.unserved <= UNSERVED_MAX) return;
    events.connectionCutOff();
    this.#socket.destroy();
  }

  #serve(exchange: Exchange): void {
    this.#running = exchange;
    try {
      this.#options.serve(exchange)?.catch((error) => this.#abort(exchange, error));
    } catch (error) {
      this.#abort(exchange, error);
    }
    // Fast path: most answers are sent by now. The last one ends the connection when Node says so.
    if (exchange.isSent && !exchange.isLast) this.#finish(exchange);
    else exchange.onClose(() => this.#finish(exchange));
  }

  /** Called when an answer was sent, or can no longer be sent. */
  #finish(exchange: Exchange): void {
    this.#running = undefined;
    // Drop the last request, or every garbage collection copies it for each idle connection.
    if (this.#latest === exchange && exchange.isRead && !exchange.isLast) this.#latest = undefined;
    // Fairness: other connections come before the next request of this one.
    if (this.#waiting.length > 0) setImmediate(this.#serveNext);
    else if (!this.#takesMore) this.#endWhenAnswered();
  }

  readonly #serveNext = (): void => {
    const next = this.#waiting.shift();
    if (!next) return;
    this.#options.backlog.waitingBytes -= next.bytes;
    this.#serve(next.exchange);
  };

  /** Destroys the socket after a defect that prevented even an error answer, so that the process survives. */
  #abort({ requestId }: Exchange, error: unknown): void {
    this.#options.events.requestFailed(requestId, error);
    this.#socket.destroy();
  }

  #endWhenAnswered(): void {
    if (this.#ended || this.#running || this.#waiting.length > 0) return;
    if (this.#finalError) this.#answerUnread(this.#finalError);
    this.#end();
  }

  /** Closes for writing now, and for reading after the peer had time to receive the last answer, or has ended too. */
  #end(): void {
    if (this.#ended) return;
    this.#drop();
    const socket = this.#socket;
    socket.end();
    this.#discardInput();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Nothing is served or sent any more. Of pipelined answers, Node reports only the one that was being sent. */
  #drop(): void {
    this.#ended = true;
    this.#takesMore = false;
    const { backlog } = this.#options;
    for (const { bytes } of this.#waiting.splice(0)) backlog.waitingBytes -= bytes;
    if (!this.#socket.destroyed) return;
    backlog.unserved -= this.#unserved;
    this.#unserved = 0;
  }

  /** Takes the input from the parser, and discards it; closes the connection beyond 16 MiB. */
  #discardInput(): void {
    if (this.#isDiscarding) return;
    this.#isDiscarding = true;
    let left = DISCARDED_BYTES_MAX;
    const socket = this.#socket;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    socket.resume();
  }

  /** Answers input that is no request, as if it were one that was read. */
  #answerUnread(failure: CatalogError): void {
    const request = new Request(this.#socket);
    const response = new Response(request);
    const exchange = new Exchange(request, response, this.#options);
    exchange.route = 'unread';
    // The answer before it may be sent, and still be the one that Node has assigned to the socket.
    const write = (bytes: Buffer, _: string, done: () => void) => {
      this.#socket.write(bytes);
      done();
    };
    response.assignSocket(new Writable({ write }) as Socket);
    exchange.answer(errorAnswer(failure));
  }
}

/** About the memory that a request takes while it waits, with its headers and its body. */
function weightOf({ rawHeaders, url = '', headers }: IncomingMessage): number {
  const { 'content-length': length = 0, 'transfer-encoding': coding } = headers;
  const bodyBytes = coding === undefined ? Math.min(Number(length), BODY_BYTES_MAX) : BODY_BYTES_MAX;
  let bytes = REQUEST_BYTES + url.length + bodyBytes;
  for (const text of rawHeaders) bytes += HEADER_TEXT_BYTES + text.length;
  return bytes;
}
