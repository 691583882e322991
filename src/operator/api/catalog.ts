import type { History } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import { type HistoryLineJson, historyJson, makersOf } from '../../catalog/operator/json.ts';
import type { Made, NewestQuery } from '../../catalog/resource.ts';
import { quote } from '../../catalog/validate.ts';
import { readId } from '../../http/operations/query.ts';
import { utc } from '../../stdx/time.ts';
import { byKey, byMoment, byText, type Selected } from './filters.ts';
import type { Call, Caller, Column } from './operation.ts';

/** Lists of categories, pets and orders, newest first, with who made each and when; and one with its changes. */

export const BY_MAKER = {
  key: byKey('Only those that the key with this id made', { label: 'By key (id)' }),
  owner: byText("Only those that keys with this customer's id made", { label: 'By keys of owner' }),
  since: byMoment('Only those made from this moment on', 'past', '7d', { label: 'Since' }),
  until: byMoment('Only those made before this moment', 'past', '2026-02-01T00:00:00Z', { label: 'Until' }),
};

/** Their members in CSV. */
export const MAKER = ['createdAt', 'keyId', 'keyName', 'owner'];

/** The columns that say when each was made, and by whom. */
export function makerColumns(label: string): readonly Column[] {
  const by = ({ keyId, keyName, owner }: HistoryLineJson) => `${keyName ?? keyId}${owner ? ` of ${owner}` : ''}`;
  return [
    { member: 'createdAt', label },
    { member: 'by', label: 'By', text: by },
  ];
}

/** A page of those that the filters and `isWanted` select. */
export async function newestPage<T extends { readonly id: number }>(
  { storage: { keys } }: Caller,
  { query, limit, behind }: Pick<Call<Selected<typeof BY_MAKER>>, 'query' | 'limit' | 'behind'>,
  read: (query: NewestQuery<T>) => Promise<Made<T>[]>,
  isWanted: (resource: T) => boolean,
) {
  const { key, owner, since = 0, until = Infinity } = query;
  const below = behind?.number ?? Number.MAX_SAFE_INTEGER;
  const isMeant = (made: Made<T>) => made.createdAt >= since && made.createdAt < until && isWanted(made);
  const found = await read({ below, limit: limit + 1, key, owner, isWanted: isMeant });
  const page = found.slice(0, limit);
  const ids = page.map(({ keyId }) => keyId);
  const makerOf = await makersOf(keys, ids);
  const rows = page.map((made) => ({ ...made, createdAt: utc(made.createdAt), ...makerOf(made.keyId) }));
  return { rows, last: found.length > limit ? { number: page.at(-1)?.id ?? 0, id: '' } : undefined };
}

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
