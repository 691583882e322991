import { createHash, type Hash } from 'node:crypto';
import type { Category } from './category.ts';

const STRING_BODY_BYTES_MAX = 16 * 1024;
const INITIAL_BYTES = 4 * 1024;
/** How many categories may wait for one with a smaller id; beyond, the id is taken for one that never comes. */
const AHEAD_MAX = 1_000;
const COMMA = ',';

interface Item {
  readonly id: number;
  readonly json: string;
}

/**
 * Every category as the bytes of one JSON array, id ascending, ready to send. Appending costs the new item alone;
 * the body and its strong ETag are had without walking the list.
 *
 * Ids come in their order from one instance. Where several create, one may hear of its own id before it hears of a
 * smaller one of another's: such items are kept apart, ahead of the settled bytes, until the gap is filled. Settled
 * bytes are only ever appended to, so a body that was handed out never changes under a send that is not finished.
 */
export class CategoryList {
  #settled = Buffer.allocUnsafe(INITIAL_BYTES);
  #end = 0;
  /** The ids of the settled items, ascending, and where each begins. */
  #ids: number[] = [];
  #starts: number[] = [];
  /** Of the settled bytes. */
  #hash: Hash = createHash('sha256');
  /** Every id up to here is settled, or never comes. */
  #complete = 0;
  /** Items beyond `#complete`, ascending. */
  #ahead: Item[] = [];
  /** What follows the settled bytes. */
  #tail: string | undefined;
  #etag: string | undefined;
  #small: string | undefined;
  #addedWhileLoading: Category[] | undefined;

  constructor(categories: Iterable<Category> = []) {
    this.#replace(categories);
  }

  /** Adds a category that was just stored; one that the list holds already is passed over. */
  add(category: Category): void {
    this.#addedWhileLoading?.push(category);
    const item = { id: category.id, json: JSON.stringify(category) };
    if (item.id === this.#complete + 1) this.#settle(item);
    else if (item.id > this.#complete) this.#keepAhead(item);
    else this.#insertLate(item);
    this.#settleAhead();
    this.#changed();
  }

  /**
   * Adds what others stored: `load` gives some categories above an id, ascending, without leaving out any, and none
   * when there are no more.
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
   * Reads the list anew after somebody else changed it; what is added meanwhile is not lost. One reload at a time.
   * A failed load leaves the list as it was.
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

  /** The body: one string while the list is small, which sends faster; from then on the shared bytes. */
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
    this.#tail ??= `${this.#ahead.map(({ json }, index) => (index > 0 || this.#ids.length > 0 ? COMMA : '') + json).join('')}]`;
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
    // A new buffer: the old one may still be on its way to somebody.
    this.#settled = Buffer.allocUnsafe(INITIAL_BYTES);
    this.#end = 0;
    this.#ids = [];
    this.#starts = [];
    this.#hash = createHash('sha256');
    this.#complete = 0;
    this.#ahead = [];
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

  #keepAhead(item: Item): void {
    const at = this.#ahead.findLastIndex(({ id }) => id <= item.id);
    if (this.#ahead[at]?.id !== item.id) this.#ahead.splice(at + 1, 0, item);
  }

  /** Settles what no gap is left before. */
  #settleAhead(): void {
    let ready = this.#ahead.length > AHEAD_MAX ? this.#ahead.length : 0;
    while (ready < this.#ahead.length && this.#ahead[ready]?.id === this.#complete + ready + 1) ready += 1;
    for (const item of this.#ahead.splice(0, ready)) this.#settle(item);
  }

  #settleUpTo(lastId: number): void {
    const beyond = this.#ahead.findIndex(({ id }) => id > lastId);
    for (const item of this.#ahead.splice(0, beyond === -1 ? this.#ahead.length : beyond)) this.#settle(item);
    this.#complete = Math.max(this.#complete, lastId);
    this.#settleAhead();
    this.#changed();
  }

  /** One that was no longer waited for is put in its place, at the cost of writing the list anew. */
  #insertLate(late: Item): void {
    const at = this.#ids.findLastIndex((id) => id <= late.id);
    if (this.#ids[at] === late.id) return;
    const items = this.#ids.map((id, index) => ({ id, json: this.#json(index) }));
    const [ahead, complete] = [this.#ahead, this.#complete];
    this.#clear();
    for (const item of items.toSpliced(at + 1, 0, late)) this.#settle(item);
    this.#ahead = ahead;
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
