import type { IncomingMessage } from 'node:http';
import { CatalogError } from '../../catalog/error.ts';

/** Larger bodies of JSON are refused with 413. */
export const BODY_BYTES_MAX = 256 * 1024;
/** Chunks of a body. Each costs about as much as 64 bytes. */
const CHUNKS_MAX = 4_096;
const NO_BYTES = Buffer.alloc(0);

/**
 * The body of a request, read into one growing buffer as soon as its head was read: Node would keep each chunk by
 * itself, and a body in chunks of a byte takes a hundred times its size. Reading pauses at 256 KiB until `read`.
 */
export class Body {
  readonly #request: IncomingMessage;
  #bytes: Buffer = NO_BYTES;
  #length = 0;
  #chunks = 0;
  #bytesMax = BODY_BYTES_MAX;
  #reader: PromiseWithResolvers<Buffer> | undefined;
  #failure: CatalogError | undefined;

  constructor(request: IncomingMessage) {
    this.#request = request;
    request.on('data', this.#take);
    // Fast path: asked for before the parser goes on, a body that came with its head is not buffered by Node.
    request.read(0);
    // Each comes once; a listener that removes itself costs more.
    request.on('end', () => this.#reader?.resolve(this.#all));
    request.on('close', () => {
      // Every request closes; build the error only if this one was aborted.
      if (request.readableEnded) return;
      const message = `The ${request.method} request was aborted before its body was complete`;
      this.fail(new CatalogError('malformed_request', message));
    });
  }

  /** True once all of it was read by `read`. */
  get isTaken(): boolean {
    return this.#reader !== undefined && this.#request.readableEnded;
  }

  /** Reads to the end. Rejects with `payload_too_large` beyond `bytesMax`, or with the error that ended the request. */
  read(bytesMax: number): Promise<Buffer> {
    this.#bytesMax = bytesMax;
    this.#reader = Promise.withResolvers();
    const failure = this.#failure ?? this.#excess();
    if (failure) this.fail(failure);
    else if (this.#request.readableEnded) this.#reader.resolve(this.#all);
    else if (this.#request.isPaused()) this.#request.resume();
    return this.#reader.promise;
  }

  /** Ends reading with an error; what was read is dropped, and what still comes is discarded. */
  fail(failure: CatalogError): void {
    this.#failure ??= failure;
    this.#reader?.reject(this.#failure);
    this.discard();
  }

  /** Drops what was read, and what still comes. */
  discard(): void {
    this.#bytes = NO_BYTES;
    if (!this.#request.readableEnded) this.#request.off('data', this.#take);
  }

  get #all(): Buffer {
    // Fast path: most bodies come in one piece, of their length.
    return this.#length === this.#bytes.length ? this.#bytes : this.#bytes.subarray(0, this.#length);
  }

  /** The error of a body beyond its bounds. */
  #excess(): CatalogError | undefined {
    if (this.#length > this.#bytesMax) return tooLarge(this.#bytesMax);
    if (this.#chunks <= CHUNKS_MAX || this.#request.headers['transfer-encoding'] === undefined) return undefined;
    return new CatalogError('payload_too_large', `The body has more than ${CHUNKS_MAX} chunks; send larger ones`);
  }

  readonly #take = (chunk: Buffer): void => {
    const start = this.#length;
    this.#length += chunk.length;
    this.#chunks += 1;
    const excess = this.#excess();
    if (excess && this.#reader) {
      this.fail(excess);
      return;
    }
    if (excess) this.#request.pause();
    // Fast path: most bodies come in one piece.
    if (start === 0) this.#bytes = chunk;
    else this.#append(chunk, start);
  };

  #append(chunk: Buffer, start: number): void {
    if (this.#length > this.#bytes.length) {
      const announced = Number(this.#request.headers['content-length'] ?? 0);
      const bytes = announced <= this.#bytesMax ? announced : 0;
      // The operating system gives each page only once it is written to.
      const grown = Buffer.allocUnsafeSlow(Math.max(bytes, this.#length, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, start);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, start);
  }
}

/** The 413 for a body beyond its bound. */
export function tooLarge(bytesMax: number): CatalogError {
  return new CatalogError('payload_too_large', `The body is larger than ${bytesMax} bytes; send less`);
}
