import sql, { join } from 'sql-template-tag';
import type { History } from '../../catalog/audit.ts';
import { type CatalogError, invalid } from '../../catalog/error.ts';
import type { Once, OnceId } from '../../catalog/idempotency.ts';
import {
  firstStock,
  type InventoryItem,
  type NewPet,
  type Pet,
  type PetFilter,
  type PetStorage,
  type PetUpdate,
  type StockedPet,
  statusAt,
  stockAt,
} from '../../catalog/pet.ts';
import type { Made, NewestQuery, PageQuery, Precondition } from '../../catalog/resource.ts';
import type { Connection, Transaction } from '../engine.ts';
import { creationEntry, entriesByKeys, recordChange } from './audit.ts';
import { newest, rowsOf } from './newest.ts';
import { once } from './once.ts';
import { assignments, findRow, insertInto, nextId, where } from './statement.ts';
import type { Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

/** The id as the indexes of filtered lists hold it, those of one filter and those of two: see `selectPage`. */
export const ID_IN_INDEX = sql`id + 0`;
const ID_IN_INDEX_OF_TWO = sql`id - 0`;

/** Pets in SQL, each with its stock in the same row. */
export class SqlPets extends SqlNoun implements PetStorage {
  insert(pet: NewPet, by: OnceId): Promise<Once<Pet>> {
    const now = this.now;
    return this.transactions.batch((trx) =>
      once(trx, { ...by, now }, async () => {
        const { name, categoryId, status } = pet;
        await assertCategory(trx, categoryId);
        const id = await nextId(trx, 'pets');
        const stored = { id, name, category_id: categoryId, status, quantity: firstStock(status) };
        const row = { ...stored, created_at: now, created_by: by.keyId };
        await trx.run(insertInto('pets', [row]));
        await recordChange(trx, { at: now, kind: 'pet', id, verb: 'create', by, after: membersOf(row) });
        return { id, name, categoryId, status };
      }),
    );
  }

  find(id: number): Promise<Pet | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'pets', id);
      return row && toPet(row);
    });
  }

  list({ ids, ...query }: PageQuery & PetFilter): Promise<Pet[]> {
    return this.transactions.read(async (db) => {
      const rows = ids ? (await selectFew(db, ids, query)).slice(0, query.limit) : await selectPage(db, query);
      return rows.map(toPet);
    });
  }

  newest(query: NewestQuery<StockedPet>): Promise<Made<StockedPet>[]> {
    return newest(this.transactions, query, { read: rowsOf('pets'), toResource: toStockedPet });
  }

  update(
    id: number,
    { name, categoryId, status }: PetUpdate,
    by: OnceId,
    precondition?: Precondition<Pet>,
  ): Promise<Pet | undefined> {
    return this.transactions.batch(async (trx) => {
      const pet = await findRow(trx, 'pets', id);
      if (!pet) return undefined;
      const { quantity } = pet;
      precondition?.(toPet(pet));
      if (categoryId !== undefined) await assertCategory(trx, categoryId);
      const changed = await store(trx, {
        ...pet,
        name: name ?? pet.name,
        category_id: categoryId ?? pet.category_id,
        status: status ?? pet.status,
        quantity: status ? stockAt(status, quantity) : quantity,
      });
      await this.#record(trx, by, [pet, changed]);
      return toPet(changed);
    });
  }

  findInventory(petId: number): Promise<InventoryItem | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'pets', petId);
      return row && toItem(row);
    });
  }

  listInventory(page: PageQuery): Promise<InventoryItem[]> {
    return this.transactions.read(async (db) => {
      const rows = await selectPage(db, page);
      return rows.map(toItem);
    });
  }

  setQuantity(
    petId: number,
    quantity: number,
    by: OnceId,
    precondition?: Precondition<InventoryItem>,
  ): Promise<InventoryItem | undefined> {
    return this.transactions.batch(async (trx) => {
      const pet = await findRow(trx, 'pets', petId);
      if (!pet) return undefined;
      precondition?.(toItem(pet));
      const changed = await setStock(trx, pet, quantity);
      await this.#record(trx, by, [pet, changed]);
      return toItem(changed);
    });
  }

  history(id: number): Promise<History<StockedPet> | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'pets', id);
      if (!row) return undefined;
      const entries = await entriesByKeys(db, 'pet', id);
      if (entries[0]?.action !== 'pet.create') entries.unshift(creationEntry(row, 'pet.create', null));
      return { resource: toStockedPet(row), isRemoved: false, entries };
    });
  }

  /** Records the members of a pet that differ; nothing if none does. */
  async #record(trx: Transaction, by: OnceId, rows: readonly [Tables['pets'], Tables['pets']]): Promise<void> {
    const [old, current] = [membersOf(rows[0]), membersOf(rows[1])];
    const changed = Object.keys(old).filter((name) => old[name] !== current[name]);
    if (changed.length === 0) return;
    const of = (members: Members) => Object.fromEntries(changed.map((name) => [name, members[name]]));
    const change = { kind: 'pet', id: rows[0].id, verb: 'update' } as const;
    await recordChange(trx, { ...change, at: this.now, by, before: of(old), after: of(current) });
  }
}

