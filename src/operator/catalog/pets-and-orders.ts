import type { Order } from '../../catalog/order.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../../catalog/pet.ts';
import type { Storage } from '../../catalog/storage.ts';
import { type Html, html } from '../../http/html.ts';
import { rowsTable } from '../doors/lists.ts';
import { type ConsoleContext, onGet, type View } from '../frame/context.ts';
import { count, empty, foreign, moment } from '../frame/element.ts';
import { addressOf } from '../frame/list.ts';
import { byChoice, byNumber, resource } from '../resource.ts';
import { pageById } from './categories.ts';
import { findRecorded, historySection, orderRecord, petRecord } from './history.ts';

const ID = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const ORDERS_MAX = 50;
const STATUS_BADGES: Readonly<Record<PetStatus, string>> = {
  available: 'badge good',
  pending: 'badge warning',
  sold: 'badge',
};

/** The pets, read-only: they are changed through the public API. */
export const pets = resource({
  path: 'pets',
  title: 'Pets',
  noun: ['pet', 'pets'],
  filters: {
    status: byChoice('Only pets in this state', PET_STATUSES, { label: 'Status' }),
    category: byNumber('Only pets of this category', ID, { label: 'Category (id)' }),
  },
  async page({ storage }, { status, category: categoryId, limit, behind }) {
    const page = { after: behind?.number ?? 0, limit: limit + 1 };
    return pageById(await storage.pets.list({ ...page, status, categoryId }), limit);
  },
  json: (_context, rows) => rows,
  columns: [
    { label: 'Name', cell: ({ id, name }: Pet) => html`<a href="/console/pets/${id}">${foreign(name)}</a>` },
    { label: 'Id', cell: ({ id }) => html`${id}`, isNumber: true },
    { label: 'Status', cell: ({ status }) => statusBadge(status) },
    { label: 'Category', cell: ({ categoryId }, { names }) => categoryLink(categoryId, names.get(categoryId)) },
    { label: 'Stock', cell: ({ id }, { stocks }) => html`${count(stocks.get(id) ?? 0)}`, isNumber: true },
    {
      label: 'Linked',
      cell: ({ id }) =>
        html`<a href="/console${addressOf('/orders', { pet: `${id}` })}" aria-label="Orders of pet ${id}">Orders</a>`,
    },
  ],
  console: {
    async related({ storage }, rows) {
      const ids = [...new Set(rows.map(({ categoryId }) => categoryId))];
      const stocks = rows.map(async ({ id }) => [id, (await storage.pets.findInventory(id))?.quantity ?? 0] as const);
      const found = await Promise.all(ids.map((id) => storage.categories.find(id)));
      return { names: namesOf(found), stocks: new Map(await Promise.all(stocks)) };
    },
    none: ({ url }) =>
      empty('There are no pets yet.', html`Create them through the API: <code>POST ${url()}/pets</code>`),
  },
});

/** The orders, read-only. */
export const orders = resource({
  path: 'orders',
  title: 'Orders',
  noun: ['order', 'orders'],
  filters: { pet: byNumber('Only orders of this pet', ID, { label: 'Pet (id)' }) },
  async page({ storage }, { pet: petId, limit, behind }) {
    return pageById(await storage.orders.list({ after: behind?.number ?? 0, limit: limit + 1, petId }), limit);
  },
  json: (_context, rows) => rows,
  columns: [
    { label: 'Order', cell: ({ id }: Order) => html`<a href="/console/orders/${id}">no. ${id}</a>` },
    {
      label: 'State',
      cell: ({ complete }) => orderBadge(complete),
    },
    {
      label: 'Pet',
      cell: ({ petId }, names) => petLink(petId, names),
    },
    { label: 'Quantity', cell: ({ quantity }) => html`${count(quantity)}`, isNumber: true },
    {
      label: 'Ships',
      cell: ({ shipDate }) => shipping(shipDate),
    },
  ],
  console: {
    related: ({ storage }, rows) => petNames(storage, rows),
    none: ({ url }) =>
      empty('There are no orders yet.', html`Place them through the API: <code>POST ${url()}/store/orders</code>`),
  },
});

