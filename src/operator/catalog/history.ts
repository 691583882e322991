import type { Category } from '../../catalog/category.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { History, HistoryLine } from '../../catalog/history.ts';
import { historyJson } from '../../catalog/operator/json.ts';
import type { Order } from '../../catalog/order.ts';
import type { StockedPet } from '../../catalog/pet.ts';
import type { Storage } from '../../catalog/storage.ts';
import { quote } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import { etagOf } from '../../http/operations/conditional.ts';
import type { Operation } from '../../http/operations/operation.ts';
import { readId } from '../../http/operations/query.ts';
import { type ApiOperation, apiOperation } from '../api/operation.ts';
import { CategoryHistory, CategoryId, OrderHistory, PetHistory } from '../api/schema.ts';
import { difference, operatorLink, WAYS } from '../audit.ts';
import { idIn } from '../doors/api-actions.ts';
import type { AddCommand } from '../doors/command.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { cardTable, long, secondOf } from '../frame/element.ts';
import { keyLink, ownerLink } from '../usage/usage.ts';

/** A resource of the catalog with its changes, once for the console, the API and the command. */
export interface Recorded<T extends { readonly id: number }> {
  /** One of them, in sentences. */
  readonly noun: 'order' | 'pet' | 'category';
  /** Its path in the console, and its group of commands. */
  readonly path: 'orders' | 'pets' | 'categories';
  /** Follows the error for an id that names nothing. */
  readonly advice: string;
  find(storage: Storage, id: number): Promise<History<T> | undefined>;
  readonly api: Pick<Operation, 'id' | 'summary' | 'description' | 'success' | 'pathParameters'>;
}

const MADE = { at: '2026-01-01T12:00:00Z', keyId: 'key_VXnvMwGskigm0Sfq', keyName: 'shop', owner: 'cus_42' };
const PLACED = { ...MADE, action: 'placed', requestId: 'hE7GR_cEMx1KfM2V.1f' };
const MEMBERS = { petId: 1, quantity: 2 };
const PET = { name: 'Rex', categoryId: 1, status: 'available', quantity: 1 };
const BY_WHAT_MADE_IT = 'The id, or the request id or `Idempotency-Key` that made it';

export const orderRecord: Recorded<Order> = {
  noun: 'order',
  path: 'orders',
  advice: 'a cancelled one is kept for two years',
  find: (storage, id) => storage.orders.history(id),
  api: {
    id: 'getOrder',
    summary: 'Get an order and its history',
    description:
      'One order, also a cancelled one (`removed`), for two years: who placed and cancelled it, when, under which request id.',
    pathParameters: [{ name: 'orderId', description: BY_WHAT_MADE_IT, schema: { type: 'string', example: '7' } }],
    success: {
      status: 200,
      description: 'The order',
      schema: OrderHistory,
      example: {
        id: 7,
        ...MEMBERS,
        complete: false,
        removed: false,
        history: [{ ...PLACED, changes: { before: null, after: MEMBERS } }],
      },
    },
  },
};

export const petRecord: Recorded<StockedPet> = {
  noun: 'pet',
  path: 'pets',
  advice: 'the list of pets shows them all',
  find: (storage, id) => storage.pets.history(id),
  api: {
    id: 'getPet',
    summary: 'Get a pet and its history',
    description:
      'One pet with its stock: who created and changed it, when, under which request id. Stock that an order takes or returns is in the history of the order.',
    pathParameters: [{ name: 'petId', description: BY_WHAT_MADE_IT, schema: { type: 'string', example: '1' } }],
    success: {
      status: 200,
      description: 'The pet',
      schema: PetHistory,
      example: {
        id: 1,
        ...PET,
        removed: false,
        history: [{ ...PLACED, action: 'created', changes: { before: null, after: PET } }],
      },
    },
  },
};

export const categoryRecord: Recorded<Category> = {
  noun: 'category',
  path: 'categories',
  advice: 'the list of categories shows them all',
  find: (storage, id) => storage.categories.history(id),
  api: {
    id: 'getCategory',
    summary: 'Get a category and its history',
    description:
      'One category, also a deleted one (`removed`): who created, renamed and deleted it, and when. Its creation has no request id.',
    pathParameters: [{ name: 'categoryId', description: CategoryId.description, schema: CategoryId }],
    success: {
      status: 200,
      description: 'The category',
      schema: CategoryHistory,
      example: {
        id: 1,
        name: 'Dog',
        removed: false,
        history: [{ ...MADE, action: 'created', requestId: null, changes: { before: null, after: { name: 'Dog' } } }],
      },
      headers: { ETag: 'The validator of the category for If-Match' },
    },
  },
};

// biome-ignore lint/suspicious/noExplicitAny: each has members of its own.
type AnyRecorded = Recorded<any>;

