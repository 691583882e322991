import type { Static } from 'typebox';
import type { History, Operator } from './audit.ts';
import type { Once, OnceId } from './idempotency.ts';
import { Id, type Made, Name, type NewestQuery, NO_CONTROL, type PageQuery, type Precondition } from './resource.ts';
import { objectOf, quote, validator } from './validate.ts';

const Description = {
  type: 'string',
  maxLength: 2_000,
  pattern: '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F]*$',
  'x-violation': { '': `send ${NO_CONTROL} but tab, LF and CR` },
  'x-well-formed': true,
} as const;

const fields = {
  name: { ...Name, description: 'Category name, for example a species', example: 'Dog' },
  description: { ...Description, description: 'Short description of the category' },
} as const;

/** The body that creates a category [published]. Unknown members are ignored. */
export const NewCategory = objectOf('NewCategory', 'A category to be created', {
  required: ['name'],
  properties: fields,
});
export type NewCategory = Static<typeof NewCategory>;

/** A category as clients see it [published]. */
export const Category = objectOf('Category', 'A category by which pets are classified', {
  required: ['id', 'name'],
  properties: {
    id: { ...Id, description: 'Unique identifier, assigned by the service on creation and never reused' },
    ...fields,
  },
});
export type Category = Static<typeof Category>;

const check = validator(NewCategory);

/** Reads a NewCategory from parsed JSON: known members only, unchanged. Throws `validation_failed`. */
export function newCategory(body: unknown): NewCategory {
  const { name, description } = check(body);
  return description === undefined ? { name } : { name, description };
}

/** Says in words what an entry of the audit notes of an import or its undoing; undefined of any other change. */
export function importText(noted: unknown, entry?: string): string | undefined {
  const { count, firstId, lastId, file } = (noted ?? {}) as Readonly<Record<string, unknown>>;
  if (firstId === undefined) return undefined;
  const from = file === undefined ? '' : ` from ${quote(file)}`;
  const named = entry === undefined ? '' : ` (entry ${entry})`;
  return `${count} ${count === 1 ? 'category' : 'categories'}, ${firstId}–${lastId}${from}${named}`;
}

/** A category as it is stored now, undefined if it was deleted. */
export interface ChangedCategory {
  readonly id: number;
  readonly category: Category | undefined;
}

/** The categories that were renamed or deleted. */
export interface CategoryChanges {
  /** Names this moment, for `changesSince`. */
  readonly version: number;
  /** Undefined if it is too long ago to tell: all categories must be read anew. */
  readonly changed: readonly ChangedCategory[] | undefined;
}

/**
 * Inserts assign the next id, above all ids ever assigned. If the origin has an Idempotency-Key they keep the outcome:
 * a retry returns it again, and a different create with the same key throws `idempotency_key_reused`.
 */
export interface CategoryStorage {
  /** Throws `catalog_full` at either bound: of the number of categories, and of the bytes of their list. */
  insert(category: NewCategory, by: OnceId): Promise<Once<Category>>;
  find(id: number): Promise<Category | undefined>;
  /** Categories with the id ascending: all, or one page. */
  list(page?: PageQuery): Promise<Category[]>;
  newest(query: NewestQuery<Category>): Promise<Made<Category>[]>;
  /** Undefined if there is no such category. Throws `catalog_full` if the list would grow past its bound. */
  rename(id: number, name: string, by: Operator, unless?: Precondition<Category>): Promise<Category | undefined>;
  /** A category with its changes, also one that was deleted. Undefined if there never was one. */
  history(id: number): Promise<History<Category> | undefined>;
  /** The categories renamed or deleted since the moment that a version names; undefined: since ever. */
  changesSince(version: number | undefined): Promise<CategoryChanges>;
  /** Removes a category that no pet belongs to. */
  delete(id: number, by: Operator, unless?: Precondition<Category>): Promise<'deleted' | 'not found' | 'in use'>;
  /**
   * Inserts all, in order, or none. Throws `catalog_full`, which says how many would fit, if they do not all fit.
   */
  import(categories: readonly NewCategory[], by: Operator, from?: ImportSource): Promise<void>;
  /**
   * Undoes the import of an entry in the audit: deletes its categories that are left, or none. Throws
   * `not_found` if there is no such import or nothing left of it, and `category_in_use` if one has pets, was renamed or
   * is not the import's.
   */
  deleteImported(entry: string, by: Operator): Promise<{ made: number; deleted: number }>;
}

/** The name of the file, for the audit, and what hears how many are inserted. */
export interface ImportSource {
  readonly file?: string;
  onProgress?(inserted: number): void;
}
