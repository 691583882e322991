import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Category, ChangedCategory } from './category.ts';
import type { PageQuery } from './resource.ts';

const STRING_BODY_BYTES_MAX = 16 * 1024;
const CHUNK_BYTES_MIN = 4 * 1024;
/** One chunk is what a rename or a deletion copies; renames may make it grow to twice this. */
const CHUNK_BYTES = 1024 * 1024;
const COMMA = ',';
const NO_BYTES = Buffer.alloc(0);
const OPENING = Buffer.from('[');
const CLOSING = Buffer.from(']');
/** The 32-bit words of a SHA-256. */
const HASH_WORDS = 8;

interface Item {
  readonly id: number;
  readonly json: string;
}

/** Loads a page of categories above an id, ascending and without gaps, and an empty one at the end. */
export type LoadCategories = (after: number) => Promise<readonly Category[]>;

/**
 * Every category as the bytes of one JSON array, ids ascending, ready to send. An append serialises only the new item,
 * a rename or deletion copies one chunk; the body and its strong ETag need no walk of the list.
 *
 * Ids are committed in order. With several instances, one may learn of an id, by its own create or by a rename, before
 * a smaller one of another: then it is left to `catchUp`, so that the list never has a hole. A client that remembers
 * the highest id it saw would never see those that appear below it later. Bytes are append-only or replaced by a copy,
 * so a body never changes while it is being sent.
 */
export class CategoryList {
  /** The first one begins with the opening bracket, and stays when it has no item; the others have at least one. */
  #chunks: Chunk[] = [new Chunk(OPENING)];
  #count = 0;
  /**
   * The sum of the SHA-256 of every item, by words. Items are put in and taken out of it in any order, so that the tag
   * depends on the items alone, and a change costs the hash of one.
   */
  #sums = new Uint32Array(HASH_WORDS);
  /** Every id up to this one is in the list, or deleted; none beyond it is in the list. */
  #complete = 0;
  #etag: string | undefined;
  #body: string | readonly Uint8Array[] | undefined;
  #addedWhileLoading: Category[] | undefined;

  constructor(categories: Iterable<Category> = []) {
    for (const category of categories) this.#append(itemOf(category));
  }

