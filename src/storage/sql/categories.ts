import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Operator } from '../../catalog/audit.ts';
import type { Category, CategoryChanges, CategoryStorage, NewCategory } from '../../catalog/category.ts';
import { categoryBytes, LIST_START_BYTES } from '../../catalog/category-list.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Created, Origin } from '../../catalog/idempotency.ts';
import type { PageQuery } from '../../catalog/page.ts';
import type { Clock } from '../../stdx/clock.ts';
import { recordAudit } from './audit.ts';
import { type RowGuard, seal } from './checksum.ts';
import { createOnce } from './outcomes.ts';
import { contains, RowsInsert, Statement } from './statement.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';
import type { WriteQueue } from './write-queue.ts';

/** An instance that missed more renames and deletions than these reloads the list. */
const CHANGES_KEPT_MAX = 100;

interface QueuedCategory {
  readonly category: NewCategory;
  readonly keyId: string;
}

interface SqlCategoriesOptions {
  readonly guard: RowGuard;
  readonly clock: Clock;
  readonly categoriesMax: number;
  readonly categoriesBytesMax: number;
}

/**
 * Categories in SQL, behind two group-commit queues. Creates without an Idempotency-Key need no look-up of their own,
 * so a batch of them becomes one multi-row insert. With a key, the kept outcome must be looked up first: those share a
 * transaction job by job (`Transactions.batch`).
 */
