import type { Order } from '../../catalog/order.ts';
import { utc } from '../../stdx/time.ts';
import { pageById } from './categories.ts';
import { byNumber } from './filters.ts';
import { withHistory } from './history.ts';
import { operate } from './operation.ts';
import { ID } from './pets.ts';
import { ListedOrder, OrderHistory } from './schema.ts';

/** The operations on orders, which read: orders are placed and cancelled through the public API. */

export const listOrders = operate('order.list', 'listOrders', 'GET /orders', {
  summary: 'List orders',
  description: 'A page of the orders.',
  permission: 'viewer',
  filters: { pet: byNumber('Only orders of this pet', ID, { label: 'Pet (id)' }) },
  list: {
    noun: ['order', 'orders'],
    schema: ListedOrder,
    columns: [
      { member: 'id', label: 'Order' },
      { member: 'state', label: 'State', text: ({ complete }) => (complete ? 'complete' : 'open') },
      { member: 'petName', label: 'Pet' },
      { member: 'quantity', label: 'Quantity', isNumber: true },
      { member: 'shipDate', label: 'Ships' },
    ],
  },
  async handle({ storage }, { query: { pet: petId }, limit, behind }) {
    const page = { after: behind?.number ?? 0, limit: limit + 1, petId };
    const { json: rows, last } = pageById(await storage.orders.list(page), limit);
    const pets = await Promise.all(rows.map(({ petId: id }) => storage.pets.find(id)));
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
  success: {
    status: 200,
    description: 'The order',
    schema: OrderHistory,
  },
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
