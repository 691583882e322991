import { promise } from './promise.ts';

/** A change made by another process is in the list within a second, and the reads that follow it take some time. */
const FOLLOWED_MS = 1_000 + 500;

interface Stored {
  readonly id: number;
  readonly name: string;
}

interface Create {
  /** Attempts that are not answered. */
  open: number;
  /** Whether an attempt had no answer, or one that did not tell. */
  isUnknown: boolean;
  id: number | undefined;
}

/** Every create by its name, which is used once. */
export class CatalogModel {
  readonly #creates = new Map<string, Create>();
  readonly #namesById = new Map<number, string>();
  /** Categories that an operator may have renamed or deleted. */
  readonly #edited = new Set<number>();
  /** What each process's list showed last, and by which tag. */
  readonly #seen = new WeakMap<object, { last: number; etag: string; text: string }>();
  /** What the table holds under each id ever used, and since when. */
  readonly #table = new Map<number, { readonly name: string | undefined; readonly sinceMs: number }>();

  /** A client sent a create, or a retry of one. */
  begin(name: string): void {
    const create = this.#creates.get(name) ?? { open: 0, isUnknown: false, id: undefined };
    create.open += 1;
    this.#creates.set(name, create);
  }

  /** A create was answered with 201. Throws if it had another id, or if another has its id. */
  stored(name: string, id: number): void {
    const create = this.#creates.get(name) as Create;
    create.open -= 1;
    promise(create.id === undefined || create.id === id, () => `${name} was stored as ${create.id} and as ${id}`);
    const other = this.#namesById.get(id) ?? name;
    promise(other === name, () => `the id ${id} was given to ${other} and to ${name}`);
    this.#namesById.set(id, name);
    create.id = id;
  }

  /** A create was refused with nothing stored, or its outcome is unknown. */
  failed(name: string, { isUnknown }: { isUnknown: boolean }): void {
    const create = this.#creates.get(name) as Create;
    create.open -= 1;
    create.isUnknown ||= isUnknown;
  }

  edit(id: number): void {
    this.#edited.add(id);
  }

  /** The ids of the categories that were not renamed or deleted. */
  get untouched(): number[] {
    return [...this.#namesById.keys()].filter((id) => !this.#edited.has(id));
  }

  /** Throws if the table is not what was answered. */
  checkTable(rows: readonly Stored[], nowMs: number): void {
    const names = new Set<string>();
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, { name }] of this.#table)
      if (name !== undefined && !ids.has(id)) this.#table.set(id, { name: undefined, sinceMs: nowMs });
    for (const { id, name } of rows) {
      if (this.#table.get(id)?.name !== name) this.#table.set(id, { name, sinceMs: nowMs });
      if (this.#edited.has(id)) continue;
      promise(!names.has(name), () => `${name} is stored twice`);
      names.add(name);
      const create = this.#creates.get(name);
      if (!create) continue;
      const mayBeStored = create.open > 0 || create.isUnknown || create.id !== undefined;
      promise(mayBeStored, () => `${name} is stored as ${id}, although it was refused`);
      promise(create.id === undefined || create.id === id, () => `${name} is stored as ${id}, not as ${create.id}`);
    }
    for (const [id, name] of this.#namesById) {
      promise(ids.has(id) || this.#edited.has(id), () => `${name} was answered with the id ${id}, but is not stored`);
    }
  }

  /** Throws if the list that a process sends is not the table, as far as it must know it by now. */
  checkList(life: object, list: { text: string; etag: string }, moment: ListMoment): void {
    const { nowMs, roughUntilMs } = moment;
    const shown = JSON.parse(list.text) as Stored[];
    const seen = this.#seen.get(life) ?? { last: 0, etag: '', text: '' };
    promise(
      (seen.etag === list.etag) === (seen.text === list.text),
      () => `the tag ${list.etag} is the tag of two lists, or the list of two tags`,
    );
    const before = new Set(seen.text ? (JSON.parse(seen.text) as Stored[]).map(({ id }) => id) : []);
    for (const [index, { id }] of shown.entries()) {
      promise(index === 0 || (shown[index - 1] as Stored).id < id, () => `the list shows ${id} out of order`);
      promise(before.has(id) || id > seen.last, () => `the list shows ${id} only after ${seen.last}`);
    }
    this.#seen.set(life, { last: Math.max(seen.last, shown.at(-1)?.id ?? 0), ...list });
    const known = new Map(shown.map(({ id, name }) => [id, name]));
    for (const [id, { name, sinceMs }] of this.#table) {
      if (nowMs < Math.max(sinceMs, roughUntilMs) + FOLLOWED_MS) continue;
      promise(known.get(id) === name, () => `the list shows ${known.get(id)} as ${id}, which is ${name} now`);
    }
  }
}

interface ListMoment {
  readonly nowMs: number;
  readonly roughUntilMs: number;
}
