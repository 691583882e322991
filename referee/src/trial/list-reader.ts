const ITEM_BYTES_MAX = 1024 * 1024;
/** Beyond these, only the ids and the run's own categories are kept. */
const ITEMS_KEPT_MAX = 10_000;
const [TAB, LF, CR, SPACE, QUOTE, COMMA] = [0x09, 0x0a, 0x0d, 0x20, 0x22, 0x2c];
const [OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5c, 0x5d, 0x7b, 0x7d];

export type Category = Readonly<Record<string, unknown>>;

/** A list of categories: what rules ask of it, so that a list of any size can be judged. */
export interface Listing {
  /** Why it is no JSON array of categories; undefined if it is one. */
  readonly fault: string | undefined;
  readonly count: number;
  /** The ids as they were written. */
  readonly ids: ReadonlySet<number | bigint | string>;
  /** The first 10,000, and those that this run created. */
  readonly items: readonly Category[];
  /** The first category of each kind that some rule forbids. */
  readonly odd: Readonly<Partial<Record<Oddity, Category>>>;
}

type Oddity = 'id-no-int64' | 'id-twice' | 'description-no-string' | 'not-ascending' | 'further-member';

/** Reads a list item by item, so that no more than one is in memory as text. */
export class ListReader {
  readonly #isOwn: (name: string) => boolean;
  readonly #ids = new Set<number | bigint | string>();
  readonly #items: Category[] = [];
  readonly #odd: Partial<Record<Oddity, Category>> = {};
  #fault: string | undefined;
  #count = 0;
  #depth = 0;
  #isDone = false;
  #inString = false;
  #isEscaped = false;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #lastId: number | bigint | undefined;

  /** `isOwn` is true for the names of this run. */
  constructor(isOwn: (name: string) => boolean) {
    this.#isOwn = isOwn;
  }

  /** Takes bytes; false when no more can change the result. */
  write(chunk: Buffer): boolean {
    let start = 0;
    for (let i = 0; i < chunk.length && this.#fault === undefined; i += 1) {
      const byte = chunk[i] ?? 0;
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else if (this.#depth === 0) {
        if (byte === OPEN_LIST && !this.#isDone) [this.#depth, start] = [1, i + 1];
        else if (!isSpace(byte))
          this.#fault = this.#isDone ? 'something follows the array' : 'the body is no JSON array';
      } else if (this.#depth === 1 && (byte === COMMA || byte === CLOSE_LIST)) {
        this.#take(chunk.subarray(start, i), byte === CLOSE_LIST);
        start = i + 1;
      } else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#depth += 1;
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) this.#depth -= 1;
    }
    if (this.#depth > 0 && start < chunk.length) this.#keep(chunk.subarray(start));
    return this.#fault === undefined;
  }

  /** The list, after the last byte. */
  end(): Listing {
    const fault = this.#fault ?? (this.#isDone ? undefined : 'the body is no whole JSON array');
    return { fault, count: this.#count, ids: this.#ids, items: this.#items, odd: this.#odd };
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    this.#rest.push(bytes);
    if (this.#restBytes > ITEM_BYTES_MAX) this.#fault = `item ${this.#count} is larger than ${ITEM_BYTES_MAX} bytes`;
  }

  #take(bytes: Buffer, isLast: boolean): void {
    const text = this.#rest.length === 0 ? bytes.toString() : Buffer.concat([...this.#rest, bytes]).toString();
    [this.#rest, this.#restBytes] = [[], 0];
    if (isLast) [this.#depth, this.#isDone] = [0, true];
    if (isLast && this.#count === 0 && /^[\t\n\r ]*$/.test(text)) return;
    this.#add(parseJson(text));
  }

  #add(item: unknown): void {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      this.#fault = item === undefined ? `item ${this.#count} is no JSON` : `item ${this.#count} is no object`;
      return;
    }
    const category = item as Category;
    const { id, name, description = '' } = category;
    if (id === undefined || typeof name !== 'string') {
      this.#fault = `item ${this.#count} has no ${id === undefined ? 'id' : 'name'} of a category`;
      return;
    }
    this.#count += 1;
    const key = idOf(category);
    if (!isInt64(id)) this.#odd['id-no-int64'] ??= category;
    else if (this.#lastId !== undefined && id < this.#lastId) this.#odd['not-ascending'] ??= category;
    if (this.#ids.has(key)) this.#odd['id-twice'] ??= category;
    if (typeof description !== 'string') this.#odd['description-no-string'] ??= category;
    if (Object.keys(category).some((member) => !['id', 'name', 'description'].includes(member))) {
      this.#odd['further-member'] ??= category;
    }
    this.#ids.add(key);
    if (isInt64(id)) this.#lastId = id;
    if (this.#items.length < ITEMS_KEPT_MAX || this.#isOwn(name)) this.#items.push(category);
  }
}

/** A JSON value, its large integers as BigInt; undefined if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    // Fast path: a reviver sees every value of a long list.
    return /\d{16}/.test(text) ? JSON.parse(text, keepLargeIntegers) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An id by which categories are compared: as it was written, if it is no integer. */
export function idOf({ id }: Category): number | bigint | string {
  return isInt64(id) ? id : `${id}`;
}

/** True if a JSON value is an integer of 64 bits. */
export function isInt64(value: unknown): value is number | bigint {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return Number.isSafeInteger(value);
}

/** An int64 beyond 2^53 would lose its last digits. */
function keepLargeIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  const { source = '' } = context ?? {};
  return typeof value === 'number' && /^-?\d{16,}$/.test(source) ? BigInt(source) : value;
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === LF || byte === CR || byte === TAB;
}
