import { EXAMPLE_SHIP_DATE, NewOrder, newOrder, Order } from '../../catalog/order.ts';
import { authorOf, createdAnswer, createdOf, currentAnswer, onceIdOf, preconditionOf } from './conditional.ts';
import { operation, type Parameter } from './operation.ts';
import { PAGE_PARAMETERS, pageAnswer, pageOf, readPage } from './paging.ts';
import { findById, notFound, readIdParameter } from './query.ts';

const PATH = '/store/orders';
const EXAMPLE = { id: 1, petId: 1, quantity: 1, shipDate: EXAMPLE_SHIP_DATE, complete: false };
const noOrder = notFound('order', 'it may be cancelled already');

const FILTERS: readonly Parameter[] = [
  { name: 'petId', description: 'Only orders of this pet', schema: Order.properties.petId },
];
const ORDER_ID: Parameter = { name: 'orderId', description: 'The id of an order', schema: Order.properties.id };

/** GET /store/orders [published]. */
export const LIST_ORDERS = operation('listOrders', `GET ${PATH}`, {
  tag: 'store',
  summary: 'List orders',
  description: 'One page of the orders, in ascending order of id. The `Link` header names the next page.',
  permission: 'store:read',
  queryParameters: [...FILTERS, ...PAGE_PARAMETERS],
  success: pageOf(Order, 'The orders', EXAMPLE),
  conditional: true,
  async handle({ storage }, exchange) {
    const { after, limit } = readPage(exchange.query);
    const petId = readIdParameter(exchange.query, 'petId');
    const found = await storage.orders.list({ after, limit: limit + 1, petId });
    return pageAnswer(exchange, { limit, found, idOf: ({ id }) => id });
  },
});

export const GET_ORDER = operation('getOrder', `GET ${PATH}/{orderId}`, {
  tag: 'store',
  summary: 'Get an order',
  description: 'One order by its id, until it is cancelled.',
  permission: 'store:read',
  pathParameters: [ORDER_ID],
  success: { status: 200, description: 'The order', schema: Order, example: EXAMPLE },
  conditional: true,
  errors: ['not_found'],
  async handle({ storage }, exchange) {
    const order = await findById(exchange.params.orderId, noOrder, (id) => storage.orders.find(id));
    return currentAnswer(exchange, JSON.stringify(order));
  },
});

export const PLACE_ORDER = operation('placeOrder', `POST ${PATH}`, {
  tag: 'store',
  summary: 'Place an order',
  description:
    'Orders a pet and reduces its stock atomically: of two orders for the last animal, one succeeds. A `pending` pet is reserved and cannot be ordered.',
  permission: 'store:write',
  stability: 'beta',
  body: { schema: NewOrder, example: { petId: 1, quantity: 1, shipDate: EXAMPLE.shipDate } },
  success: createdOf(Order, EXAMPLE, { description: 'The placed order', location: 'The address of the order' }),
  errors: ['insufficient_stock'],
  async handle({ storage }, exchange) {
    const created = await storage.orders.insert(newOrder(exchange.body), onceIdOf(exchange, exchange.key.id));
    return createdAnswer(`${PATH}/`, created);
  },
});

export const CANCEL_ORDER = operation('cancelOrder', `DELETE ${PATH}/{orderId}`, {
  tag: 'store',
  summary: 'Cancel an order',
  description: 'Deletes an order that is not complete and returns its quantity to stock, once.',
  permission: 'store:write',
  pathParameters: [ORDER_ID],
  success: { status: 204, description: 'The order is cancelled and its stock returned' },
  errors: ['not_found', 'order_not_cancellable', 'precondition_failed'],
  async handle({ storage }, exchange) {
    const cancel = async (id: number) =>
      (await storage.orders.cancel(id, authorOf(exchange), preconditionOf(exchange.request.headers['if-match']))) ||
      undefined;
    await findById(exchange.params.orderId, noOrder, cancel);
    return { status: 204 };
  },
});
