import { connect, type Socket } from 'node:net';

/** Ends a test that hangs, and times nothing. */
const PATIENCE_MS = 10_000;
const HEAD_END = '\r\n\r\n';

/** One answer as it stood on the wire. Header names are in lower case; none may occur twice. */
export interface RawAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * A socket to the service on which anything can be written. Reads answers strictly, by their Content-Length, so that
 * one answer can be told from two, and a close from a reset.
 */
export class RawConnection implements AsyncDisposable {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  /** Chunks received since `#received` was last joined. */
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  /** How many bytes the next answer takes, as far as is known. */
  #bytesNeeded = 0;
  #ended = false;
  #error: Error | undefined;
  #news = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
      if (this.unreadBytes >= this.#bytesNeeded) this.#tell();
    });
    socket.on('end', () => {
      this.#ended = true;
      this.#tell();
    });
    socket.on('error', (error) => {
      this.#error = error;
      this.#tell();
    });
    socket.on('close', () => {
      if (!this.#ended) this.#error ??= new Error('The service closed without an end');
      this.#tell();
    });
  }

  /** Writes bytes as they are (a string as Latin-1) and resolves when the system has taken them. */
  send(bytes: string | Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const chunk = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    this.#socket.write(chunk, (error) => (error ? reject(error) : resolve()));
    return promise;
  }

  /** Writes the pieces one after the other, so that each can arrive in a packet of its own. */
  async sendPieces(pieces: readonly (string | Uint8Array)[]): Promise<void> {
    for (const piece of pieces) {
      await this.send(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Half-closes: sends no more, and keeps reading. */
  finish(): void {
    this.#socket.end();
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** The next answer, an interim one too. An answer to HEAD has no body. Throws if the service closes before it. */
  async answer({ toHead = false } = {}): Promise<RawAnswer> {
    const answer = await this.#until(() => {
      this.#gather();
      const found = takeAnswer(this.#received, toHead);
      this.#bytesNeeded = found?.length ?? 0;
      if (found?.answer) {
        this.#received = this.#received.subarray(found.length);
        return found.answer;
      }
      if (this.#ended) throw new Error(`The service closed after ${this.#shown()}`);
      return undefined;
    });
    this.#bytesNeeded = 0;
    return answer;
  }

  /** All answers until the service closes, the first perhaps to HEAD. Throws if it resets, or sends anything else. */
  async answersUntilClosed({ toHead = false } = {}): Promise<RawAnswer[]> {
    await this.#until(() => this.#ended || undefined);
    const answers: RawAnswer[] = [];
    while (this.unreadBytes > 0) answers.push(await this.answer({ toHead: toHead && answers.length === 0 }));
    return answers;
  }

  /** True once the service has closed its side. */
  get isEnded(): boolean {
    return this.#ended;
  }

  /** Bytes received beyond the answers parsed so far. */
  get unreadBytes(): number {
    return this.#received.length + this.#chunkBytes;
  }

  /** Resets the connection. */
  async reset(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.resetAndDestroy();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    this.#socket.destroy();
    await closed;
  }

  async #until<T>(look: () => T | undefined): Promise<T> {
    const timeout = AbortSignal.timeout(PATIENCE_MS);
    const late = () => {
      this.#error ??= new Error(`Nothing more came after ${this.#shown()}`);
      this.#tell();
    };
    timeout.addEventListener('abort', late);
    try {
      for (;;) {
        const found = look();
        if (found !== undefined) return found;
        if (this.#error) throw this.#error;
        await this.#news.promise;
      }
    } finally {
      timeout.removeEventListener('abort', late);
    }
  }

  #gather(): void {
    this.#received = Buffer.concat([this.#received, ...this.#chunks]);
    this.#chunks = [];
    this.#chunkBytes = 0;
  }

  #shown(): string {
    this.#gather();
    return JSON.stringify(this.#received.toString('latin1', 0, 300));
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }
}

/** Opens a raw connection to the service at a base address. */
export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return new RawConnection(socket);
}

/**
 * The answer that bytes begin with and its length, without the answer while it is incomplete, or undefined while its
 * head is. Throws if it is malformed.
 */
function takeAnswer(bytes: Buffer, toHead: boolean): { answer: RawAnswer | undefined; length: number } | undefined {
  const headLength = bytes.indexOf(HEAD_END);
  if (headLength < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headLength).split('\r\n');
  const [, code, reason = ''] = /^HTTP\/1\.1 ([1-5][0-9]{2}) ([\x20-\x7e]+)$/.exec(statusLine) ?? [];
  if (code === undefined) throw new Error(`Not a status line: ${JSON.stringify(statusLine)}`);
  const status = Number(code);
  const headers = readHeaders(lines);
  const start = headLength + HEAD_END.length;
  const length = start + bodyLength(status, headers, toHead);
  if (bytes.length < length) return { answer: undefined, length };
  return { answer: { status, reason, headers, body: bytes.toString('utf8', start, length) }, length };
}

function readHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`Not a header: ${JSON.stringify(line)}`);
    if (headers.has(name.toLowerCase())) throw new Error(`Header twice: ${name}`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function bodyLength(status: number, headers: ReadonlyMap<string, string>, toHead: boolean): number {
  if (headers.has('transfer-encoding')) throw new Error('The service sends no chunks');
  if (status < 200 || status === 204 || status === 304) {
    if (headers.has('content-length')) throw new Error(`A ${status} with a Content-Length`);
    return 0;
  }
  const length = headers.get('content-length') ?? '';
  if (!/^[0-9]+$/.test(length)) throw new Error(`Not a Content-Length: ${JSON.stringify(length)}`);
  return toHead ? 0 : Number(length);
}
