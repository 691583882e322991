import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { join } from 'sql-template-tag';
import { type AuditEntry, type History, type Operator, WAYS } from '../../catalog/audit.ts';
import type { Category, CategoryChanges, CategoryStorage, ImportSource, NewCategory } from '../../catalog/category.ts';
import { categoryBytes, LIST_START_BYTES } from '../../catalog/category-list.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Once, OnceId } from '../../catalog/idempotency.ts';
import type { Made, NewestQuery, PageQuery, Precondition } from '../../catalog/resource.ts';
import { quote } from '../../catalog/validate.ts';
import type { Time } from '../../stdx/time.ts';
import type { Connection, Transaction } from '../engine.ts';
import { creationEntry, recordAudit, toEntry } from './audit.ts';
import { readChanges } from './change-feed.ts';
import { newest, rowsOf } from './newest.ts';
import { once } from './once.ts';
import { findRow, one, rowsInsert } from './statement.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import { SqlNoun, type Transactions } from './transactions.ts';
import type { WriteQueue } from './write-queue.ts';

const SELECT_COUNTER = sql`select * from category_counter`;
const insertRows = rowsInsert('categories');

interface Bounds {
  readonly categoriesMax: number;
  readonly categoriesBytesMax: number;
}

type Row = Tables['categories'];

const ALL: PageQuery = { after: 0, limit: Number.MAX_SAFE_INTEGER };
/** The categories that a message names of those that keep an import from being undone. */
const NAMED_MAX = 3;
/** The entries of the audit that a history reads. */
const CHANGES_MAX = 1_000;

/** Categories in SQL. Creates without an Idempotency-Key share one insert; `Transactions` has the queue of others. */
export class SqlCategories extends SqlNoun implements CategoryStorage {
  readonly #bounds: Bounds;
  readonly #inserts: WriteQueue<Row, Once<Category>>;

  constructor(transactions: Transactions, { time, ...bounds }: Bounds & { readonly time: Time }) {
    super(transactions, time);
    this.#bounds = bounds;
    this.#inserts = transactions.queue((batch) => transactions.transact((trx) => this.#insertBatch(trx, batch)));
  }

  insert(category: NewCategory, by: OnceId): Promise<Once<Category>> {
    if (!by.idempotency) return this.#inserts.push(rowOf(category, by.keyId));
    return this.transactions.batch((trx) =>
      once(trx, { ...by, now: this.now }, async () => {
        const [outcome] = await this.#insertBatch(trx, [rowOf(category, by.keyId)]);
        if (!outcome || outcome instanceof CatalogError) throw outcome;
        return outcome.resource;
      }),
    );
  }

  async find(id: number): Promise<Category | undefined> {
    const row = await this.transactions.read((db) => findRow(db, 'categories', id));
    return row && toCategory(row);
  }

  async list({ after, limit } = ALL): Promise<Category[]> {
    const rows = await this.rows<Row>(sql`select * from categories where id > ${after} order by id limit ${limit}`);
    return rows.map(toCategory);
  }

  newest(query: NewestQuery<Category>): Promise<Made<Category>[]> {
    return newest<Tables['categories'], Category>(this.transactions, query, {
      read: rowsOf('categories'),
      toResource: toCategory,
    });
  }

