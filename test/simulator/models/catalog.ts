import { promise } from './promise.ts';

/** A change made by another process is in the list within a second, and the reads that follow it take some time. */
const FOLLOWED_MS = 1_000 + 500;
/** How long the outcome of a create is kept for retries. */
const KEPT_SECONDS = 86_400;

interface Stored {
  readonly id: number;
  readonly name: string;
}

/** Between two moments, in Unix seconds of the clock of one process, or of several whose clocks may differ by hours. */
export interface Between {
  readonly least: number;
  readonly most: number;
}

const ANY_TIME: Between = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
const NO_TIME: Between = { least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY };

interface Create {
  /** Attempts that are not answered. */
  open: number;
  /** Whether an attempt had no answer, or one that did not tell. */
  isUnknown: boolean;
  /** From the earliest to the latest second of all attempts that ended, each by the clock of its process. */
  ended: Between;
  /**
   * The ids under which it was stored, and when by the clock of the process that stored it; another id only once its
   * Idempotency-Key had expired.
   */
  readonly ids: Map<number, Between>;
}

/** Every create by its name, which is used once. */
export class CatalogModel {
  readonly #creates = new Map<string, Create>();
  readonly #namesById = new Map<number, string>();
  /** Categories that an operator may have renamed or deleted. */
  readonly #edited = new Set<number>();
  /** What each process's list showed last, and by which tag. */
  readonly #seen = new WeakMap<object, { followedMs: number; last: number; etag: string; text: string }>();
  /** The Unix second up to which outcomes may have been purged; a clock that is stepped back brings none again. */
  #purgedUntil = Number.NEGATIVE_INFINITY;
  /** When the table went back, and with it each list as soon as its process has followed. */
  #wentBackMs = Number.NEGATIVE_INFINITY;
  /** What the table holds under each id ever used, and since when. */
  readonly #table = new Map<number, { readonly name: string | undefined; readonly sinceMs: number }>();

  /** A client sent a create, or a retry of one. */
  begin(name: string): void {
    const create = this.#creates.get(name) ?? { open: 0, isUnknown: false, ended: NO_TIME, ids: new Map() };
    create.open += 1;
    this.#creates.set(name, create);
  }

  /**
   * An attempt, which took that long, was answered with 201. Throws if another has its id, if it was stored twice
   * although its Idempotency-Key had not expired, or if it was replayed although that had.
   */
  stored(name: string, { id, isReplay }: { id: number; isReplay: boolean }, when: Between): void {
    const create = this.#end(name, when);
    const other = this.#namesById.get(id) ?? name;
    promise(other === name, () => `the id ${id} was given to ${other} and to ${name}`);
    this.#namesById.set(id, name);
    const known = create.ids.get(id);
    if (isReplay) {
      const isKept = !known || when.least < known.most + KEPT_SECONDS;
      promise(isKept, () => `${name} was replayed as ${id} at ${when.least}, although stored until ${known?.most}`);
    }
    this.#addId(name, id, isReplay ? whenStored(create) : when);
  }

