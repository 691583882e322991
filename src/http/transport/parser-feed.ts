import { Socket } from 'node:net';
import type { Turns } from './event-loop-turns.ts';
import type { Exchange } from './exchange.ts';
import type { Account, Holding, Ledger } from './ledger.ts';

/** Node's parser gets no more at once: with the smallest requests or chunks that takes about a millisecond. */
const SLICE_BYTES = 4 * 1024;
/** The largest input that waits for no turn: parsing more may take longer than it takes to serve a request. */
const SHORT_BYTES = 1024;
/** Slices parsed in a row, before others have their turn. */
const SLICES_MS = 0.5;
/** Input discarded after the last answer, so that no reset overtakes it (RFC 9112, section 9.6). */
const DISCARDED_BYTES_MAX = 16 * 1024 * 1024;
/** Memory for the two strings and their places that the parser makes of a header, without their characters. */
const HEADER_BYTES = 90;
const HEAD_END = '\r\n\r\n';
const LF = 10;
const NOTHING = Buffer.alloc(0);
/** The buffer for each read of any connection, parsed at once or copied. Its size bounds what a connection keeps. */
const READ = Buffer.allocUnsafeSlow(16 * 1024);
/** Where a socket keeps the option `onread` of `net.connect`, which the sockets of a server cannot be given. */
const onread = { buffer: READ, callback: () => true };
const example = new Socket({ onread });
const [BUFFER, ON_READ] = [onread.buffer, onread.callback].map((value) =>
  Object.getOwnPropertySymbols(example).find((place) => Reflect.get(example, place) === value),
);

/** The part of a socket that reads. */
interface Handle {
  reading: boolean;
  readStart(): number;
  useUserBuffer(buffer: Buffer): void;
}

/** The connection of an input. */
export interface Reader extends Account {
  /** True if it takes more requests. */
  readonly mayParse: boolean;
  /** The last request started, at least until it is read. */
  readonly latest: Pick<Exchange, 'isRead' | 'request'> | undefined;
}

/**
 * The input of a socket: what comes goes to Node's parser in slices, as long as its connection takes more. What cannot
 * be parsed yet is kept, at most one read of the system, and then nothing more is read. A slice ends where a head does,
 * so that a connection is asked before each request whether it takes one more.
 */
export class ParserFeed implements Holding {
  heldBytes = 0;
  readonly keyId = undefined;
  readonly account: Reader;
  /** The slice that the parser is reading. */
  slice: Buffer = NOTHING;
  /** Nothing is read or parsed until `continue`. */
  isStopped = false;
  readonly #socket: Socket;
  readonly #ledger: Ledger;
  readonly #turns: Turns;
  readonly #parse: (slice: Buffer) => void;
  readonly #end: () => void;
  #unparsed: Buffer = NOTHING;
  #hasEnded = false;
  /** The state of the parser on a head that is not complete. */
  #headBytes = 0;
  /** Set from `discard` on: how much more is discarded. */
  #discardable: number | undefined;

  constructor(socket: Socket, { account, ledger, turns }: { account: Reader; ledger: Ledger; turns: Turns }) {
    this.#socket = socket;
    this.account = account;
    this.#ledger = ledger;
    this.#turns = turns;
    const [parse] = socket.listeners('data');
    this.#parse = parse as (slice: Buffer) => void;
    this.#end = socket.push.bind(socket, null);
    socket.on('data', () => {});
    socket.push = (chunk: Buffer | null) => this.#receive(chunk);
    socket.on('resume', this.continue);
    const { _handle: handle } = socket as { _handle?: Handle };
    if (!handle || !BUFFER || !ON_READ) return;
    let read = NOTHING;
    const receive = (bytes: number) => {
      // Fast path: most requests of a connection are as long as the one before.
      if (read.length !== bytes) read = READ.subarray(0, bytes);
      return this.#receive(read);
    };
    Object.assign(socket, { [BUFFER]: READ, [ON_READ]: receive });
    handle.useUserBuffer(READ);
    const { readStart } = handle;
    // Node resumes a socket whenever answers were sent, and would read once more each time.
    handle.readStart = () => {
      if (!this.isStopped) return readStart.call(handle);
      handle.reading = false;
      return 0;
    };
  }