  rename(id: number, name: string, by: Operator, unless?: Precondition<Category>): Promise<Category | undefined> {
    return this.transactions.change({ kind: 'categories', id }, async (trx) => {
      const row = await findRow(trx, 'categories', id);
      if (!row) return undefined;
      unless?.(toCategory(row));
      if (row.name === name) return toCategory(row);
      const renamed = toCategory({ ...row, name });
      const added = categoryBytes(renamed) - categoryBytes(toCategory(row));
      const { bytes } = await one<Tables['category_counter']>(trx, SELECT_COUNTER);
      // A bound that was lowered leaves names that only become shorter.
      if (added > 0 && LIST_START_BYTES + bytes + added > this.#bounds.categoriesBytesMax) throw this.#tooLong();
      await trx.run(sql`update categories set name = ${name}, checksum = null where id = ${id}`);
      await addToCounter(trx, { count: 0, bytes: added });
      const change = { target: `${id}`, before: { name: row.name }, after: { name } };
      await recordAudit(trx, { at: this.now, by, action: 'category.rename', ...change });
      return renamed;
    });
  }

  delete(id: number, by: Operator, unless?: Precondition<Category>): Promise<'deleted' | 'not found' | 'in use'> {
    return this.transactions.change({ kind: 'categories', id }, async (trx) => {
      const row = await findRow(trx, 'categories', id);
      if (!row) return 'not found';
      const [pet] = await trx.all(sql`select id from pets where category_id = ${id} limit 1`);
      if (pet) return 'in use';
      unless?.(toCategory(row));
      await trx.run(sql`delete from categories where id = ${id}`);
      await addToCounter(trx, { count: -1, bytes: -categoryBytes(toCategory(row)) });
      const change = { target: `${id}`, before: noteOf(row) };
      await recordAudit(trx, { at: this.now, by, action: 'category.delete', ...change });
      return 'deleted';
    });
  }

  history(id: number): Promise<History<Category> | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'categories', id);
      const rows = await db.all<Tables['audit_entries']>(sql`
        select * from audit_entries
        where target = ${`${id}`} and action in ('category.rename', 'category.delete') order by id limit ${CHANGES_MAX}`);
      const entries = rows.map(toEntry);
      const last = entries.at(-1);
      const noted = row ? noteOf(row) : last?.action === 'category.delete' ? (last.before as Noted) : undefined;
      if (!noted) return undefined;
      const { createdAt, createdBy, ...category } = noted;
      // A release without histories noted neither.
      if (createdAt !== undefined && createdBy !== undefined) {
        const first = entries.find(({ action }) => action === 'category.rename')?.before ?? {};
        const { id: _, ...after } = { ...category, ...first };
        const made = { id, created_at: createdAt, created_by: createdBy };
        const isImported = WAYS.some((way) => way === createdBy);
        const creation = isImported ? await importOf(db, made) : creationEntry(made, 'category.create', after);
        if (creation) entries.unshift(creation);
      }
      return { resource: category, isRemoved: !row, entries };
    });
  }

  changesSince(version: number | undefined): Promise<CategoryChanges> {
    return this.transactions.read(async (db) => {
      const { version: now } = await one<Pick<Tables['change_versions'], 'version'>>(
        db,
        sql`select version from change_versions where kind = 'categories'`,
      );
      if (version === undefined) return { version: now, changed: undefined };
      const changes = await readChanges<number>(db, 'categories', { after: version, upTo: now });
      if (!changes?.length) return { version: now, changed: changes && [] };
      const ids = [...new Set(changes)];
      const rows = await db.all<Row>(sql`select * from categories where id in (${join(ids)})`);
      const stored = new Map(rows.map((row) => [row.id, toCategory(row)]));
      const changed = ids.map((id) => ({ id, category: stored.get(id) }));
      return { version: now, changed };
    });
  }

  import(categories: readonly NewCategory[], by: Operator, { file, onProgress }: ImportSource = {}): Promise<void> {
    return this.transactions.change({ kind: 'new-categories' }, async (trx) => {
      const { last_id } = await one<Tables['category_counter']>(trx, SELECT_COUNTER);
      for (let first = 0; first < categories.length; first += ROWS_PER_STATEMENT) {
        const rows = categories.slice(first, first + ROWS_PER_STATEMENT).map((category) => rowOf(category, by.via));
        const outcomes = await this.#insertBatch(trx, rows);
        const fitting = outcomes.findIndex((outcome) => outcome instanceof CatalogError);
        if (fitting !== -1) throw notAllFit(outcomes[fitting], { total: categories.length, fitting: first + fitting });
        onProgress?.(first + rows.length);
        // Yields, so that the command can be interrupted.
        await nextTurn();
      }
      const after = { count: categories.length, firstId: last_id + 1, lastId: last_id + categories.length, file };
      await recordAudit(trx, { at: this.now, by, action: 'categories.import', target: 'categories', after });
    });
  }

  deleteImported(entry: string, by: Operator): Promise<{ made: number; deleted: number }> {
    return this.transactions.change({ kind: 'categories', id: undefined }, async (trx) => {
      const entryId = /^\d{1,15}$/.test(entry) ? Number(entry) : 0;
      const [found] = await trx.all<Tables['audit_entries']>(sql`
        select * from audit_entries where id = ${entryId} and action = 'categories.import'`);
      if (!found) throw new CatalogError('not_found', `No import is the entry ${quote(entry)} of the audit`);
      const made = toEntry(found).after as { count: number; firstId: number; lastId: number };
      const isOfRange = sql`id between ${made.firstId} and ${made.lastId}`;
      const kept = await trx.all<{ id: number; why: string }>(sql`
        select id, why from (
          select id, case
            when created_by <> ${found.via} then 'is not of the import'
            when exists (select 1 from pets where category_id = categories.id) then 'has pets'
            when exists (select 1 from audit_entries
              where target = cast(categories.id as text) and action = 'category.rename') then 'was renamed'
            end as why
          from categories where ${isOfRange}) as looked_at
        where why is not null order by id limit ${NAMED_MAX}`);
      const named = kept.map(({ id, why }) => `${id} ${why}`).join(', ');
      if (named) throw new CatalogError('category_in_use', `Nothing was deleted: among others the category ${named}`);
      const rows = await trx.all<Row>(sql`delete from categories where ${isOfRange} returning *`);
      if (rows.length === 0) throw new CatalogError('not_found', 'Every category of the import is deleted already');
      const bytes = rows.reduce((sum, row) => sum + categoryBytes(toCategory(row)), 0);
      await addToCounter(trx, { count: -rows.length, bytes: -bytes });
      const before = { ...made, count: rows.length };
      await recordAudit(trx, { at: this.now, by, action: 'categories.delete', target: 'categories', before });
      return { made: made.count, deleted: rows.length };
    });
  }

  /** Inserts as many of the batch as fit under the bounds, in a few statements; the rest get `catalog_full`. */
  async #insertBatch(trx: Transaction, batch: readonly Row[]): Promise<(Once<Category> | CatalogError)[]> {
    const createdAt = this.now;
    let { last_id, count, bytes } = await one<Tables['category_counter']>(trx, SELECT_COUNTER);
    const rows: Row[] = [];
    const outcomes = batch.map((row) => {
      row.id = last_id + 1;
      row.created_at = createdAt;
      const resource = toCategory(row);
      const json = JSON.stringify(resource);
      const added = categoryBytes(resource, json);
      if (count >= this.#bounds.categoriesMax) return this.#tooMany();
      if (LIST_START_BYTES + bytes + added > this.#bounds.categoriesBytesMax) return this.#tooLong();
      [last_id, count, bytes] = [last_id + 1, count + 1, bytes + added];
      rows.push(row);
      return { resource, json, isReplay: false };
    });
    if (rows.length > 0) {
      await trx.run(sql`update category_counter set last_id = ${last_id}, count = ${count}, bytes = ${bytes}`);
      await insertRows(trx, rows);
      await this.transactions.engine.announce?.(trx);
    }
    return outcomes;
  }

  #tooMany(): CatalogError {
    const message = `The catalog holds ${this.#bounds.categoriesMax} categories, which is its bound (CATEGORIES_MAX)`;
    return new CatalogError('catalog_full', message);
  }

  #tooLong(): CatalogError {
    const message = `The list of all categories may have ${this.#bounds.categoriesBytesMax} bytes, and would have more (CATEGORIES_BYTES_MAX)`;
    return new CatalogError('catalog_full', message);
  }
}