  /**
   * Adds a category that was just stored, unless ids below it are missing here: then returns false, and `catchUp` must
   * add it. Ignores one whose id was read already: it is in the list, or was deleted since.
   */
  append(category: Category): boolean {
    if (category.id > this.#complete + 1) return false;
    this.#addedWhileLoading?.push(category);
    if (category.id > this.#complete) this.#append(itemOf(category));
    return true;
  }

  /**
   * Applies renames and deletions, but for ids that are not read yet: `catchUp` reads those as they are then. Each
   * copies one chunk; the event loop turns between two of them.
   */
  async change(changes: readonly ChangedCategory[]): Promise<void> {
    for (const { id, category } of changes) {
      if (id > this.#complete) continue;
      this.#replace(id, category && itemOf(category));
      this.#changed();
      await nextTurn();
    }
  }

  /** Adds categories that other processes stored, a page at a time; the event loop turns between two pages. */
  async catchUp(load: LoadCategories): Promise<void> {
    for (;;) {
      const found = await load(this.#complete);
      if (found.length === 0) return;
      for (const category of found) if (category.id > this.#complete) this.#append(itemOf(category));
      await nextTurn();
    }
  }

  /**
   * Reloads the list, a page at a time; categories appended meanwhile are kept. Nothing else may change it meanwhile. A
   * failed load leaves the list as it was.
   */
  async reload(load: LoadCategories): Promise<void> {
    const added: Category[] = [];
    this.#addedWhileLoading = added;
    try {
      const fresh = new CategoryList();
      await fresh.catchUp(load);
      this.#chunks = fresh.#chunks;
      this.#count = fresh.#count;
      this.#sums = fresh.#sums;
      this.#complete = fresh.#complete;
      this.#changed();
    } finally {
      this.#addedWhileLoading = undefined;
    }
    for (const category of added) this.append(category);
  }

  /** The body: a string while the list is small, which sends faster; beyond that the shared bytes. */
  get body(): string | readonly Uint8Array[] {
    this.#body ??= this.#makeBody();
    return this.#body;
  }

  /** A page of the list out of the same bytes, and its last id if more follow. */
  page({ after, limit }: PageQuery): { body: string | readonly Uint8Array[]; moreAfter: number | undefined } {
    const { index, at, isFound } = this.#find(after);
    const parts: Buffer[] = [];
    let from = isFound ? at + 1 : at;
    let left = limit;
    let lastId: number | undefined;
    for (let next = index; next < this.#chunks.length && left > 0; next += 1) {
      const chunk = this.#chunks[next] as Chunk;
      const to = Math.min(chunk.ids.length, from + left);
      if (to > from) {
        parts.push(chunk.items(from, to));
        lastId = chunk.ids[to - 1];
        left -= to - from;
      }
      from = 0;
    }
    const end = this.#last.ids.at(-1);
    return { body: bodyOf(parts), moreAfter: lastId === end ? undefined : lastId };
  }

  /** The strong validator of exactly these bytes (RFC 9110, section 8.8.3); the same on every instance. */
  get etag(): string {
    // With the number of items, so that no choice of items that are added gives the tag of the list without them.
    this.#etag ??= `"${this.#count}-${Buffer.from(this.#sums.buffer).toString('base64url')}"`;
    return this.#etag;
  }

  #makeBody(): string | readonly Uint8Array[] {
    const last = this.#last;
    const parts = this.#chunks.map((chunk) => chunk.written);
    // Each item ends with a comma, which the last one must not.
    if (last.ids.length > 0) parts.splice(-1, 1, last.written.subarray(0, -COMMA.length));
    const [only] = parts;
    if (parts.length === 1 && only && only.length < STRING_BODY_BYTES_MAX) return `${only.toString('utf8')}]`;
    return [...parts, CLOSING];
  }

  get #last(): Chunk {
    return this.#chunks.at(-1) as Chunk;
  }

  #changed(): void {
    this.#etag = undefined;
    this.#body = undefined;
  }

  /** Counts an item that the list has from now on, or no longer. */
  #tally(json: string, by: 1 | -1): void {
    this.#count += by;
    // As characters, a byte each: to make a buffer of it takes longer than to hash an item.
    const digest = hash('sha256', json, 'latin1');
    for (let word = 0; word < HASH_WORDS; word += 1) {
      const at = word * 4;
      const low = digest.charCodeAt(at) | (digest.charCodeAt(at + 1) << 8);
      const high = digest.charCodeAt(at + 2) | (digest.charCodeAt(at + 3) << 8);
      this.#sums[word] = (this.#sums[word] ?? 0) + by * (low | (high << 16));
    }
  }

  #append(item: Item): void {
    assert(item.id > this.#complete, 'ids ascend');
    this.#tally(item.json, 1);
    const length = Buffer.byteLength(item.json) + COMMA.length;
    let last = this.#last;
    if (last.ids.length > 0 && last.length + length > CHUNK_BYTES) {
      last = new Chunk(NO_BYTES);
      this.#chunks.push(last);
    }
    last.append(item, length);
    this.#complete = item.id;
    this.#changed();
  }

  /** Puts an item where the one with its id is, or belongs; without an item, removes that one. */
  #replace(id: number, item: Item | undefined): void {
    const { index, chunk, at, isFound } = this.#find(id);
    if (!isFound && !item) return;
    if (isFound) this.#tally(chunk.json(at), -1);
    if (item) this.#tally(item.json, 1);
    this.#replaceChunk(index, chunk.spliced(at, isFound ? 1 : 0, item ? [item] : []));
  }

