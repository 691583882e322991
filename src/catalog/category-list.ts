import { createHash, type Hash } from 'node:crypto';
import type { Category } from './category.ts';

const STRING_BODY_BYTES_MAX = 16 * 1024;
const INITIAL_BYTES = 4 * 1024;
const COMMA = ',';
const CLOSING_BRACKET = Buffer.from(']');

/**
 * Every category as the bytes of one JSON array, id ascending, ready to send. Appending costs the new item alone;
 * the body and its strong ETag are had without walking the list.
 *
 * A body that was handed out never changes: items are only ever written behind it, and the closing bracket is kept
 * apart so that growing the list does not overwrite it under a send that is not finished.
 */
export class CategoryList {
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES);
  #end = 0;
  /** The ids, ascending, and where the item of each begins. */
  #ids: number[] = [];
  #starts: number[] = [];
  #hash: Hash = createHash('sha256');
  #etag: string | undefined;
  #small: string | undefined;
  #addedWhileLoading: Category[] | undefined;

  constructor(categories: Iterable<Category> = []) {
    this.#replace(categories);
  }

  /**
   * Adds a category that was just stored; one that the list holds already is passed over. Ids mostly come in their
   * order. One that is overtaken by a higher one is put in its place, at the cost of writing the list anew.
   */
  add(category: Category): void {
    this.#addedWhileLoading?.push(category);
    const last = this.#ids.at(-1) ?? 0;
    if (category.id > last) this.#append(category.id, JSON.stringify(category));
    else this.#insert(category);
    this.#etag = undefined;
    this.#small = undefined;
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
    if (this.#end >= STRING_BODY_BYTES_MAX) return [this.#bytes.subarray(0, this.#end), CLOSING_BRACKET];
    this.#small ??= `${this.#bytes.toString('utf8', 0, this.#end)}]`;
    return this.#small;
  }

  /** The strong validator of exactly these bytes (RFC 9110, section 8.8.3); the same on every instance. */
  get etag(): string {
    this.#etag ??= `"${this.#hash.copy().digest('base64url')}"`;
    return this.#etag;
  }

  #replace(categories: Iterable<Category>): void {
    this.#clear();
    for (const category of categories) this.#append(category.id, JSON.stringify(category));
  }

  #insert(category: Category): void {
    const at = this.#ids.findLastIndex((id) => id <= category.id);
    if (this.#ids[at] === category.id) return;
    const items = this.#ids.map((id, index) => ({ id, item: this.#item(index) }));
    items.splice(at + 1, 0, { id: category.id, item: JSON.stringify(category) });
    this.#clear();
    for (const { id, item } of items) this.#append(id, item);
  }

  #item(index: number): string {
    const next = this.#starts[index + 1];
    return this.#bytes.toString('utf8', this.#starts[index], next === undefined ? this.#end : next - COMMA.length);
  }

  #clear(): void {
    // A new buffer: the old one may still be on its way to somebody.
    this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    this.#end = 0;
    this.#ids = [];
    this.#starts = [];
    this.#hash = createHash('sha256');
    this.#etag = undefined;
    this.#small = undefined;
    this.#write('[');
  }

  #append(id: number, item: string): void {
    if (this.#ids.length > 0) this.#write(COMMA);
    this.#ids.push(id);
    this.#starts.push(this.#end);
    this.#write(item);
  }

  #write(text: string): void {
    const length = Buffer.byteLength(text);
    if (this.#end + length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + length));
      this.#bytes.copy(grown, 0, 0, this.#end);
      this.#bytes = grown;
    }
    this.#bytes.write(text, this.#end);
    this.#hash.update(this.#bytes.subarray(this.#end, this.#end + length));
    this.#end += length;
  }
}