type Members = Readonly<Record<string, string | number>>;

/** The members of a pet that its entries have. */
function membersOf({ name, category_id: categoryId, status, quantity }: Tables['pets']): Members {
  return { name, categoryId, status, quantity };
}

/** Sets the stock of a pet, and the status that follows from it. Returns the new row. */
export function setStock(trx: Transaction, pet: Tables['pets'], quantity: number): Promise<Tables['pets']> {
  return store(trx, { ...pet, quantity, status: statusAt(quantity, pet.status) });
}

async function store(trx: Transaction, pet: Tables['pets']): Promise<Tables['pets']> {
  const { id, ...changed } = pet;
  await trx.run(sql`update pets set ${assignments({ ...changed, checksum: null })} where id = ${id}`);
  return pet;
}

/**
 * Selects a page in the order of the index that fits the filter. Each index spells the id in another way, `id + 0` or
 * `id - 0`: if the primary key, or the index of one filter of two, gave the same order, PostgreSQL could choose that,
 * and read past any number of rows that the filter leaves out.
 */
function selectPage(
  db: Connection,
  { after, limit, status, categoryId }: PageQuery & PetFilter,
): Promise<Tables['pets'][]> {
  if (!status && categoryId === undefined)
    return db.all(sql`select * from pets where id > ${after} order by id limit ${limit}`);
  const id = status && categoryId !== undefined ? ID_IN_INDEX_OF_TWO : ID_IN_INDEX;
  const conditions = [sql`${id} > ${after}`];
  if (status) conditions.push(sql`status = ${status}`);
  if (categoryId !== undefined) conditions.push(sql`category_id = ${categoryId}`);
  return db.all(sql`select * from pets ${where(conditions)} order by ${id} limit ${limit}`);
}

/** Selects those of a few pets that fit the filter. They are filtered here, so that no engine prefers another index. */
async function selectFew(
  db: Connection,
  ids: readonly number[],
  { after, status, categoryId }: Pick<PageQuery, 'after'> & PetFilter,
): Promise<Tables['pets'][]> {
  const wanted = ids.filter((id) => id > after);
  if (wanted.length === 0) return [];
  const rows = await db.all<Tables['pets']>(sql`select * from pets where id in (${join(wanted)}) order by id`);
  return rows.filter(
    (row) =>
      (status === undefined || row.status === status) && (categoryId === undefined || row.category_id === categoryId),
  );
}

async function assertCategory(trx: Transaction, id: number): Promise<void> {
  const [category] = await trx.all(sql`select id from categories where id = ${id}`);
  if (!category) throw unknown('categoryId', id);
}

/** The error for a body that refers to a missing resource. */
export function unknown(field: string, id: number): CatalogError {
  return invalid(`${field} is ${id}, which does not exist; send one that does`);
}

function toItem({ id, quantity, status }: Tables['pets']): InventoryItem {
  return { petId: id, quantity, status };
}

function toStockedPet(row: Tables['pets']): StockedPet {
  return { ...toPet(row), quantity: row.quantity };
}

function toPet({ id, name, category_id, status }: Tables['pets']): Pet {
  return { id, name, categoryId: category_id, status };
}
