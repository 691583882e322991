import type { Category } from '../../catalog/category.ts';
import type { HistoryLineJson } from '../../catalog/operator/json.ts';
import type { Order } from '../../catalog/order.ts';
import type { PetStatus } from '../../catalog/pet.ts';
import { type Html, html } from '../../http/html.ts';
import { deleteCategory, getCategory, listCategories, renameCategory } from '../api/categories.ts';
import { call } from '../api/operation.ts';
import { getOrder, listOrders } from '../api/orders.ts';
import { getPet, listPets } from '../api/pets.ts';
import { formPages } from './form-pages.ts';
import { type ConsoleContext, may, onGet, type View } from './frame/context.ts';
import { count, empty, foreign, moment } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { authorOf, historySection } from './history.ts';
import { listPages } from './list-pages.ts';

/** The pages of categories, pets and orders. */

interface ListedPet {
  readonly id: number;
  readonly name: string;
  readonly categoryId: number;
  readonly categoryName: string | null;
  readonly status: PetStatus;
  readonly quantity: number;
}
type ListedOrder = Order & { readonly petName: string | null; readonly state: string };
type Recorded<T> = T & { readonly removed: boolean; readonly history: readonly HistoryLineJson[] };

const STATUS_BADGES: Readonly<Record<PetStatus, string>> = {
  available: 'badge good',
  pending: 'badge warning',
  sold: 'badge',
};
const OF_A_CATEGORY = {
  path: '/categories',
  of: getCategory,
  hasPage: true,
} as const;

const rename = formPages(renameCategory, {
  ...OF_A_CATEGORY,
  title: 'Rename the category',
  button: 'Rename',
  done: 'The category was renamed.',
});

const deletion = formPages(deleteCategory, {
  ...OF_A_CATEGORY,
  button: 'Delete the category',
  isDangerous: true,
  done: 'The category was deleted.',
});

export const catalogForms = [rename, deletion];

export const catalogRoutes = [
  ...listPages(listCategories, {
    path: '/categories',
    title: 'Categories',
    columns: ['name', 'id', 'description', 'createdAt', 'by'],
    cells: {
      name: ({ id, name }: Category) => html`<a href="/console/categories/${id}">${foreign(name)}</a>`,
      description: ({ description = '' }: Category) =>
        description === '' ? html`<span class="soft">none</span>` : foreign(description),
      by: authorOf,
    },
    none: (context) =>
      empty(
        'There are no categories yet.',
        html`Import a file with <code>pet-catalog categories import</code>, or create them through the API: <code>POST ${context.url()}/categories</code>`,
      ),
  }),
  ...listPages(listPets, {
    path: '/pets',
    title: 'Pets',
    columns: ['name', 'id', 'status', 'categoryName', 'quantity', 'createdAt', 'by'],
    cells: {
      name: ({ id, name }: ListedPet) => html`<a href="/console/pets/${id}">${foreign(name)}</a>`,
      status: ({ status }: ListedPet) => statusBadge(status),
      categoryName: ({ categoryId, categoryName }: ListedPet) => categoryLink(categoryId, categoryName ?? undefined),
      quantity: ({ quantity }: ListedPet) => html`${count(quantity)}`,
      by: authorOf,
    },
    none: ({ url }) =>
      empty('There are no pets yet.', html`Create them through the API: <code>POST ${url()}/pets</code>`),
  }),
  ...listPages(listOrders, {
    path: '/orders',
    title: 'Orders',
    cells: {
      id: ({ id }: Order) => html`<a href="/console/orders/${id}">no. ${id}</a>`,
      state: ({ state }: ListedOrder) => orderBadge(state),
      by: authorOf,
      petName: ({ petId, petName }: ListedOrder) => petLink(petId, petName),
      quantity: ({ quantity }: Order) => html`${count(quantity)}`,
      shipDate: ({ shipDate }: Order) => shipping(shipDate),
    },
    none: ({ url }) =>
      empty('There are no orders yet.', html`Place them through the API: <code>POST ${url()}/store/orders</code>`),
  }),
  onGet('/categories/:id', showCategory),
  onGet('/pets/:id', showPet),
  onGet('/orders/:id', showOrder),
];

