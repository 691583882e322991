import { randomUUID } from 'node:crypto';
import type { Operator } from '../../catalog/audit.ts';
import type { NewCategory } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';

/** Finished imports kept; the oldest is evicted. */
const JOBS_MAX = 20;

export interface ImportJob {
  readonly total: number;
  readonly inserted: number;
  /** Undefined while it runs, null if it succeeded, otherwise the message. */
  readonly failure: string | null | undefined;
}

/** Runs imports of categories, one at a time, and tracks their progress. */
export class Imports {
  readonly #storage: Storage;
  readonly #jobs = new BoundedMap<ImportJob>(JOBS_MAX);

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  find(id: string): ImportJob | undefined {
    return this.#jobs.get(id);
  }

  /** Starts an import and returns its id; defects go to `onDefect`. Throws `unavailable` while another one runs. */
  start(categories: readonly NewCategory[], by: Operator, onDefect: (error: unknown) => void): string {
    if ([...this.#jobs.values()].some(({ failure }) => failure === undefined)) {
      throw new CatalogError('unavailable', 'Another import is running; start this one when it has finished');
    }
    const id = randomUUID();
    const total = categories.length;
    const record = (inserted: number, failure?: string | null) => this.#jobs.set(id, { total, inserted, failure });
    record(0);
    this.#storage.categories
      .import(categories, by, (inserted) => record(inserted))
      .then(
        () => record(total, null),
        (error: unknown) => {
          if (!(error instanceof CatalogError)) onDefect(error);
          record(0, messageOf(error));
        },
      );
    return id;
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof CatalogError)) return 'Nothing was imported. The import failed; see the log';
  if (error.code !== 'outcome_unknown') return `Nothing was imported. ${error.message}`;
  return 'The outcome is unknown: either all categories were imported or none; check the list before you try again';
}