export class SqlCategories implements CategoryStorage {
  readonly #transactions: Transactions;
  readonly #guard: RowGuard;
  readonly #clock: Clock;
  readonly #categoriesMax: number;
  readonly #categoriesBytesMax: number;
  readonly #inserts: WriteQueue<QueuedCategory, Category>;
  readonly #readCounter = new Statement((db) => db.selectFrom('category_counter').selectAll());
  readonly #setCounter = new Statement((db, lastId: number, count: number, bytes: number) =>
    db.updateTable('category_counter').set({ last_id: lastId, count, bytes }),
  );
  readonly #insertRows = new RowsInsert<Tables['categories']>((db, rows) => db.insertInto('categories').values(rows));

  constructor(transactions: Transactions, options: SqlCategoriesOptions) {
    this.#transactions = transactions;
    this.#guard = options.guard;
    this.#clock = options.clock;
    this.#categoriesMax = options.categoriesMax;
    this.#categoriesBytesMax = options.categoriesBytesMax;
    this.#inserts = transactions.queue((batch) => transactions.transact((trx) => this.#insertBatch(trx, batch)));
  }

  async insert(category: NewCategory, origin: Origin): Promise<Created<Category>> {
    const queued = { category, keyId: origin.keyId };
    if (!origin.idempotency) return { resource: await this.#inserts.push(queued), isReplay: false };
    return this.#transactions.batch((trx) =>
      createOnce(trx, { origin, now: this.#clock().unix }, async () => {
        const [outcome] = await this.#insertBatch(trx, [queued]);
        if (!outcome || outcome instanceof CatalogError) throw outcome;
        return outcome;
      }),
    );
  }

  find(id: number): Promise<Category | undefined> {
    return this.#transactions.read(async (db) => {
      const row = await db.selectFrom('categories').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toCategory(this.#guard.intact('categories', row));
    });
  }

  list(page?: PageQuery): Promise<Category[]> {
    return this.#transactions.read(async (db) => {
      const query = db.selectFrom('categories').selectAll().orderBy('id');
      const rows = page
        ? await this.#guard.page('categories', page, ({ after, limit }) =>
            query.where('id', '>', after).limit(limit).execute(),
          )
        : this.#guard.filter('categories', await query.execute());
      return rows.map(toCategory);
    });
  }

  search({ text, ...page }: PageQuery & { text: string }): Promise<Category[]> {
    const id = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    return this.#transactions.read(async (db) => {
      const rows = await this.#guard.page('categories', page, ({ after, limit }) =>
        db
          .selectFrom('categories')
          .selectAll()
          .where((where) => where.or([where('id', '=', id), contains(text, ['name', 'description'])]))
          .where('id', '>', after)
          .orderBy('id')
          .limit(limit)
          .execute(),
      );
      return rows.map(toCategory);
    });
  }

  rename(id: number, name: string, by: Operator): Promise<Category | undefined> {
    return this.#changeOne(id, async (trx) => {
      const row = await trx.selectFrom('categories').selectAll().where('id', '=', id).executeTakeFirst();
      if (!row) return undefined;
      if (this.#guard.intact('categories', row).name === name) return toCategory(row);
      const renamed = toCategory({ ...row, name });
      const added = categoryBytes(renamed) - categoryBytes(toCategory(row));
      const [counter] = await this.#readCounter.run(trx);
      // A bound that was lowered leaves names that only become shorter.
      if (added > 0 && LIST_START_BYTES + (counter?.bytes ?? 0) + added > this.#categoriesBytesMax)
        throw this.#tooLong();
      const { checksum } = seal('categories', { ...row, name });
      await trx.updateTable('categories').set({ name, checksum }).where('id', '=', id).execute();
      await addToCounter(trx, { count: 0, bytes: added });
      const change = { target: `${id}`, before: { name: row.name }, after: { name } };
      await recordAudit(trx, { at: this.#clock().unix, by, action: 'category.rename', ...change });
      return renamed;
    });
  }

  delete(id: number, by: Operator): Promise<'deleted' | 'not found' | 'in use'> {
    return this.#changeOne(id, async (trx) => {
      const row = await trx.selectFrom('categories').selectAll().where('id', '=', id).executeTakeFirst();
      if (!row) return 'not found';
      const pet = await trx.selectFrom('pets').select('id').where('category_id', '=', id).limit(1).executeTakeFirst();
      if (pet) return 'in use';
      await trx.deleteFrom('categories').where('id', '=', id).execute();
      await addToCounter(trx, { count: -1, bytes: -categoryBytes(toCategory(row)) });
      const change = { target: `${id}`, before: toCategory(row), after: null };
      await recordAudit(trx, { at: this.#clock().unix, by, action: 'category.delete', ...change });
      return 'deleted';
    });
  }

  changesSince(version: number | undefined): Promise<CategoryChanges> {
    return this.#transactions.read(async (db) => {
      const { version: now } = await db
        .selectFrom('change_versions')
        .select('version')
        .where('kind', '=', 'categories')
        .executeTakeFirstOrThrow();
      if (version === undefined) return { version: now, changed: undefined };
      const changes = await db
        .selectFrom('category_changes')
        .select('category_id')
        .where('version', '>', version)
        .where('version', '<=', now)
        .orderBy('version')
        .execute();
      // Any category may have changed in a version whose row was pruned.
      if (changes.length !== now - version) return { version: now, changed: undefined };
      const ids = [...new Set(changes.map(({ category_id }) => category_id))];
      const rows =
        ids.length === 0 ? [] : await db.selectFrom('categories').selectAll().where('id', 'in', ids).execute();
      const stored = new Map(this.#guard.filter('categories', rows).map((row) => [row.id, toCategory(row)]));
      const changed = ids.map((id) => ({ id, category: stored.get(id) }));
      return { version: now, changed };
    });
  }

  import(
    categories: readonly NewCategory[],
    by: Operator,
    onProgress: (inserted: number) => void = () => {},
  ): Promise<void> {
    return this.#transactions.change('new-categories', async (trx) => {
      this.#transactions.startLarge();
      const { last_id } = await trx.selectFrom('category_counter').selectAll().executeTakeFirstOrThrow();
      for (let first = 0; first < categories.length; first += ROWS_PER_STATEMENT) {
        const some = categories.slice(first, first + ROWS_PER_STATEMENT);
        const outcomes = await this.#insertBatch(
          trx,
          some.map((category) => ({ category, keyId: by.via })),
        );
        const fitting = outcomes.findIndex((outcome) => outcome instanceof CatalogError);
        if (fitting !== -1) throw notAllFit(outcomes[fitting], { total: categories.length, fitting: first + fitting });
        onProgress(first + some.length);
        // Yields, so that the process serves requests during a long import.
        await nextTurn();
      }
      const after = { count: categories.length, firstId: last_id + 1, lastId: last_id + categories.length };
      await recordAudit(trx, {
        at: this.#clock().unix,
        by,
        action: 'categories.import',
        target: 'categories',
        before: null,
        after,
      });
      await this.#transactions.finishLarge(trx);
    });
  }

  /** Changes one category, and records its id for the change feed. */
  #changeOne<T>(id: number, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.#transactions.change('categories', async (trx, version) => {
      await trx.insertInto('category_changes').values({ version, category_id: id }).execute();
      await trx
        .deleteFrom('category_changes')
        .where('version', '<=', version - CHANGES_KEPT_MAX)
        .execute();
      return work(trx);
    });
  }

  /**
   * Inserts as many of the batch as fit under the bounds, in a few multi-row statements; the rest get `catalog_full`.
   */
  async #insertBatch(trx: Transaction<Tables>, batch: QueuedCategory[]): Promise<(Category | CatalogError)[]> {
    const [counter] = await this.#readCounter.run(trx);
    if (!counter) throw new Error('The category counter is missing');
    const createdAt = this.#clock().unix;
    let { last_id, count, bytes } = counter;
    const rows: Tables['categories'][] = [];
    const outcomes = batch.map(({ category: { name, description = null }, keyId }) => {
      const row = { id: last_id + 1, name, description, created_at: createdAt, created_by: keyId };
      const category = toCategory(row);
      const added = categoryBytes(category);
      if (count >= this.#categoriesMax) return this.#tooMany();
      if (LIST_START_BYTES + bytes + added > this.#categoriesBytesMax) return this.#tooLong();
      [last_id, count, bytes] = [last_id + 1, count + 1, bytes + added];
      rows.push(seal('categories', row));
      return category;
    });
    if (rows.length > 0) {
      await this.#setCounter.run(trx, last_id, count, bytes);
      await this.#insertRows.run(trx, rows);
      await this.#transactions.announce(trx);
    }
    return outcomes;
  }

  #tooMany(): CatalogError {
    const message = `The catalog holds ${this.#categoriesMax} categories, which is its bound (CATEGORIES_MAX)`;
    return new CatalogError('catalog_full', message);
  }

  #tooLong(): CatalogError {
    const message = `The list of all categories may have ${this.#categoriesBytesMax} bytes, and would have more (CATEGORIES_BYTES_MAX)`;
    return new CatalogError('catalog_full', message);
  }
}

function notAllFit(full: unknown, { total, fitting }: { total: number; fitting: number }): CatalogError {
  const fit = fitting === 0 ? 'none of them fits' : `the first ${fitting} would fit`;
  return new CatalogError('catalog_full', `${(full as CatalogError).message}; of the ${total} categories ${fit}`);
}

async function addToCounter(trx: Transaction<Tables>, { count, bytes }: { count: number; bytes: number }) {
  await trx
    .updateTable('category_counter')
    .set((set) => ({ count: set('count', '+', count), bytes: set('bytes', '+', bytes) }))
    .execute();
}

function toCategory(row: Pick<Tables['categories'], 'id' | 'name' | 'description'>): Category {
  const { id, name, description } = row;
  return description === null ? { id, name } : { id, name, description };
}
