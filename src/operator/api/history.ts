import type { History } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import { historyJson } from '../../catalog/operator/json.ts';
import { quote } from '../../catalog/validate.ts';
import { readId } from '../../http/operations/query.ts';
import type { Caller } from './operation.ts';

/** The order, pet or category of an id with its changes, for the operations that show one. */

type Kind = 'order' | 'pet' | 'category';

const ADVICE: Readonly<Record<Kind, string>> = {
  order: 'a cancelled one is kept for AUDIT_KEPT',
  pet: 'the list of pets shows them all',
  category: 'the list of categories shows them all',
};

/** Finds one by its id, or by the request id or `Idempotency-Key` that made or changed it. Throws `not_found`. */
export async function withHistory(kind: Kind, { storage }: Caller, text: string) {
  const { orders, pets, categories, audit } = storage;
  const stored = { order: orders, pet: pets, category: categories }[kind];
  const of = (target: string): Promise<History<object> | undefined> => stored.history(readId(target) ?? 0);
  const changed = async () => (await audit.search(text)).find(({ action }) => action.startsWith(`${kind}.`));
  const found = (await of(text)) ?? (await of((await changed())?.target ?? ''));
  if (!found)
    throw new CatalogError('not_found', `There is no ${kind} ${readId(text) ?? quote(text)}; ${ADVICE[kind]}`);
  return { row: found.resource, json: await historyJson(storage, found) };
}
