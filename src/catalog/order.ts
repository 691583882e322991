import type { Static } from 'typebox';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import type { History } from './audit.ts';
import { CatalogError, invalid } from './error.ts';
import type { Once, OnceId } from './idempotency.ts';
import type { Pet } from './pet.ts';
import { Id, type Made, type NewestQuery, type PageQuery, type Precondition } from './resource.ts';
import { objectOf, quote, validator } from './validate.ts';

const ORDER_QUANTITY_MAX = 1_000;
/** RFC 3339, section 5.6, in UTC. */
const UTC_DATE_TIME = '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?([Zz]|[+-]00:00)$';

/** The age that a ship date may have when the order is placed: clocks differ, and a request takes its time. */
const PAST_SECONDS_MAX = 5 * MINUTE_SECONDS;

/** Far in the future, because an order whose ship date has passed cannot be cancelled. */
export const EXAMPLE_SHIP_DATE = '2099-12-31T12:00:00Z';

const fields = {
  petId: { ...Id, description: 'The pet that is ordered' },
  quantity: { type: 'integer', minimum: 1, maximum: ORDER_QUANTITY_MAX, description: 'How many of it', example: 1 },
  shipDate: {
    type: 'string',
    format: 'date-time',
    pattern: UTC_DATE_TIME,
    'x-violation': { '': `send a date and time in UTC such as ${EXAMPLE_SHIP_DATE}` },
    description: 'When the order ships, in UTC',
    example: EXAMPLE_SHIP_DATE,
  },
} as const;

/** The body that places an order. Unknown members are ignored. */
export const NewOrder = objectOf('NewOrder', 'An order to be placed', {
  required: ['petId', 'quantity'],
  properties: {
    ...fields,
    shipDate: { ...fields.shipDate, description: 'When the order ships, in UTC; at most five minutes in the past' },
  },
});
export type NewOrder = Static<typeof NewOrder>;

export const Order = objectOf('Order', 'An order of the store', {
  required: ['id', 'petId', 'quantity', 'complete'],
  properties: {
    id: { ...Id, description: 'Unique identifier, assigned by the service' },
    ...fields,
    complete: { type: 'boolean', description: 'Whether the ship date has passed' },
  },
});
export type Order = Static<typeof Order>;

export const ORDER_STATES = ['open', 'complete', 'cancelled'] as const;

export type OrderInState = Order & { readonly state: (typeof ORDER_STATES)[number] };

/** Selects a page of orders; without a state those of any. */
export type OrderQuery = NewestQuery<OrderInState> & { readonly state?: OrderInState['state'] | undefined };

const check = validator(NewOrder);

/** Reads a NewOrder out of parsed JSON. Throws `validation_failed`. */
export function newOrder(body: unknown): NewOrder {
  const { petId, quantity, shipDate } = check(body);
  if (shipDate === undefined) return { petId, quantity };
  if (!isRealDate(shipDate)) throw invalid(`shipDate is ${quote(shipDate)}, which does not exist; send a real date`);
  return { petId, quantity, shipDate: canonical(shipDate) };
}

/** Checks that an order to be placed at `now` (Unix seconds) does not ship in the past. Throws `validation_failed`. */
export function assertShipsLater(shipDate: string | undefined, now: number): void {
  if (shipDate === undefined || Date.parse(shipDate) >= (now - PAST_SECONDS_MAX) * 1_000) return;
  throw invalid(`shipDate is ${quote(shipDate)}, in the past; send a later one, or none`);
}

/** Checks that a pet has the quantity that is ordered, and is not reserved. Throws `insufficient_stock`. */
export function assertCanBeSold(
  { id, status, quantity }: Pick<Pet, 'id' | 'status'> & { readonly quantity: number },
  ordered: number,
): void {
  if (status !== 'pending' && quantity >= ordered) return;
  const message =
    status === 'pending'
      ? `Pet ${id} is reserved (pending); order it once it is available`
      : quantity === 0
        ? `Pet ${id} is out of stock; order it once there is stock again`
        : `Pet ${id} has ${quantity} in stock, not ${ordered}; order fewer`;
  throw new CatalogError('insufficient_stock', message);
}

/** The one form that a moment is kept in: `Z`, and no zeros at the end of a fraction. */
function canonical(shipDate: string): string {
  const fraction = /\.\d*[1-9]/.exec(shipDate)?.[0] ?? '';
  return `${shipDate.slice(0, 'YYYY-MM-DDThh:mm:ss'.length).toUpperCase()}${fraction}Z`;
}

/** True if the ship date has passed at `now` (Unix seconds). An order without one is never complete. */
export function isComplete(shipDate: string | undefined, now: number): boolean {
  return shipDate !== undefined && Date.parse(shipDate.toUpperCase()) <= now * 1000;
}

/** True if the day exists: `Date` would silently turn 30 February into 2 March. */
function isRealDate(text: string): boolean {
  const ms = Date.parse(text.toUpperCase());
  return Number.isFinite(ms) && new Date(ms).toISOString().slice(0, 10) === text.slice(0, 10);
}

export interface OrderStorage {
  /**
   * Takes the quantity from stock. Throws `validation_failed` if there is no such pet or the ship date has passed, or
   * `insufficient_stock`, also for a pet that is reserved (`pending`).
   */
  insert(order: NewOrder, by: OnceId): Promise<Once<Order>>;
  find(id: number): Promise<Order | undefined>;
  /** A page of orders, ids ascending; of one pet if it is given. */
  list(page: PageQuery & { readonly petId?: number | undefined }): Promise<Order[]>;
  /** Cancelled ones are as they were, and there for as long as the audit keeps their cancellation. */
  newest(query: OrderQuery): Promise<Made<OrderInState>[]>;
  /**
   * Removes an order and returns its stock, once. False if there is none. Throws `order_not_cancellable`, or what
   * `precondition` throws.
   */
  cancel(id: number, by: OnceId, precondition?: Precondition<Order>): Promise<boolean>;
  /** An order with its changes, also one that was cancelled. Undefined if there is none, or it was forgotten. */
  history(id: number): Promise<History<Order> | undefined>;
}
