import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Category, ChangedCategory } from './category.ts';
import type { PageQuery } from './resource.ts';

const STRING_BODY_BYTES_MAX = 16 * 1024;
/** One chunk is what a rename or a deletion copies; an item that is longer has a chunk of its own. */
const CHUNK_BYTES = 256 * 1024;
const COMMA = ',';
const NO_BYTES = Buffer.alloc(0);
const OPENING = Buffer.from('[');
const CLOSING = Buffer.from(']');
/** The 32-bit words of a SHA-256. */
const HASH_WORDS = 8;

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
  /** Each has at least one item. */
  #chunks: Chunk[] = [];
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
    for (const category of categories) this.#append(category);
  }

  /**
   * Adds a category that was just stored, unless ids below it are missing here: then returns false, and `catchUp` must
   * add it. Ignores one whose id was read already: it is in the list, or was deleted since.
   */
  append(category: Category, json?: string): boolean {
    if (category.id > this.#complete + 1) return false;
    this.#addedWhileLoading?.push(category);
    if (category.id > this.#complete) this.#append(category, json);
    return true;
  }

  /**
   * Applies renames and deletions, but for ids that are not read yet: `catchUp` reads those as they are then. Each
   * copies one chunk; the event loop turns between two of them.
   */
  async change(changes: readonly ChangedCategory[]): Promise<void> {
    for (const { id, category } of changes) {
      if (id > this.#complete) continue;
      this.#replace(id, category && JSON.stringify(category));
      this.#changed();
      await nextTurn();
    }
  }

  /** Adds categories that other processes stored, a page at a time; the event loop turns between two pages. */
  async catchUp(load: LoadCategories): Promise<void> {
    for (;;) {
      const found = await load(this.#complete);
      if (found.length === 0) return;
      for (const category of found) if (category.id > this.#complete) this.#append(category);
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
    this.#body ??= bodyOf(this.#chunks.map((chunk) => chunk.items(0)));
    return this.#body;
  }

  /** A page of the list out of the same bytes, and its last id if more follow. */
  page({ after, limit }: PageQuery): { body: string | readonly Uint8Array[]; moreAfter: number | undefined } {
    const parts: Buffer[] = [];
    let left = limit;
    let lastId: number | undefined;
    for (let index = Math.max(0, this.#indexOf(after)); index < this.#chunks.length && left > 0; index += 1) {
      const chunk = this.#chunks[index] as Chunk;
      const from = countUpTo(after, chunk.ids.length, (at) => chunk.ids[at]);
      const to = Math.min(chunk.ids.length, from + left);
      if (to === from) continue;
      parts.push(chunk.items(from, to));
      lastId = chunk.ids[to - 1];
      left -= to - from;
    }
    const end = this.#chunks.at(-1)?.ids.at(-1);
    return { body: bodyOf(parts), moreAfter: lastId === end ? undefined : lastId };
  }

  /** The strong validator of exactly these bytes (RFC 9110, section 8.8.3); the same on every instance. */
  get etag(): string {
    // With the number of items, so that no choice of items that are added gives the tag of the list without them.
    this.#etag ??= `"${this.#count}-${Buffer.from(this.#sums.buffer).toString('base64url')}"`;
    return this.#etag;
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

  #append(category: Category, json = JSON.stringify(category)): void {
    const { id } = category;
    assert(id > this.#complete, 'ids ascend');
    this.#tally(json, 1);
    const length = Buffer.byteLength(json) + COMMA.length;
    let last = this.#chunks.at(-1);
    if (!last?.hasRoom(length)) {
      last = new Chunk(Math.max(CHUNK_BYTES, length));
      this.#chunks.push(last);
    }
    last.append(id, json, length);
    this.#complete = id;
    this.#changed();
  }

  /** Replaces the item with an id; without JSON, removes it. One that is not there was deleted: no id comes back. */
  #replace(id: number, json: string | undefined): void {
    const index = this.#indexOf(id);
    const chunk = this.#chunks[index];
    const at = chunk ? countUpTo(id, chunk.ids.length, (each) => chunk.ids[each]) - 1 : -1;
    if (chunk?.ids[at] !== id) return;
    this.#tally(chunk.json(at), -1);
    if (json !== undefined) this.#tally(json, 1);
    // Only the last one is appended to: room in the others would be wasted.
    const replaced = chunk.replaced(at, json, chunk === this.#chunks.at(-1) ? CHUNK_BYTES : 0);
    this.#chunks.splice(index, 1, ...(replaced.ids.length > 0 ? [replaced] : []));
  }

  /** The place of the chunk in which an id is, or would be; −1 before the first. */
  #indexOf(id: number): number {
    return countUpTo(id, this.#chunks.length, (at) => this.#chunks[at]?.ids[0]) - 1;
  }
}

/** Counts, by halves, the ascending ids that are no greater than one. */
function countUpTo(id: number, count: number, idAt: (at: number) => number | undefined): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((idAt(middle) ?? 0) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The bytes of the list before its first category. */
export const LIST_START_BYTES = 1;

/** The bytes that a category takes in the list, with the comma or bracket that follows it. */
export function categoryBytes(category: Category, json = JSON.stringify(category)): number {
  return Buffer.byteLength(json) + COMMA.length;
}

/** An array of items, each of which ends with a comma: a string while it is small, which sends faster. */
function bodyOf(parts: Buffer[]): string | readonly Uint8Array[] {
  const last = parts.pop();
  if (!last) return '[]';
  const all = [OPENING, ...parts, last.subarray(0, -COMMA.length), CLOSING];
  const length = all.reduce((sum, part) => sum + part.length, 0);
  return length < STRING_BODY_BYTES_MAX ? Buffer.concat(all).toString('utf8') : all;
}

/** Some of the items, each as JSON and a comma, in one buffer. Bytes that were written are never written over. */
class Chunk {
  readonly ids: number[] = [];
  /** Where each item begins. */
  readonly #starts: number[] = [];
  readonly #bytes: Buffer;
  #length = 0;

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  hasRoom(bytes: number): boolean {
    return this.#length + bytes <= this.#bytes.length;
  }

  /** Appends an item of this many bytes, its comma included. */
  append(id: number, json: string, length: number): void {
    this.ids.push(id);
    this.#starts.push(this.#length);
    this.#bytes.write(json, this.#length);
    this.#length += length;
    this.#bytes.write(COMMA, this.#length - COMMA.length);
  }

  /** The items from one place up to another, with the comma of the last. */
  items(from: number, to = this.ids.length): Buffer {
    return this.#bytes.subarray(this.#startOf(from), this.#startOf(to));
  }

  json(at: number): string {
    return this.items(at, at + 1)
      .toString('utf8')
      .slice(0, -COMMA.length);
  }

  /** A copy of at least `room` bytes, with other JSON in one place, or without the item there. */
  replaced(at: number, json: string | undefined, room: number): Chunk {
    const item = json === undefined ? NO_BYTES : Buffer.from(json + COMMA);
    const parts = [this.items(0, at), item, this.items(at + 1)];
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const copy = new Chunk(Math.max(room, length));
    for (const part of parts) copy.#length += part.copy(copy.#bytes, copy.#length);
    const moved = length - this.#length;
    for (const [place, id] of this.ids.entries()) {
      if (place === at && json === undefined) continue;
      copy.ids.push(id);
      copy.#starts.push(this.#startOf(place) + (place > at ? moved : 0));
    }
    return copy;
  }

  #startOf(at: number): number {
    return this.#starts[at] ?? this.#length;
  }
}
