import type { PageQuery } from '../../catalog/page.ts';
import { type Html, html } from '../../http/docs/html.ts';
import { type ConsoleContext, type ConsoleRoute, numberIn } from '../frame/context.ts';
import { type Column, empty, foreign, moment, numberCell, pager, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';

const ROWS_PER_PAGE = 50;

/** The lists of pets and orders, read-only: they are changed through the API. */
export const storeRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/pets',
    async handle(context) {
      const columns = [
        { name: 'Id', isNarrow: true },
        { name: 'Name' },
        { name: 'Category' },
        { name: 'Status' },
        { name: 'Stock', isNumber: true },
      ];
      const none = empty(
        'There are no pets yet.',
        html`Create them through the API: <code>POST ${context.url()}/pets</code>`,
      );
      const content = await listing(context, { title: 'Pets', path: '/pets', columns, none, read: readPets });
      return page(context, { section: '/pets', title: 'Pets', content });
    },
  },
  {
    method: 'GET',
    path: '/orders',
    async handle(context) {
      const columns = [
        { name: 'Id', isNarrow: true },
        { name: 'Pet' },
        { name: 'Quantity', isNumber: true },
        { name: 'Ships' },
        { name: 'State' },
      ];
      const none = empty(
        'There are no orders yet.',
        html`Place them through the API: <code>POST ${context.url()}/store/orders</code>`,
      );
      const content = await listing(context, { title: 'Orders', path: '/orders', columns, none, read: readOrders });
      return page(context, { section: '/orders', title: 'Orders', content });
    },
  },
];

/** A row; the id of the last one is the cursor of the next page. */
interface Row {
  readonly id: number;
  readonly cells: Html;
}

interface Listing {
  readonly title: string;
  readonly path: string;
  readonly columns: readonly Column[];
  readonly none: Html;
  read(context: ConsoleContext, page: PageQuery): Promise<Row[]>;
}

async function listing(context: ConsoleContext, { title, path, columns, none, read }: Listing): Promise<Html> {
  const after = numberIn(context.exchange.query, 'after', 0);
  const found = await read(context, { after, limit: ROWS_PER_PAGE + 1 });
  const rows = found.slice(0, ROWS_PER_PAGE);
  const last = found.length > ROWS_PER_PAGE ? rows.at(-1) : undefined;
  return html`<h1>${title}</h1>
${
  rows.length === 0 && after === 0
    ? none
    : table(
        title,
        columns,
        rows.map(({ cells }) => html`<tr>${cells}</tr>\n`),
      )
}
${pager(after > 0 ? path : undefined, last && `${path}?after=${last.id}`, ['First page', 'Next'])}`;
}

async function readPets({ storage }: ConsoleContext, query: PageQuery): Promise<Row[]> {
  const pets = await storage.pets.list(query);
  const stock = new Map((await storage.pets.listInventory(query)).map((item) => [item.petId, item.quantity]));
  const ids = [...new Set(pets.map(({ categoryId }) => categoryId))];
  const names = new Map(
    await Promise.all(ids.map(async (id) => [id, (await storage.categories.find(id))?.name ?? `${id}`] as const)),
  );
  return pets.map(({ id, name, categoryId, status }) => ({
    id,
    cells: html`<th scope="row">${id}</th><td>${foreign(name)}</td><td><a href="/console/categories/${categoryId}">${foreign(names.get(categoryId) ?? '')}</a></td><td>${status}</td>${numberCell(stock.get(id) ?? 0)}`,
  }));
}

async function readOrders({ storage }: ConsoleContext, query: PageQuery): Promise<Row[]> {
  const orders = await storage.orders.list(query);
  const ids = [...new Set(orders.map(({ petId }) => petId))];
  const names = new Map(
    await Promise.all(ids.map(async (id) => [id, (await storage.pets.find(id))?.name ?? `${id}`] as const)),
  );
  return orders.map(({ id, petId, quantity, shipDate, complete }) => ({
    id,
    cells: html`<th scope="row">${id}</th><td>${foreign(names.get(petId) ?? '')} <span class="soft">no. ${petId}</span></td>${numberCell(quantity)}<td>${shipDate === undefined ? '' : moment(Math.floor(Date.parse(shipDate.toUpperCase()) / 1_000))}</td><td>${complete ? 'complete' : 'open'}</td>`,
  }));
}
