import { CatalogError } from '../../catalog/error.ts';
import type { History } from '../../catalog/history.ts';
import { historyJson } from '../../catalog/operator/json.ts';
import type { Storage } from '../../catalog/storage.ts';
import { quote } from '../../catalog/validate.ts';
import { readId } from '../../http/operations/query.ts';
import type { Caller, Result } from './operation.ts';

/** The order, pet or category of an id with its changes, for the operations that show one. */

type Kind = 'order' | 'pet' | 'category';

const ADVICE: Readonly<Record<Kind, string>> = {
  order: 'a cancelled one is kept for two years',
  pet: 'the list of pets shows them all',
  category: 'the list of categories shows them all',
};

/** The history of an example: one change by a key. */
export function historyExample(action: string, after: object, requestId: string | null = 'hE7GR_cEMx1KfM2V.1f') {
  const by = { keyId: 'key_VXnvMwGskigm0Sfq', keyName: 'shop', owner: 'cus_42' };
  const change = { at: '2026-01-01T12:00:00Z', ...by, action, requestId, changes: { before: null, after } };
  return { removed: false, history: [change] };
}

/** Finds one by its id, or by the request id or `Idempotency-Key` that made or changed it. Throws `not_found`. */
export async function withHistory(kind: Kind, { storage }: Caller, text: string): Promise<Result> {
  const found = await findHistory(storage, kind, text);
  if (!found)
    throw new CatalogError('not_found', `There is no ${kind} ${readId(text) ?? quote(text)}; ${ADVICE[kind]}`);
  return { row: found.resource, json: await historyJson(storage, found) };
}

async function findHistory(storage: Storage, kind: Kind, text: string): Promise<History<object> | undefined> {
  const id = readId(text);
  const byId = id === undefined ? undefined : await historyOf(storage, kind, id);
  if (byId) return byId;
  const changed = (await storage.history.search(text)).find((each) => each.kind === kind);
  return changed && historyOf(storage, kind, changed.id);
}

function historyOf(
  { orders, pets, categories }: Storage,
  kind: Kind,
  id: number,
): Promise<History<object> | undefined> {
  return { order: orders, pet: pets, category: categories }[kind].history(id);
}