  /** Goes on, in a turn to come, if it stopped and its connection takes more. */
  readonly continue = (): void => {
    if (!this.isStopped || !this.#mayParse || !this.#turns.take(this.continue)) return;
    if (this.#unparsed.length > 0 && !this.#parseSlices()) return;
    this.isStopped = false;
    if (this.#hasEnded) this.#end();
    else this.#socket._read(0);
  };

  /** Discards all input from now on; closes the connection beyond 16 MiB. */
  discard(): void {
    if (this.#discardable !== undefined) return;
    this.#discardable = DISCARDED_BYTES_MAX - this.#unparsed.length;
    this.#unparsed = NOTHING;
    this.isStopped = false;
    this.#ledger.hold(this, 0);
    this.#socket.resume();
    if (this.#hasEnded) this.#end();
    else this.#socket._read(0);
  }

  /** Takes what the system has read, or null at its end. Returns whether to read on. */
  #receive(chunk: Buffer | null): boolean {
    const rest = this.#unparsed;
    if (chunk === null) {
      this.#hasEnded = true;
      if (rest.length === 0) this.#end();
    } else if (this.#discardable !== undefined) {
      this.#discardable -= chunk.length;
      if (this.#discardable < 0) this.#socket.destroy();
      return true;
    } else if (!this.isStopped && chunk.length <= SHORT_BYTES) {
      this.#parseSlice(chunk);
      return this.#goOn();
    } else {
      // Memory of its own: a slice of Node's pool would hold all of that.
      this.#unparsed = Buffer.allocUnsafeSlow(rest.length + chunk.length);
      this.#unparsed.set(rest);
      this.#unparsed.set(chunk, rest.length);
      this.isStopped = true;
      this.#charge();
      this.continue();
    }
    return false;
  }

  #parseSlices(): boolean {
    const untilMs = performance.now() + SLICES_MS;
    do {
      const end = this.#unparsed.subarray(0, SLICE_BYTES).indexOf(HEAD_END);
      const slice = this.#unparsed.subarray(0, end < 0 ? SLICE_BYTES : end + HEAD_END.length);
      this.#unparsed = this.#unparsed.subarray(slice.length);
      this.#parseSlice(slice);
    } while (this.#unparsed.length > 0 && this.#mayParse && performance.now() < untilMs);
    return this.#goOn();
  }

  #parseSlice(slice: Buffer): void {
    this.slice = slice;
    this.#parse(slice);
    this.#measureHead(slice);
    this.slice = NOTHING;
  }

  /** Returns whether to read on at once; if not, it stops until a turn to come. */
  #goOn(): boolean {
    if (this.#discardable !== undefined) {
      this.#unparsed = NOTHING;
      return true;
    }
    this.#charge();
    if (this.#unparsed.length === 0 && this.#mayParse) return true;
    this.isStopped = true;
    // Node resumes it when the body is read.
    if (this.#hasUnreadBody) this.#socket.pause();
    this.continue();
    return false;
  }

  get #mayParse(): boolean {
    if (!this.account.mayParse || this.#hasUnreadBody) return false;
    return !this.#socket.isPaused() && !this.#socket.destroyed && this.#discardable === undefined;
  }

  /** A body in chunks of a byte would take a hundred times its size until it is read. */
  get #hasUnreadBody(): boolean {
    const { latest } = this.account;
    return latest !== undefined && latest.request.readableLength > 0 && !latest.isRead;
  }

  /** Counts the beginning of a head after the last complete request. */
  #measureHead(slice: Buffer): void {
    const { latest } = this.account;
    const bodyBytes = Number(latest?.request.headers['content-length'] ?? 0);
    const bodyStart = slice.length - bodyBytes;
    const isComplete = slice[bodyStart - 1] === LF && slice[bodyStart - 3] === LF;
    if (isComplete || latest?.isRead === false) {
      this.#headBytes = 0;
      return;
    }
    const end = slice.lastIndexOf(HEAD_END);
    if (end >= 0) this.#headBytes = 0;
    for (let at = end < 0 ? 0 : end + HEAD_END.length + bodyBytes; at < slice.length; at += 1) {
      this.#headBytes += slice[at] === LF ? HEADER_BYTES : 1;
    }
  }

  #charge(): void {
    this.#ledger.hold(this, (this.#unparsed.length === 0 ? 0 : this.#unparsed.buffer.byteLength) + this.#headBytes);
  }
}
