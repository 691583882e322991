import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { CatalogError } from '../../catalog/error.ts';
import { errorAnswer } from '../errors.ts';
import type { Turns } from './event-loop-turns.ts';
import { Exchange, type ExchangeOptions, type Serve } from './exchange.ts';
import { CONNECTION_BYTES_MAX } from './ledger.ts';
import { ParserFeed, type Reader } from './parser-feed.ts';
import { namesAnotherProtocol } from './request.ts';

// As in the listener: an import of node:http would load its client as well.
const { IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');

/** Time for the peer to receive the last answer. */
const LINGER_MS = 2_000;
/** The interval at which a request that took too long is looked at again, while it is not read from. */
const LATE_CHECK_MS = 1_000;
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
export class Connection implements Reader {
  heldBytes = 0;
  /** The last exchange started, as long as its input is unread or it ends the connection. */
  latest: Exchange | undefined;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #input: ParserFeed;
  /** At most `RUNNING_MAX`, so an array beats a set. */
  #running: Exchange[] = [];
  readonly #waiting: Exchange[] = [];
  #started = 0;
  #failed = false;
  #finalError: CatalogError | undefined;
  #ended = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#input = new ParserFeed(socket, { account: this, ...options });
    // Node calls this after an answer with `Connection: close`, or the last one to a half-closed peer.
    socket.destroySoon = () => {
      if (this.#running[0]?.isLast || !this.#failed) this.#end();
    };
    // After CONNECT Node removes its own listener, and an unhandled reset would end the process.
    socket.on('error', () => {});
    socket.once('close', () => this.#drop());
  }

  /** True if it takes more requests. None is parsed while others wait, so a slice of input bounds their number. */
  get mayParse(): boolean {
    return this.#waiting.length === 0 && !(this.latest?.isLast && this.latest.isRead);
  }

  /** Nothing is served or sent any more. Of pipelined answers, Node reports only the one that was being sent. */
  #drop(): void {
    this.#ended = true;
    for (const exchange of [...this.#running, ...this.#waiting]) exchange.release();
    this.#options.ledger.hold(this.#input, 0);
    this.#running = [];
    this.#waiting.length = 0;
  }

  /** Closes the connection at once, because it holds too much. */
  cutOff(keyId: string | undefined): void {
    if (this.#socket.destroyed) return;
    this.#options.events.connectionCutOff(keyId);
    this.#socket.destroy();
    this.#drop();
  }

  /** Queues a request whose head was read, or serves it. Ignored if an earlier one ends the connection. */
  begin(exchange: Exchange): void {
    if (this.#failed || this.latest?.isLast) return;
    // Only for these, because the check takes time: other protocols show at once, or by another version.
    const isChecked = this.#started === 0 || exchange.request.httpVersion !== '1.1';
    if (isChecked && namesAnotherProtocol(exchange.request, this.#input.slice)) {
      exchange.fail(new CatalogError('malformed_request', 'The request line names another protocol; send HTTP/1.1'));
    }
    this.#started += 1;
    this.latest = exchange;
    exchange.account = this;
    if (this.#running.length === 0 && this.#waiting.length === 0 && !this.#ended) {
      this.#serve(exchange);
    } else if (!this.#ended) {
      this.#waiting.push(exchange);
      exchange.hold();
      if (this.#waiting.length === 1) this.#serveWaiting();
    }
  }

  /** Called when an answer was sent, or can no longer be sent. */
  #finish(exchange: Exchange): void {
    this.#running = this.#running.filter((running) => running !== exchange);
    exchange.release();
    this.#forget(exchange);
    this.#resume();
  }

  readonly #resume = (): void => {
    this.#serveWaiting();
    if (this.#failed) this.#endWhenQuiet();
  };

  /** Called when a request takes too long to arrive. While nothing is read, it may have arrived. */
  timeOut(failure: CatalogError): void {
    const [started, isBody] = [this.#started, this.latest?.isRead === false];
    const check = () => {
      if (this.#ended || this.#started > started || (isBody && this.latest?.isRead !== false)) return;
      if (this.#input.isStopped) setTimeout(check, LATE_CHECK_MS).unref();
      else this.fail(failure);
    };
    check();
  }

  /** Called when the parser failed. Answers the request that it was reading, unless that has its answer already. */
  fail(failure: CatalogError): void {
    if (this.#failed || this.#ended) return;
    this.#failed = true;
    if (this.latest && !this.latest.isRead) this.latest.fail(failure);
    else this.#finalError = failure;
    this.#input.discard();
    this.#endWhenQuiet();
  }

  /** Runs safe pipelined requests concurrently and the others in order (RFC 9112, section 9.3.2). */
  #serveWaiting(): void {
    for (let next = this.#waiting[0]; next && this.#mayRun(next); next = this.#waiting[0]) {
      if (!this.#options.turns.take(this.#resume)) return;
      this.#waiting.shift();
      this.#serve(next);
    }
    this.#input.continue();
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
      exchange.release();
      this.#forget(exchange);
    } else {
      exchange.hold();
      exchange.onClose(() => this.#finish(exchange));
    }
  }

  /** Drops the last request, or every garbage collection copies it for each idle connection. */
  #forget(exchange: Exchange): void {
    if (this.latest === exchange && exchange.isRead && !exchange.isLast) this.latest = undefined;
  }

  /** Destroys the socket after a defect that prevented even an error answer, so that the process survives. */
  #abort({ requestId }: Exchange, error: unknown): void {
    this.#options.events.requestFailed(requestId, error);
    this.#socket.destroy();
  }

  #mayRun(exchange: Exchange): boolean {
    if (this.#ended || this.#running.length === 0) return !this.#ended;
    if (this.heldBytes >= CONNECTION_BYTES_MAX) return false;
    return this.#running.length < RUNNING_MAX && this.#running.every(isSafe) && isSafe(exchange);
  }

  #endWhenQuiet(): void {
    if (this.#ended || this.#running.length > 0 || this.#waiting.length > 0) return;
    if (this.#finalError) this.#answerUnread(this.#finalError);
    this.#end();
  }

  /** Closes for writing now, and for reading after the peer had time to receive the last answer, or has ended too. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const socket = this.#socket;
    socket.end();
    this.#input.discard();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(timer));
  }

  /** Answers input that is no request, as if it were one that was read. */
  #answerUnread(failure: CatalogError): void {
    const request = new IncomingMessage(this.#socket);
    const response = new ServerResponse(request);
    const exchange = new Exchange(request, response, this.#options);
    exchange.route = 'unread';
    // The answer before it may be sent, and still be the one that Node has assigned to the socket.
    const write = (bytes: Buffer, _: string, done: () => void) => {
      this.#socket.write(bytes);
      done();
    };
    response.assignSocket(new Writable({ write }) as Socket);
    // By the service's time; Node would write the machine's.
    const date = new Date(this.#options.time.now().unix * 1000).toUTCString();
    exchange.answer({ ...errorAnswer(failure), headers: ['Date', date] });
  }
}

/** True if a request may run concurrently. Not if it awaits `100 Continue`: its answer can end the connection. */
function isSafe({ request, awaitsContinue }: Exchange): boolean {
  return SAFE_METHODS.has(request.method) && !awaitsContinue;
}