/** The pages of a pet and of an order. */
export const shopRoutes = [onGet('/pets/:id', showPet), onGet('/orders/:id', showOrder)];

async function showOrder(context: ConsoleContext): Promise<View> {
  const { storage } = context;
  const { resource, isRemoved, lines } = await findRecorded(orderRecord, storage, context.id);
  const { id, petId, quantity, shipDate, complete } = resource;
  const names = await petNames(storage, [resource]);
  const content = html`<p class="crumb"><a href="/console/orders">Orders</a></p>
<h1>Order ${id} ${isRemoved ? html`<span class="badge">cancelled</span>` : orderBadge(complete)}</h1>
<dl class="facts"><dt>Pet</dt><dd>${petLink(petId, names)}</dd>
<dt>Quantity</dt><dd>${count(quantity)}</dd>
<dt>Ships</dt><dd>${shipping(shipDate)}</dd></dl>
${isRemoved ? html`<p class="soft">Its stock was returned, and the public API answers 404 for it.</p>` : ''}
${await historySection(context, lines)}`;
  return { section: '/orders', title: `Order ${id}`, content };
}

async function showPet(context: ConsoleContext): Promise<View> {
  const { storage } = context;
  const { resource: pet, lines } = await findRecorded(petRecord, storage, context.id);
  const { id } = pet;
  const category = await storage.categories.find(pet.categoryId);
  const rows = await storage.orders.list({ after: 0, limit: ORDERS_MAX, petId: id });
  const all = html`<p><a href="/console${addressOf('/orders', { pet: `${id}` })}">All orders of the pet</a></p>`;
  const content = html`<p class="crumb"><a href="/console/pets">Pets</a></p>
<h1>${foreign(pet.name)} ${statusBadge(pet.status)}</h1>
<dl class="facts"><dt>Id</dt><dd>${id}</dd>
<dt>Category</dt><dd>${categoryLink(pet.categoryId, category?.name)}</dd>
<dt>In stock</dt><dd>${count(pet.quantity)}</dd></dl>
<h2>Orders</h2>
${rows.length > 0 ? await rowsTable(orders, context, { rows }) : html`<p class="soft">No order is open or complete for this pet.</p>`}
${rows.length === ORDERS_MAX ? all : ''}
${await historySection(context, lines)}`;
  return { section: '/pets', title: pet.name, content };
}

function orderBadge(complete: boolean): Html {
  return complete ? html`<span class="badge good">complete</span>` : html`<span class="badge warning">open</span>`;
}

function shipping(shipDate: string | undefined): Html {
  if (shipDate === undefined) return html`<span class="soft">no date</span>`;
  return moment(Math.floor(Date.parse(shipDate.toUpperCase()) / 1_000));
}

function petLink(id: number, names: ReadonlyMap<number, string>): Html {
  return html`<a href="/console/pets/${id}">${foreign(names.get(id) ?? `pet ${id}`)}</a> <span class="soft">pet ${id}</span>`;
}

function statusBadge(status: PetStatus): Html {
  return html`<span class="${STATUS_BADGES[status]}">${status}</span>`;
}

async function petNames({ pets: stored }: Pick<Storage, 'pets'>, rows: readonly Order[]): Promise<Map<number, string>> {
  const ids = [...new Set(rows.map(({ petId }) => petId))];
  return namesOf(await stored.list({ ids, after: 0, limit: ids.length }));
}

function namesOf(items: readonly ({ readonly id: number; readonly name: string } | undefined)[]): Map<number, string> {
  return new Map(items.flatMap((item) => (item ? [[item.id, item.name]] : [])));
}

function categoryLink(id: number, name = `${id}`): Html {
  return html`<a href="/console/categories/${id}">${foreign(name)}</a>`;
}