async function showCategory(context: ConsoleContext): Promise<View> {
  const { json } = await call(getCategory, context.caller, { id: context.id });
  const { id, name, description, removed, history } = json as Recorded<Category>;
  const actions =
    may(context, 'admin') && !removed
      ? html`<div class="row"><a class="button" href="/console${rename.pathOf(id)}">Rename</a><a class="button danger" href="/console${deletion.pathOf(id)}">Delete</a></div>`
      : '';
  const pets = html`<a href="/console${addressOf('/pets', { category: `${id}` })}">Pets of this category</a>`;
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a></p>
<div class="heading"><h1>${foreign(name)}${removed ? html` <span class="badge">deleted</span>` : ''}</h1>${actions}</div>
<dl class="facts"><dt>Id</dt><dd>${id}</dd><dt>Description</dt><dd>${description ? foreign(description) : html`<span class="soft">none</span>`}</dd>
${removed ? '' : html`<dt>Pets</dt><dd>${pets}</dd>`}</dl>
${historySection(history)}`;
  return { section: '/categories', title: name, content };
}

async function showOrder(context: ConsoleContext): Promise<View> {
  const { json } = await call(getOrder, context.caller, { id: context.id });
  const { id, petId, quantity, shipDate, complete, removed, history } = json as Recorded<Order>;
  const pet = await context.storage.pets.find(petId);
  const content = html`<p class="crumb"><a href="/console/orders">Orders</a></p>
<h1>Order ${id} ${orderBadge(removed ? 'cancelled' : complete ? 'complete' : 'open')}</h1>
<dl class="facts"><dt>Pet</dt><dd>${petLink(petId, pet?.name ?? null)}</dd>
<dt>Quantity</dt><dd>${count(quantity)}</dd>
<dt>Ships</dt><dd>${shipping(shipDate)}</dd></dl>
${removed ? html`<p class="soft">Its stock was returned, and the public API answers 404 for it.</p>` : ''}
${historySection(history)}`;
  return { section: '/orders', title: `Order ${id}`, content };
}

async function showPet(context: ConsoleContext): Promise<View> {
  const { json } = await call(getPet, context.caller, { id: context.id });
  const { id, name, status, categoryId, quantity, history } = json as Recorded<ListedPet>;
  const category = await context.storage.categories.find(categoryId);
  const all = html`<p><a href="/console${addressOf('/orders', { pet: `${id}` })}">All orders of the pet</a></p>`;
  const content = html`<p class="crumb"><a href="/console/pets">Pets</a></p>
<h1>${foreign(name)} ${statusBadge(status)}</h1>
<dl class="facts"><dt>Id</dt><dd>${id}</dd>
<dt>Category</dt><dd>${categoryLink(categoryId, category?.name)}</dd>
<dt>In stock</dt><dd>${count(quantity)}</dd></dl>
${all}
${historySection(history)}`;
  return { section: '/pets', title: name, content };
}

function petLink(id: number, name: string | null): Html {
  return html`<a href="/console/pets/${id}">${foreign(name ?? `pet ${id}`)}</a> <span class="soft">pet ${id}</span>`;
}

function orderBadge(state: string): Html {
  const tone = { complete: ' good', open: ' warning' }[state] ?? '';
  return html`<span class="badge${tone}">${state}</span>`;
}

function shipping(shipDate: string | undefined): Html {
  if (shipDate === undefined) return html`<span class="soft">no date</span>`;
  return moment(Math.floor(Date.parse(shipDate.toUpperCase()) / 1_000));
}

function statusBadge(status: PetStatus): Html {
  return html`<span class="${STATUS_BADGES[status]}">${status}</span>`;
}

function categoryLink(id: number, name = `${id}`): Html {
  return html`<a href="/console/categories/${id}">${foreign(name)}</a>`;
}