  /** Throws if a create was stored under two ids within the time in which its Idempotency-Key is kept. */
  #addId(name: string, id: number, { least, most }: Between): void {
    const { ids } = this.#creates.get(name) as Create;
    const known = ids.get(id) ?? ANY_TIME;
    ids.set(id, { least: Math.max(least, known.least), most: Math.min(most, known.most) });
    const byId = [...ids].sort(([one], [other]) => one - other);
    for (const [index, [later, { most }]] of byId.entries()) {
      const [earlier, before] = byId[index - 1] ?? [];
      const isGone = before !== undefined && before.least <= this.#purgedUntil;
      const isApart = before === undefined || isGone || most >= before.least + KEPT_SECONDS;
      promise(isApart, () => `${name} was stored as ${earlier} and as ${later}`);
    }
  }

  /** A process purges outcomes, at this Unix second of its clock. */
  purge(now: number): void {
    this.#purgedUntil = Math.max(this.#purgedUntil, now - KEPT_SECONDS);
  }

  /** An attempt, which took that long, was refused with nothing stored, or its outcome is unknown. */
  failed(name: string, { isUnknown }: { isUnknown: boolean }, when: Between): void {
    this.#end(name, when).isUnknown ||= isUnknown;
  }

  /** The table went back to these rows. */
  goBack(rows: readonly Stored[], nowMs: number): void {
    this.#wentBackMs = nowMs;
    const kept = new Set(rows.map(({ id }) => id));
    for (const id of this.#namesById.keys()) if (!kept.has(id)) this.#namesById.delete(id);
    for (const create of this.#creates.values()) {
      for (const id of create.ids.keys()) if (!kept.has(id)) create.ids.delete(id);
      create.isUnknown = true;
    }
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
    const ids = new Set(rows.map(({ id }) => id));
    for (const [id, { name }] of this.#table)
      if (name !== undefined && !ids.has(id)) this.#table.set(id, { name: undefined, sinceMs: nowMs });
    for (const { id, name } of rows) {
      if (this.#table.get(id)?.name !== name) this.#table.set(id, { name, sinceMs: nowMs });
      if (this.#edited.has(id)) continue;
      const create = this.#creates.get(name);
      if (!create) continue;
      const mayBeStored = create.ids.has(id) || create.open > 0 || create.isUnknown;
      promise(mayBeStored, () => `${name} is stored as ${id}, although it was refused, or stored as another`);
      this.#addId(name, id, whenStored(create));
    }
    for (const [id, name] of this.#namesById) {
      promise(ids.has(id) || this.#edited.has(id), () => `${name} was answered with the id ${id}, but is not stored`);
    }
  }

  #end(name: string, { least, most }: Between): Create {
    const create = this.#creates.get(name) as Create;
    create.open -= 1;
    create.ended = { least: Math.min(create.ended.least, least), most: Math.max(create.ended.most, most) };
    return create;
  }

  /** Throws if the list that a process sends is not the table, as far as it must know it by now. */
  checkList(life: object, list: { text: string; etag: string }, moment: ListMoment): void {
    const { nowMs, roughUntilMs } = moment;
    const shown = JSON.parse(list.text) as Stored[];
    const seen = this.#seen.get(life) ?? { followedMs: Number.NEGATIVE_INFINITY, last: 0, etag: '', text: '' };
    promise(
      (seen.etag === list.etag) === (seen.text === list.text),
      () => `the tag ${list.etag} is the tag of two lists, or the list of two tags`,
    );
    const goesBack = seen.followedMs < this.#wentBackMs;
    const hasFollowed = nowMs >= Math.max(this.#wentBackMs, roughUntilMs) + FOLLOWED_MS;
    const followedMs = hasFollowed ? nowMs : seen.followedMs;
    const before = new Set(seen.text ? (JSON.parse(seen.text) as Stored[]).map(({ id }) => id) : []);
    for (const [index, { id }] of shown.entries()) {
      promise(index === 0 || (shown[index - 1] as Stored).id < id, () => `the list shows ${id} out of order`);
      promise(goesBack || before.has(id) || id > seen.last, () => `the list shows ${id} only after ${seen.last}`);
    }
    this.#seen.set(life, { followedMs, last: Math.max(goesBack ? 0 : seen.last, shown.at(-1)?.id ?? 0), ...list });
    const known = new Map(shown.map(({ id, name }) => [id, name]));
    for (const [id, { name, sinceMs }] of this.#table) {
      if (nowMs < Math.max(sinceMs, roughUntilMs) + FOLLOWED_MS) continue;
      promise(known.get(id) === name, () => `the list shows ${known.get(id)} as ${id}, which is ${name} now`);
    }
  }
}

/**
 * When one of the attempts stored a create. A replay does not tell, nor does the table: the clock of the process that
 * stored it may show any other second, and an attempt that is under way may have stored it just now.
 */
function whenStored({ open, ended }: Create): Between {
  return open > 0 ? ANY_TIME : ended;
}

interface ListMoment {
  readonly nowMs: number;
  readonly roughUntilMs: number;
}