export const RECORDED: readonly AnyRecorded[] = [orderRecord, petRecord, categoryRecord];

/** Finds one by its id, or by the request id or `Idempotency-Key` that made or changed it. Throws `not_found`. */
export async function findRecorded<T extends { readonly id: number }>(
  { noun, advice, find }: Recorded<T>,
  storage: Storage,
  text: string,
): Promise<History<T>> {
  const id = readId(text);
  const byId = id === undefined ? undefined : await find(storage, id);
  if (byId) return byId;
  const changed = (await storage.history.search(text)).find(({ kind }) => kind === noun);
  const found = changed && (await find(storage, changed.id));
  if (found) return found;
  throw new CatalogError('not_found', `There is no ${noun} ${quote(text)}; ${advice}`);
}

/** The operation of the API. */
export function recordedOperation(recorded: AnyRecorded): ApiOperation {
  const { path, api } = recorded;
  const { id, ...described } = api;
  return apiOperation(id, `GET /${path}/{${api.pathParameters?.[0]?.name}}`, {
    ...described,
    tag: path,
    permission: 'viewer',
    errors: ['not_found'],
    async handle({ storage }, exchange) {
      const found = await findRecorded(recorded, storage, idIn(exchange));
      const headers = api.success.headers ? ['ETag', etagOf(JSON.stringify(found.resource))] : [];
      return { status: 200, headers, body: JSON.stringify(await historyJson(storage, found)) };
    },
  });
}

/** Adds the command that shows one. */
export function addShow(add: AddCommand, recorded: AnyRecorded): void {
  const isMadeByRequest = recorded.noun !== 'category';
  const by = isMadeByRequest ? ', by its id or by the request id or Idempotency-Key that made it' : '';
  add(
    'show <id>',
    `Show ${recorded.noun === 'order' ? 'an' : 'a'} ${recorded.noun} and its history${by}`,
    'read',
    async ({ storage }, id = '') => {
      const json = await historyJson(storage, await findRecorded(recorded, storage, id));
      return { json, text: JSON.stringify(json, null, 2) };
    },
  );
}

/** The section of a page with the changes, the oldest first. */
export async function historySection({ storage }: ConsoleContext, lines: readonly HistoryLine[]): Promise<Html> {
  const ids = [...new Set(lines.flatMap(({ keyId = [] }) => keyId))];
  const found = await Promise.all(ids.map((id) => storage.keys.find(id)));
  const keys = new Map(found.flatMap((key) => (key ? [[key.id, key] as const] : [])));
  const names = new Map([...keys.values()].map(({ id, name }) => [id, name]));
  const who = ({ keyId, operator }: HistoryLine) => {
    if (operator?.actor !== undefined) return operatorLink({ ...operator, actor: operator.actor });
    if (operator) return html`<span class="soft">${WAYS[operator.via]}</span>`;
    if (keyId === undefined) return html``;
    const key = keys.get(keyId);
    if (!key) return html`<code>${keyId}</code>`;
    return html`${keyLink(keyId, names)}${key.owner === null ? '' : html` <span class="soft">of</span> ${ownerLink(key.owner)}`}`;
  };
  const rows = lines.map((line) => [
    secondOf(line.at),
    html`${line.action}`,
    who(line),
    line.requestId === null
      ? html`<span class="soft">none</span>`
      : html`<a href="/console/requests/why?${`${new URLSearchParams({ q: line.requestId })}`}"><code>${line.requestId}</code></a>`,
    difference(line.before, line.after),
  ]);
  return html`<h2>History</h2>
${cardTable('History', ['When', 'What', 'By', 'Request id', long('Change')], rows)}`;
}

/** Links to what a text is the id of, or the request id or `Idempotency-Key` of a change of; empty for nothing. */
export async function recordedLinks({ storage }: ConsoleContext, text: string): Promise<Html> {
  const id = readId(text) ?? 0;
  const byId = RECORDED.map(async ({ noun, path, find }) => {
    const found = await find(storage, id);
    return (
      found &&
      html`<li><a href="/console/${path}/${id}">${noun} ${id}</a> <span class="soft">${found.isRemoved ? 'removed' : 'by its id'}</span></li>`
    );
  });
  const byRequest = (await storage.history.search(text)).map(
    ({ kind, id, action }) =>
      html`<li><a href="/console/${kind}s/${id}">${kind} ${id}</a> <span class="soft">${action} by this request</span></li>`,
  );
  const links = [...byRequest, ...(await Promise.all(byId))].filter((link) => link !== undefined);
  if (links.length === 0) return html``;
  return html`<section aria-labelledby="found-heading"><h2 id="found-heading">In the catalog</h2><ul class="which">${links}</ul></section>`;
}
