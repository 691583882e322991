import sql from 'sql-template-tag';
import type { AuditEntry, History } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Once, OnceId } from '../../catalog/idempotency.ts';
import {
  assertCanBeSold,
  assertShipsLater,
  isComplete,
  type NewOrder,
  type Order,
  type OrderInState,
  type OrderQuery,
  type OrderStorage,
} from '../../catalog/order.ts';
import { STOCK_MAX } from '../../catalog/pet.ts';
import type { Made, PageQuery, Precondition } from '../../catalog/resource.ts';
import type { Connection } from '../engine.ts';
import { creationEntry, entriesByKeys, recordChange, toEntryByKey } from './audit.ts';
import { newest, type Read, rowsOf } from './newest.ts';
import { once } from './once.ts';
import { ID_IN_INDEX, setStock, unknown } from './pets.ts';
import { findRow, insertInto, nextId, one } from './statement.ts';
import type { Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

/** Orders in SQL. Stock is taken and returned in the same transaction. */
export class SqlOrders extends SqlNoun implements OrderStorage {
  insert(order: NewOrder, by: OnceId): Promise<Once<Order>> {
    const now = this.now;
    return this.transactions.batch((trx) =>
      once(trx, { ...by, now }, async () => {
        const { petId, quantity, shipDate } = order;
        assertShipsLater(shipDate, now);
        const pet = await findRow(trx, 'pets', petId);
        if (!pet) throw unknown('petId', petId);
        assertCanBeSold(pet, quantity);
        await setStock(trx, pet, pet.quantity - quantity);
        const id = await nextId(trx, 'orders');
        const row = {
          id,
          pet_id: petId,
          quantity,
          ship_date: shipDate ?? null,
          created_at: now,
          created_by: by.keyId,
        };
        await trx.run(insertInto('orders', [row]));
        await recordChange(trx, { at: now, kind: 'order', id, verb: 'place', by, after: membersOf(row) });
        return toOrder(row, now);
      }),
    );
  }

  find(id: number): Promise<Order | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'orders', id);
      return row && toOrder(row, this.now);
    });
  }

  list({ petId, ...page }: PageQuery & { petId?: number | undefined }): Promise<Order[]> {
    return this.transactions.read(async (db) => {
      const rows = await selectPage(db, { ...page, petId });
      const now = this.now;
      return rows.map((row) => toOrder(row, now));
    });
  }

  newest({ state, ...query }: OrderQuery): Promise<Made<OrderInState>[]> {
    const inState = ({ isCancelled, ...row }: PlacedRow): OrderInState => {
      const order = toOrder(row, isCancelled ? 0 : this.now);
      return { ...order, state: isCancelled ? 'cancelled' : order.complete ? 'complete' : 'open' };
    };
    // Both step by step, so that neither is read further than the page; one that was cancelled in between is in both.
    const read: Read<PlacedRow> = async (db, below, limit) => {
      const placed: PlacedRow[] = state === 'cancelled' ? [] : await rowsOf('orders')(db, below, limit);
      const cancelled = (state ?? 'cancelled') === 'cancelled' ? await cancelledRows(db, below, limit) : [];
      const all = new Map([...placed, ...cancelled].map((row) => [row.id, row]));
      return [...all.values()].sort((one, other) => other.id - one.id).slice(0, limit);
    };
    return newest(this.transactions, query, { read, toResource: inState });
  }

  cancel(id: number, by: OnceId, precondition?: Precondition<Order>): Promise<boolean> {
    return this.transactions.batch(async (trx) => {
      const order = await findRow(trx, 'orders', id);
      if (!order) return false;
      const { ship_date, pet_id } = order;
      const present = toOrder(order, this.now);
      // Before the precondition, because it fails in any case (RFC 9110, section 13.2.1).
      if (present.complete) {
        throw new CatalogError('order_not_cancellable', `Order ${id} shipped at ${ship_date} and cannot be cancelled`);
      }
      precondition?.(present);
      const pet = await one<Tables['pets']>(trx, sql`select * from pets where id = ${pet_id}`);
      const quantity = Math.min(pet.quantity + order.quantity, STOCK_MAX);
      await trx.run(sql`delete from orders where id = ${id}`);
      await setStock(trx, pet, quantity);
      const before = { ...membersOf(order), createdAt: order.created_at, createdBy: order.created_by };
      await recordChange(trx, { at: this.now, kind: 'order', id, verb: 'cancel', by, before });
      return true;
    });
  }

  history(id: number): Promise<History<Order> | undefined> {
    return this.transactions.read(async (db) => {
      const row = await findRow(db, 'orders', id);
      const entries = await entriesByKeys(db, 'order', id);
      const last = entries.at(-1);
      const order = row ?? (last && rowBefore(last));
      if (!order) return undefined;
      const resource = { ...toOrder(order, this.now), ...(!row && { complete: false }) };
      if (entries[0]?.action !== 'order.place') entries.unshift(creationEntry(order, 'order.place', membersOf(order)));
      return { resource, isRemoved: !row, entries };
    });
  }
}

/** The members of an order that its history has. */
function membersOf({ pet_id: petId, quantity, ship_date }: Tables['orders']): Members {
  return { petId, quantity, ...(ship_date !== null && { shipDate: ship_date }) };
}

/** The row of a removed order, by its last change: a cancellation, unless the release before removed or placed it. */
function rowBefore({ target, at: createdAt, operator, before, after }: AuditEntry): Tables['orders'] {
  const noted = Object.assign({ createdAt, createdBy: operator.actor }, after, before) as Noted;
  const { petId: pet_id, quantity, shipDate: ship_date = null, createdAt: created_at, createdBy: created_by } = noted;
  return { id: Number(target), pet_id, quantity, ship_date, created_at, created_by };
}

async function cancelledRows(db: Connection, below: number, limit: number): Promise<PlacedRow[]> {
  const changes = await db.all<Tables['changes']>(sql`
    select * from changes where kind = 'order' and verb = 'cancel' and target + 0 < ${below}
    order by target + 0 desc limit ${limit}`);
  return changes.map((change) => ({ ...rowBefore(toEntryByKey(change)), isCancelled: true as const }));
}

type PlacedRow = Tables['orders'] & { readonly isCancelled?: true };
type Members = Pick<Order, 'petId' | 'quantity' | 'shipDate'>;
type Noted = Members & { readonly createdAt: number; readonly createdBy: string };

function selectPage(
  db: Connection,
  { after, limit, petId }: PageQuery & { petId: number | undefined },
): Promise<Tables['orders'][]> {
  if (petId === undefined) return db.all(sql`select * from orders where id > ${after} order by id limit ${limit}`);
  return db.all(sql`
    select * from orders
    where pet_id = ${petId} and ${ID_IN_INDEX} > ${after}
    order by ${ID_IN_INDEX} limit ${limit}`);
}

function toOrder(row: Tables['orders'], now: number): Order {
  const { id, pet_id, quantity } = row;
  const shipDate = row.ship_date ?? undefined;
  const order = { id, petId: pet_id, quantity };
  const complete = isComplete(shipDate, now);
  return shipDate === undefined ? { ...order, complete } : { ...order, shipDate, complete };
}
