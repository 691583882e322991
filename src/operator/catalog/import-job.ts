import { randomUUID } from 'node:crypto';
import type { Operator } from '../../catalog/audit.ts';
import type { NewCategory } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';

/** How many imports are remembered after their end. */
const JOBS_MAX = 20;

/** An import that runs, or ran, in this instance. */
export interface ImportJob {
  readonly total: number;
  readonly inserted: number;
  /** Undefined while it runs, null when all is in, or what is told instead. */
  readonly failure: string | null | undefined;
}

/** Imports of categories, one at a time, each with how far it is. */
export class Imports {
  readonly #storage: Storage;
  readonly #jobs = new Map<string, ImportJob>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  find(id: string): ImportJob | undefined {
    return this.#jobs.get(id);
  }

  /** Begins an import and returns its id; a failure that no rule foresees is told. Throws `unavailable` while another one runs. */
  start(categories: readonly NewCategory[], by: Operator, onDefect: (error: unknown) => void): string {
    if ([...this.#jobs.values()].some(({ failure }) => failure === undefined)) {
      throw new CatalogError('unavailable', 'Another import is running; start this one when that is done');
    }
    for (const oldest of this.#jobs.keys()) if (this.#jobs.size >= JOBS_MAX) this.#jobs.delete(oldest);
    const id = randomUUID();
    const total = categories.length;
    const note = (inserted: number, failure?: string | null) => this.#jobs.set(id, { total, inserted, failure });
    note(0);
    this.#storage.categories
      .import(categories, by, (inserted) => note(inserted))
      .then(
        () => note(total, null),
        (error: unknown) => {
          if (!(error instanceof CatalogError)) onDefect(error);
          note(0, outcomeOf(error));
        },
      );
    return id;
  }
}

function outcomeOf(error: unknown): string {
  if (!(error instanceof CatalogError)) return 'Nothing was imported. The import failed; the log says why';
  if (error.code !== 'outcome_unknown') return `Nothing was imported. ${error.message}`;
  return 'The storage did not say whether it was done: all categories are in, or none; look before you try again';
}
