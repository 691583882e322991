import type { Transaction } from 'kysely';
import { CatalogError } from '../../catalog/error.ts';
import type { Created, Origin } from '../../catalog/idempotency.ts';
import type { PageQuery } from '../../catalog/page.ts';
import {
  firstStock,
  type InventoryItem,
  type NewPet,
  type Pet,
  type PetStatus,
  type PetStorage,
  statusAt,
} from '../../catalog/pet.ts';
import type { Clock } from '../../stdx/clock.ts';
import { type RowGuard, seal } from './checksum.ts';
import { createOnce } from './outcomes.ts';
import { nextId, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** Pets in SQL, each with its stock in the same row. */
export class SqlPets implements PetStorage {
  readonly #transactions: Transactions;
  readonly #guard: RowGuard;
  readonly #clock: Clock;

  constructor(transactions: Transactions, { guard, clock }: { guard: RowGuard; clock: Clock }) {
    this.#transactions = transactions;
    this.#guard = guard;
    this.#clock = clock;
  }

  insert(pet: NewPet, origin: Origin): Promise<Created<Pet>> {
    const now = this.#clock().unix;
    return this.#transactions.batch((trx) =>
      createOnce(trx, { origin, now }, async () => {
        const { name, categoryId, status } = pet;
        const category = await trx
          .selectFrom('categories')
          .select('id')
          .where('id', '=', categoryId)
          .executeTakeFirst();
        if (!category) throw unknown('categoryId', categoryId);
        const id = await nextId(trx, 'pets');
        const stored = { id, name, category_id: categoryId, status, quantity: firstStock(status) };
        const row = seal('pets', { ...stored, created_at: now, created_by: origin.keyId });
        await trx.insertInto('pets').values(row).execute();
        return { id, name, categoryId, status };
      }),
    );
  }

  find(id: number): Promise<Pet | undefined> {
    return this.#transactions.read(async (db) => {
      const row = await db.selectFrom('pets').selectAll().where('id', '=', id).executeTakeFirst();
      return row && toPet(this.#guard.intact('pets', row));
    });
  }

  list({ status, ...page }: PageQuery & { status?: PetStatus }): Promise<Pet[]> {
    return this.#transactions.read(async (db) => {
      let query = db.selectFrom('pets').selectAll().orderBy('id');
      if (status) query = query.where('status', '=', status);
      const rows = await this.#guard.page('pets', page, ({ after, limit }) =>
        query.where('id', '>', after).limit(limit).execute(),
      );
      return rows.map(toPet);
    });
  }

  listInventory(page: PageQuery): Promise<InventoryItem[]> {
    return this.#transactions.read(async (db) => {
      const rows = await this.#guard.page('pets', page, ({ after, limit }) =>
        db.selectFrom('pets').selectAll().where('id', '>', after).orderBy('id').limit(limit).execute(),
      );
      return rows.map(({ id, quantity, status }) => ({ petId: id, quantity, status }));
    });
  }

  setQuantity(petId: number, quantity: number): Promise<InventoryItem | undefined> {
    return this.#transactions.batch(async (trx) => {
      const pet = await trx.selectFrom('pets').selectAll().where('id', '=', petId).executeTakeFirst();
      if (!pet) return undefined;
      const status = await setStock(trx, this.#guard.intact('pets', pet), quantity);
      return { petId, quantity, status };
    });
  }
}

/** Gives a pet another stock, and returns the status that comes with it. */
export async function setStock(trx: Transaction<Tables>, pet: Tables['pets'], quantity: number): Promise<PetStatus> {
  const { status, checksum } = seal('pets', { ...pet, quantity, status: statusAt(quantity, pet.status) });
  await trx.updateTable('pets').set({ quantity, status, checksum }).where('id', '=', pet.id).execute();
  return status;
}

/** The error for a body that refers to a resource that does not exist. */
export function unknown(field: string, id: number): CatalogError {
  return new CatalogError('validation_failed', `${field} is ${id}, which does not exist; send one that does`);
}

function toPet({ id, name, category_id, status }: Tables['pets']): Pet {
  return { id, name, categoryId: category_id, status };
}
