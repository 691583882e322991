import { ORDER_STATES, type Order, type OrderInState } from '../../catalog/order.ts';
import { utc } from '../../stdx/time.ts';
import { BY_MAKER, makerColumns, newestPage, withHistory } from './catalog.ts';
import { byChoice, byNumber } from './filters.ts';
import { operate } from './operation.ts';
import { ID } from './pets.ts';
import { ListedOrder, OrderHistory } from './schema.ts';

/** The operations on orders, which read: orders are placed and cancelled through the public API. */

export const listOrders = operate('order.list', 'listOrders', 'GET /orders', {
  summary: 'List orders',
  description:
    'A page of the orders, newest first, with cancelled ones for as long as `AUDIT_KEPT` says. The filters combine.',
  permission: 'viewer',
  filters: {
    state: byChoice('Only orders in this state', ORDER_STATES, { label: 'State' }),
    pet: byNumber('Only orders of this pet', ID, { label: 'Pet (id)' }),
    ...BY_MAKER,
  },
  list: {
    noun: ['order', 'orders'],
    schema: ListedOrder,
    columns: [
      { member: 'id', label: 'Order' },
      { member: 'state', label: 'State' },
      { member: 'petName', label: 'Pet' },
      { member: 'quantity', label: 'Quantity', isNumber: true },
      ...makerColumns('Placed'),
      { member: 'shipDate', label: 'Ships' },
    ],
    csv: {
      columns: ['id', 'petId', 'quantity', 'state', 'placedAt', 'keyId', 'owner', 'shipDate'],
      row: ({ createdAt: placedAt, ...rest }) => ({ ...rest, placedAt }),
    },
  },
  async handle(caller, call) {
    const { storage } = caller;
    const { pet, state } = call.query;
    const { rows, last } = await newestPage<OrderInState>(
      caller,
      call,
      (query) => storage.orders.newest({ ...query, state }),
      (order) => order.petId === (pet ?? order.petId) && order.state === (state ?? order.state),
    );
    const pets = await Promise.all(rows.map(({ petId }) => storage.pets.find(petId)));
    return { json: rows.map((order, index) => ({ ...order, petName: pets[index]?.name ?? null })), last };
  },
});

export const getOrder = operate('order.show', 'getOrder', 'GET /orders/{orderId}', {
  summary: 'Get an order and its history',
  description:
    'One order, also a cancelled one (`removed`), for two years: who placed and cancelled it, when, under which request id.',
  permission: 'viewer',
  parameter: {
    name: 'orderId',
    description: 'The id, or the request id or `Idempotency-Key` that made it',
    schema: { type: 'string', example: '7' },
  },
  success: { status: 200, description: 'The order', schema: OrderHistory },
  async handle(caller, { id }) {
    const { row, json } = await withHistory('order', caller, id);
    const { complete, shipDate } = row as Order;
    // No request made it, so that no entry says it.
    if (complete && shipDate !== undefined) {
      const at = utc(Math.floor(Date.parse(shipDate) / 1_000));
      json.history.push({ at, action: 'shipped', requestId: null, changes: { before: null, after: null } });
    }
    return { json };
  },
});
