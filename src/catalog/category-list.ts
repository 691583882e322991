import { createHash, type Hash } from 'node:crypto';
import type { Category } from './category.ts';

const STRING_BODY_BYTES_MAX = 16 * 1024;
const INITIAL_BYTES = 4 * 1024;
/** How many categories may wait behind a gap in the ids; beyond it the gap is taken to be permanent. */
const PENDING_MAX = 1_000;
const COMMA = ',';

interface Item {
  readonly id: number;
  readonly json: string;
}

/**
 * Every category as the bytes of one JSON array, ids ascending, ready to send. An append serialises only the new item;
 * the body and its strong ETag need no walk of the list.
 *
 * With one instance, ids arrive in order. With several, an instance may learn of its own id before a smaller one of
 * another instance: such items are pending, apart from the settled bytes, until the gap is filled. Settled bytes are
 * append-only, so a body never changes while it is being sent.
 */
export class CategoryList {
  #settled = Buffer.allocUnsafe(INITIAL_BYTES);
  #end = 0;
  /** The ids of the settled items, ascending, and where each begins. */
  #ids: number[] = [];
  #starts: number[] = [];
  /** Hash of the settled bytes. */
  #hash: Hash = createHash('sha256');
  /** Every id up to this one is settled or permanently missing. */
  #complete = 0;
  /** Items beyond `#complete`, ascending. */
  #pending: Item[] = [];
  /** The bytes after the settled ones. */
  #tail: string | undefined;
  #etag: string | undefined;
  #small: string | undefined;
  #addedWhileLoading: Category[] | undefined;

  constructor(categories: Iterable<Category> = []) {
    this.#replace(categories);
  }

  /** Adds a category that was just stored; ignores one that the list already holds. */
  add(category: Category): void {
    this.#addedWhileLoading?.push(category);
    const item = { id: category.id, json: JSON.stringify(category) };
    if (item.id === this.#complete + 1) this.#settle(item);
    else if (item.id > this.#complete) this.#addPending(item);
    else this.#insertLate(item);
    this.#settlePending();
    this.#changed();
  }

  /**
   * Adds categories that other processes stored. `load` returns a page of categories above an id, ascending and without
   * gaps, and an empty one at the end.
   */
  async catchUp(load: (after: number) => Promise<readonly Category[]>): Promise<void> {
    for (;;) {
      const found = await load(this.#complete);
      const last = found.at(-1);
      if (!last) return;
      for (const category of found) this.add(category);
      this.#settleUpTo(last.id);
    }
  }

  /**
   * Reloads the list after another process changed it; categories added meanwhile are kept. One reload at a time. A
   * failed load leaves the list as it was.
   */
  async reload(load: () => Promise<readonly Category[]>): Promise<void> {
    const added: Category[] = [];
    this.#addedWhileLoading = added;
    try {
      const categories = await load();
      this.#addedWhileLoading = undefined;
      this.#replace(categories);
      for (const category of added) this.add(category);
    } finally {
      this.#addedWhileLoading = undefined;
    }
  }

  /** The body: a string while the list is small, which sends faster; beyond that the shared bytes. */
  get body(): string | readonly Uint8Array[] {
    if (this.#small !== undefined) return this.#small;
    const settled = this.#settled.subarray(0, this.#end);
    if (this.#end >= STRING_BODY_BYTES_MAX) return [settled, Buffer.from(this.#rest())];
    this.#small = settled.toString('utf8') + this.#rest();
    return this.#small;
  }

  /** The strong validator of exactly these bytes (RFC 9110, section 8.8.3); the same on every instance. */
  get etag(): string {
    this.#etag ??= `"${this.#hash.copy().update(this.#rest()).digest('base64url')}"`;
    return this.#etag;
  }

  #rest(): string {
    this.#tail ??= `${this.#pending.map(({ json }, index) => (index > 0 || this.#ids.length > 0 ? COMMA : '') + json).join('')}]`;
    return this.#tail;
  }

  #changed(): void {
    this.#tail = undefined;
    this.#etag = undefined;
    this.#small = undefined;
  }

  #replace(categories: Iterable<Category>): void {
    this.#clear();
    for (const category of categories) this.#settle({ id: category.id, json: JSON.stringify(category) });
  }

  #clear(): void {
    // A new buffer: a response may still be sending the old one.
    this.#settled = Buffer.allocUnsafe(INITIAL_BYTES);
    this.#end = 0;
    this.#ids = [];
    this.#starts = [];
    this.#hash = createHash('sha256');
    this.#complete = 0;
    this.#pending = [];
    this.#changed();
    this.#write('[');
  }

  #settle({ id, json }: Item): void {
    if (this.#ids.length > 0) this.#write(COMMA);
    this.#ids.push(id);
    this.#starts.push(this.#end);
    this.#write(json);
    this.#complete = id;
  }

  #addPending(item: Item): void {
    const at = this.#pending.findLastIndex(({ id }) => id <= item.id);
    if (this.#pending[at]?.id !== item.id) this.#pending.splice(at + 1, 0, item);
  }

  /** Settles pending items that no longer have a gap before them. */
  #settlePending(): void {
    let ready = this.#pending.length > PENDING_MAX ? this.#pending.length : 0;
    while (ready < this.#pending.length && this.#pending[ready]?.id === this.#complete + ready + 1) ready += 1;
    for (const item of this.#pending.splice(0, ready)) this.#settle(item);
  }

  #settleUpTo(lastId: number): void {
    const beyond = this.#pending.findIndex(({ id }) => id > lastId);
    for (const item of this.#pending.splice(0, beyond === -1 ? this.#pending.length : beyond)) this.#settle(item);
    this.#complete = Math.max(this.#complete, lastId);
    this.#settlePending();
    this.#changed();
  }

  /** Inserts an item whose gap was given up; this rewrites the list. */
  #insertLate(late: Item): void {
    const at = this.#ids.findLastIndex((id) => id <= late.id);
    if (this.#ids[at] === late.id) return;
    const items = this.#ids.map((id, index) => ({ id, json: this.#json(index) }));
    const [pending, complete] = [this.#pending, this.#complete];
    this.#clear();
    for (const item of items.toSpliced(at + 1, 0, late)) this.#settle(item);
    this.#pending = pending;
    this.#complete = complete;
  }

  #json(index: number): string {
    const next = this.#starts[index + 1];
    return this.#settled.toString('utf8', this.#starts[index], next === undefined ? this.#end : next - COMMA.length);
  }

  #write(text: string): void {
    const length = Buffer.byteLength(text);
    if (this.#end + length > this.#settled.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#settled.length * 2, this.#end + length));
      this.#settled.copy(grown, 0, 0, this.#end);
      this.#settled = grown;
    }
    this.#settled.write(text, this.#end);
    this.#hash.update(this.#settled.subarray(this.#end, this.#end + length));
    this.#end += length;
  }
}