/** The entry of the import that made a category: one of the first since then, which say their ranges. */
async function importOf(
  db: Connection,
  { id, created_at }: Pick<Row, 'id' | 'created_at'>,
): Promise<AuditEntry | undefined> {
  const rows = await db.all<Tables['audit_entries']>(sql`
    select * from audit_entries where action = 'categories.import' and at >= ${created_at} order by id limit ${CHANGES_MAX}`);
  return rows.map(toEntry).find(({ after }) => {
    const { firstId, lastId } = after as { firstId: number; lastId: number };
    return firstId <= id && id <= lastId;
  });
}

function notAllFit(full: unknown, { total, fitting }: { total: number; fitting: number }): CatalogError {
  const fit = fitting === 0 ? 'none of them fits' : `the first ${fitting} would fit`;
  return new CatalogError('catalog_full', `${(full as CatalogError).message}; of the ${total} categories ${fit}`);
}

async function addToCounter(trx: Transaction, { count, bytes }: { count: number; bytes: number }) {
  await trx.run(sql`update category_counter set count = count + ${count}, bytes = bytes + ${bytes}`);
}

/** The row of a category to be inserted, without its id and moment. */
function rowOf(category: NewCategory, keyId: string): Row {
  const { name, description = null } = category;
  return { id: 0, name, description, created_at: 0, created_by: keyId };
}

/** A category as its deletion notes it. */
type Noted = Category & { readonly createdAt?: number; readonly createdBy?: string };

function noteOf(row: Tables['categories']): Noted {
  return { ...toCategory(row), createdAt: row.created_at, createdBy: row.created_by };
}

function toCategory(row: Pick<Tables['categories'], 'id' | 'name' | 'description'>): Category {
  const { id, name, description } = row;
  return description === null ? { id, name } : { id, name, description };
}
