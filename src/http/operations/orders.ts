import { CatalogError } from '../../catalog/error.ts';
import { NewOrder, newOrder, Order } from '../../catalog/order.ts';
import { quote } from '../../catalog/validate.ts';
import { createdAnswer, originOf } from './idempotency.ts';
import type { Operation } from './operation.ts';
import { PAGE_PARAMETERS, pageAnswer, readId, readPage } from './paging.ts';

const PATH = '/store/orders';
const EXAMPLE = { id: 1, petId: 1, quantity: 1, shipDate: '2026-01-01T12:00:00Z', complete: false };

/** GET /store/orders [published]. */
export const listOrders: Operation = {
  id: 'listOrders',
  method: 'GET',
  path: PATH,
  tag: 'store',
  summary: 'List orders',
  description: 'One page of the orders, in ascending order of id. The `Link` header names the next page.',
  scope: 'store:read',
  queryParameters: PAGE_PARAMETERS,
  success: {
    status: 200,
    description: 'The orders',
    schema: { type: 'array', items: Order },
    example: [EXAMPLE],
    headers: { Link: 'The next page; absent on the last' },
  },
  errors: ['validation_failed'],
  async handle({ storage }, { query }) {
    const page = readPage(query);
    const found = await storage.orders.list({ after: page.after, limit: page.limit + 1 });
    return pageAnswer(PATH, page, { found, idOf: ({ id }) => id });
  },
};

/** POST /store/orders. */
export const placeOrder: Operation = {
  id: 'placeOrder',
  method: 'POST',
  path: PATH,
  tag: 'store',
  summary: 'Place an order',
  description: 'Orders a pet and reduces its stock atomically: of two orders for the last animal, one succeeds.',
  scope: 'store:write',
  stability: 'experimental',
  body: { schema: NewOrder, example: { petId: 1, quantity: 1, shipDate: EXAMPLE.shipDate } },
  success: {
    status: 201,
    description: 'The placed order',
    schema: Order,
    example: EXAMPLE,
    headers: { Location: 'The address of the order' },
  },
  errors: ['insufficient_stock'],
  async handle({ storage }, exchange) {
    return createdAnswer(PATH, await storage.orders.insert(newOrder(exchange.body), originOf(exchange)));
  },
};

/** DELETE /store/orders/{orderId}. */
export const cancelOrder: Operation = {
  id: 'cancelOrder',
  method: 'DELETE',
  path: `${PATH}/{orderId}`,
  tag: 'store',
  summary: 'Cancel an order',
  description: 'Deletes an order that is not complete and returns its quantity to stock, once.',
  scope: 'store:write',
  stability: 'beta',
  pathParameters: [{ name: 'orderId', description: 'The id of an order', schema: Order.properties.id }],
  success: { status: 204, description: 'The order is cancelled and its stock returned' },
  errors: ['not_found', 'order_not_cancellable'],
  async handle({ storage }, { params }) {
    const id = readId(params.orderId);
    if (id !== undefined && (await storage.orders.cancel(id))) return { status: 204 };
    throw new CatalogError('not_found', `There is no order ${quote(params.orderId)}; it may be cancelled already`);
  },
};
