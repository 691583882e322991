import type { Order } from '../../catalog/order.ts';
import { PET_STATUSES, type Pet, type PetStatus } from '../../catalog/pet.ts';
import { type Html, html } from '../../http/html.ts';
import { readId } from '../../http/operations/query.ts';
import { type ConsoleContext, nothingHere, onGet, type View } from '../frame/context.ts';
import { cardTable, count, empty, foreign, moment, numeric } from '../frame/element.ts';
import { ANY, addressOf, choiceField, filters, numberIn, onePage, searchText, textField } from '../frame/list.ts';

const STATUSES = [ANY, ...PET_STATUSES.map((status) => ({ value: status, label: status }))];
const STATUS_BADGES: Readonly<Record<PetStatus, string>> = {
  available: 'badge good',
  pending: 'badge warning',
  sold: 'badge',
};
const PET_COLUMNS = ['Name', numeric('Id'), 'Status', 'Category', numeric('Stock'), 'Linked'];
const ORDER_COLUMNS = ['Order', 'State', 'Pet', numeric('Quantity'), 'Ships'];

/** The lists of pets and orders and the page of a pet, read-only: they are changed through the API. */
export const storeRoutes = [onGet('/pets', listPets), onGet('/pets/:id', showPet), onGet('/orders', listOrders)];

async function listPets(context: ConsoleContext): Promise<View> {
  const { storage, exchange } = context;
  const { query } = exchange;
  const status = PET_STATUSES.find((each) => each === query.get('status'));
  const category = searchText(query, 'category');
  const categoryId = category ? numberIn(query, 'category', 0) : undefined;
  const filter = { status, category };
  const { items, pages, isFirst } = await onePage(context, { filter }, (at) =>
    storage.pets.list({ ...at, status, categoryId }),
  );
  const isFiltered = Object.values(filter).some(Boolean);
  const hasNone = items.length === 0 && isFirst && !isFiltered;
  const none = hasNone
    ? empty('There are no pets yet.', html`Create them through the API: <code>POST ${context.url()}/pets</code>`)
    : empty('No pet found.', html`<a href="/console/pets">Show all pets</a>`);
  const fields = [
    choiceField(query, 'status', { label: 'Status', options: STATUSES }),
    textField('category', 'Category (id)', category),
  ];
  const content = html`<h1>Pets</h1>
${hasNone ? '' : filters('/pets', fields, { isFiltered })}
${items.length > 0 ? cardTable('Pets', PET_COLUMNS, await petRows(context, items)) : none}
${pages}`;
  return { section: '/pets', title: 'Pets', content };
}

async function showPet(context: ConsoleContext): Promise<View> {
  const { storage } = context;
  const id = readId(context.id) ?? 0;
  const [pet, stock] = [await storage.pets.find(id), await storage.pets.findInventory(id)];
  if (!pet) throw nothingHere('pet');
  const category = await storage.categories.find(pet.categoryId);
  const { items, pages } = await onePage(context, { filter: {} }, (at) => storage.orders.list({ ...at, petId: id }));
  const content = html`<p class="crumb"><a href="/console/pets">Pets</a></p>
<h1>${foreign(pet.name)} <span class="${STATUS_BADGES[pet.status]}">${pet.status}</span></h1>
<dl class="facts"><dt>Id</dt><dd>${id}</dd>
<dt>Category</dt><dd>${categoryLink(pet.categoryId, category?.name)}</dd>
<dt>In stock</dt><dd>${count(stock?.quantity ?? 0)}</dd></dl>
<h2>Orders</h2>
${items.length > 0 ? cardTable('Orders of the pet', ORDER_COLUMNS, await orderRows(context, items)) : html`<p class="soft">No order is open or complete for this pet.</p>`}
${pages}`;
  return { section: '/pets', title: pet.name, content };
}

async function listOrders(context: ConsoleContext): Promise<View> {
  const { storage, exchange } = context;
  const pet = searchText(exchange.query, 'pet');
  const petId = pet ? numberIn(exchange.query, 'pet', 0) : undefined;
  const filter = { pet };
  const { items, pages, isFirst } = await onePage(context, { filter }, (at) => storage.orders.list({ ...at, petId }));
  const hasNone = items.length === 0 && isFirst && petId === undefined;
  const none = hasNone
    ? empty(
        'There are no orders yet.',
        html`Place them through the API: <code>POST ${context.url()}/store/orders</code>`,
      )
    : empty('No order found.', html`<a href="/console/orders">Show all orders</a>`);
  const fields = [textField('pet', 'Pet (id)', pet)];
  const content = html`<h1>Orders</h1>
${hasNone ? '' : filters('/orders', fields, { isFiltered: petId !== undefined })}
${items.length > 0 ? cardTable('Orders', ORDER_COLUMNS, await orderRows(context, items)) : none}
${pages}`;
  return { section: '/orders', title: 'Orders', content };
}

async function petRows({ storage }: ConsoleContext, pets: readonly Pet[]): Promise<Html[][]> {
  const categoryIds = [...new Set(pets.map(({ categoryId }) => categoryId))];
  const categories = await Promise.all(categoryIds.map((id) => storage.categories.find(id)));
  const names = namesOf(categories);
  const stocks = await Promise.all(pets.map(({ id }) => storage.pets.findInventory(id)));
  return pets.map(({ id, name, categoryId, status }, index) => [
    html`<a href="/console/pets/${id}">${foreign(name)}</a>`,
    html`${id}`,
    html`<span class="${STATUS_BADGES[status]}">${status}</span>`,
    categoryLink(categoryId, names.get(categoryId)),
    html`${count(stocks[index]?.quantity ?? 0)}`,
    html`<a href="/console${addressOf('/orders', { pet: `${id}` })}" aria-label="Orders of pet ${id}">Orders</a>`,
  ]);
}

async function orderRows({ storage }: ConsoleContext, orders: readonly Order[]): Promise<Html[][]> {
  const ids = [...new Set(orders.map(({ petId }) => petId))];
  const names = namesOf(await storage.pets.list({ ids, after: 0, limit: ids.length }));
  return orders.map(({ id, petId, quantity, shipDate, complete }) => [
    html`no. ${id}`,
    complete ? html`<span class="badge good">complete</span>` : html`<span class="badge warning">open</span>`,
    html`<a href="/console/pets/${petId}">${foreign(names.get(petId) ?? `pet ${petId}`)}</a> <span class="soft">pet ${petId}</span>`,
    html`${count(quantity)}`,
    shipDate === undefined
      ? html`<span class="soft">no date</span>`
      : moment(Math.floor(Date.parse(shipDate.toUpperCase()) / 1_000)),
  ]);
}

function namesOf(items: readonly ({ readonly id: number; readonly name: string } | undefined)[]): Map<number, string> {
  return new Map(items.flatMap((item) => (item ? [[item.id, item.name]] : [])));
}

function categoryLink(id: number, name = `${id}`): Html {
  return html`<a href="/console/categories/${id}">${foreign(name)}</a>`;
}
