import type { Order } from '../../catalog/order.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../../catalog/pet.ts';
import type { Storage } from '../../catalog/storage.ts';
import { type Html, html } from '../../http/html.ts';
import { readId } from '../../http/operations/query.ts';
import { rowsTable } from '../doors/lists.ts';
import { type ConsoleContext, nothingHere, onGet, type View } from '../frame/context.ts';
import { count, empty, foreign, moment } from '../frame/element.ts';
import { addressOf } from '../frame/list.ts';
import { byChoice, byNumber, resource } from '../resource.ts';
import { pageById } from './categories.ts';

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
    { label: 'Order', cell: ({ id }: Order) => html`no. ${id}` },
    {
      label: 'State',
      cell: ({ complete }) =>
        complete ? html`<span class="badge good">complete</span>` : html`<span class="badge warning">open</span>`,
    },
    {
      label: 'Pet',
      cell: ({ petId }, names) =>
        html`<a href="/console/pets/${petId}">${foreign(names.get(petId) ?? `pet ${petId}`)}</a> <span class="soft">pet ${petId}</span>`,
    },
    { label: 'Quantity', cell: ({ quantity }) => html`${count(quantity)}`, isNumber: true },
    {
      label: 'Ships',
      cell: ({ shipDate }) =>
        shipDate === undefined
          ? html`<span class="soft">no date</span>`
          : moment(Math.floor(Date.parse(shipDate.toUpperCase()) / 1_000)),
    },
  ],
  console: {
    related: ({ storage }, rows) => petNames(storage, rows),
    none: ({ url }) =>
      empty('There are no orders yet.', html`Place them through the API: <code>POST ${url()}/store/orders</code>`),
  },
});

/** The page of a pet. */
export const petRoutes = [onGet('/pets/:id', showPet)];

async function showPet(context: ConsoleContext): Promise<View> {
  const { storage } = context;
  const id = readId(context.id) ?? 0;
  const [pet, stock] = [await storage.pets.find(id), await storage.pets.findInventory(id)];
  if (!pet) throw nothingHere('pet');
  const category = await storage.categories.find(pet.categoryId);
  const rows = await storage.orders.list({ after: 0, limit: ORDERS_MAX, petId: id });
  const all = html`<p><a href="/console${addressOf('/orders', { pet: `${id}` })}">All orders of the pet</a></p>`;
  const content = html`<p class="crumb"><a href="/console/pets">Pets</a></p>
<h1>${foreign(pet.name)} ${statusBadge(pet.status)}</h1>
<dl class="facts"><dt>Id</dt><dd>${id}</dd>
<dt>Category</dt><dd>${categoryLink(pet.categoryId, category?.name)}</dd>
<dt>In stock</dt><dd>${count(stock?.quantity ?? 0)}</dd></dl>
<h2>Orders</h2>
${rows.length > 0 ? await rowsTable(orders, context, { rows }) : html`<p class="soft">No order is open or complete for this pet.</p>`}
${rows.length === ORDERS_MAX ? all : ''}`;
  return { section: '/pets', title: pet.name, content };
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