  /** Where the item with an id is, or belongs. */
  #find(id: number): { index: number; chunk: Chunk; at: number; isFound: boolean } {
    const index = Math.max(0, countUpTo(id, this.#chunks.length, (at) => this.#chunks[at]?.ids[0] ?? 0) - 1);
    const chunk = this.#chunks[index] as Chunk;
    const upTo = countUpTo(id, chunk.ids.length, (at) => chunk.ids[at] ?? 0);
    const isFound = chunk.ids[upTo - 1] === id;
    return { index, chunk, at: isFound ? upTo - 1 : upTo, isFound };
  }

  /** Splits a chunk that has become long, and joins those that have become short. */
  #replaceChunk(index: number, chunk: Chunk): void {
    this.#chunks.splice(index, 1, ...(chunk.length > 2 * CHUNK_BYTES ? chunk.halves() : [chunk]));
    for (const second of [index + 1, index]) {
      const [one, other] = [this.#chunks[second - 1], this.#chunks[second]];
      if (!one || !other || (other.ids.length > 0 && one.length + other.length > CHUNK_BYTES)) continue;
      this.#chunks.splice(second - 1, 2, one.joined(other));
    }
  }
}

/** Counts, by halves, the ascending ids that are no greater than one. */
function countUpTo(id: number, count: number, idAt: (at: number) => number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (idAt(middle) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The bytes of the list before its first category. */
export const LIST_START_BYTES = 1;

/** The bytes that a category takes in the list, with the comma or bracket that follows it. */
export function categoryBytes(category: Category): number {
  return Buffer.byteLength(JSON.stringify(category)) + COMMA.length;
}

/** An array of items, each of which ends with a comma: a string while it is small, which sends faster. */
function bodyOf(parts: Buffer[]): string | readonly Uint8Array[] {
  const last = parts.pop();
  if (!last) return '[]';
  const all = [OPENING, ...parts, last.subarray(0, -COMMA.length), CLOSING];
  const length = all.reduce((sum, part) => sum + part.length, 0);
  return length < STRING_BODY_BYTES_MAX ? Buffer.concat(all).toString('utf8') : all;
}

function itemOf(category: Category): Item {
  return { id: category.id, json: JSON.stringify(category) };
}

/** Some of the items, each as JSON and a comma. Bytes that were written are never written over. */
class Chunk {
  readonly ids: number[];
  /** Where each item begins. */
  readonly #starts: number[];
  #bytes: Buffer;
  /** The bytes that are written. */
  length: number;

  constructor(bytes: Buffer, ids: number[] = [], starts: number[] = []) {
    this.#bytes = bytes;
    this.length = bytes.length;
    this.ids = ids;
    this.#starts = starts;
  }

  get written(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** The items from one place up to another, with the comma of the last. */
  items(from: number, to: number): Buffer {
    return this.#bytes.subarray(this.#startOf(from), this.#startOf(to));
  }

  json(at: number): string {
    return this.#bytes.toString('utf8', this.#startOf(at), this.#startOf(at + 1) - COMMA.length);
  }

  /** Appends an item of this many bytes, its comma included. */
  append({ id, json }: Item, length: number): void {
    if (this.length + length > this.#bytes.length) {
      const grown = Math.min(Math.max(this.#bytes.length * 2, CHUNK_BYTES_MIN), CHUNK_BYTES);
      const bytes = Buffer.allocUnsafeSlow(Math.max(grown, this.length + length));
      this.#bytes.copy(bytes, 0, 0, this.length);
      this.#bytes = bytes;
    }
    this.ids.push(id);
    this.#starts.push(this.length);
    this.#bytes.write(json, this.length);
    this.length += length;
    this.#bytes.write(COMMA, this.length - COMMA.length);
  }

  /** A copy with items in the place of a number of others. */
  spliced(at: number, count: number, items: readonly Item[]): Chunk {
    const [start, next] = [this.#startOf(at), this.#startOf(at + count)];
    const bytes = Buffer.from(items.map(({ json }) => json + COMMA).join(''));
    const moved = bytes.length - (next - start);
    return new Chunk(
      Buffer.concat([this.#bytes.subarray(0, start), bytes, this.#bytes.subarray(next, this.length)]),
      this.ids.toSpliced(at, count, ...items.map(({ id }) => id)),
      [
        ...this.#starts.slice(0, at),
        ...items.map(() => start),
        ...this.#starts.slice(at + count).map((each) => each + moved),
      ],
    );
  }

  joined(other: Chunk): Chunk {
    return new Chunk(
      Buffer.concat([this.written, other.written]),
      [...this.ids, ...other.ids],
      [...this.#starts, ...other.#starts.map((each) => each + this.length)],
    );
  }

  /** Views of the same bytes: neither has room, so that what is appended goes into a copy. */
  halves(): [Chunk, Chunk] {
    const at = Math.max(
      1,
      this.#starts.findIndex((start) => start >= this.length / 2),
    );
    const cut = this.#startOf(at);
    return [
      new Chunk(this.#bytes.subarray(0, cut), this.ids.slice(0, at), this.#starts.slice(0, at)),
      new Chunk(
        this.#bytes.subarray(cut, this.length),
        this.ids.slice(at),
        this.#starts.slice(at).map((start) => start - cut),
      ),
    ];
  }

  #startOf(at: number): number {
    return this.#starts[at] ?? this.length;
  }
}
