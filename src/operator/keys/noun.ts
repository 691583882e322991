import type { ApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import { keyDetails, keyJson } from '../../catalog/operator/json.ts';
import type { Noun } from '../action.ts';
import { IssuedKey, Key } from '../api/schema.ts';

/** Keys, as actions change them. */
export const keyNoun: Noun<ApiKey> = {
  path: 'keys',
  group: 'keys',
  title: 'Keys',
  noun: 'key',
  secret: 'key',
  parameter: {
    name: 'keyId',
    description: 'The id of the key',
    schema: { type: 'string', example: 'key_VXnvMwGskigm0Sfq' },
  },
  async find({ storage }, id) {
    return found(await storage.keys.find(id), id);
  },
  /** A ban comes and goes without an operator. */
  guarded: ({ ban: _, banGeneration: __, ...members }) => members,
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  details: ({ storage, now }, id) => keyDetails({ storage, now }, [id]),
  async json(context, key, details) {
    const known = (details ?? (await keyDetails(context, [key.id]))) as Awaited<ReturnType<typeof keyDetails>>;
    const graces = await context.storage.keys.graces([key.id], context.now);
    return keyJson(key, { now: context.now, ...known.get(key.id), graces: graces.get(key.id) });
  },
  back: (id) => `/keys/${id}`,
};

const EXAMPLE = {
  id: 'key_VXnvMwGskigm0Sfq',
  name: 'shop',
  prefix: 'petcat_live_MJPj',
  environment: 'production',
  plan: 'pro',
  limits: { minute: 300, day: 10_000 },
  scopes: ['categories:read'],
  createdAt: '2026-01-01T12:00:00Z',
  expiresAt: null,
  revokedAt: null,
  pausedAt: null,
  owner: 'cus_42',
  lastUsedAt: null,
  usedToday: 0,
  ban: null,
};
/** The success of an operation that answers with a key. */
export const KEY_ANSWER = {
  status: 200,
  description: 'The key',
  schema: Key,
  example: EXAMPLE,
  headers: { ETag: 'The validator of the key for If-Match: of its members but lastUsedAt, usedToday, ban and graces' },
} as const;
/** The success of an operation that answers with a new secret. */
export const ISSUED = {
  schema: IssuedKey,
  example: { ...EXAMPLE, key: 'petcat_live_MJPj00000000000000000000000000000000' },
} as const;

/** The key that an action changes or left: a revoked one is final. Throws `not_found` or `key_revoked`. */
export function usable(key: ApiKey | undefined, id: string): ApiKey {
  const row = found(key, id);
  if (row.revokedAt === null) return row;
  throw new CatalogError('key_revoked', `The key ${id} is revoked; issue a new one`);
}

/** The key that was found. Throws `not_found`. */
export function found(key: ApiKey | undefined, id: string): ApiKey {
  if (!key) throw new CatalogError('not_found', `There is no key ${id}; the list of keys shows them all`);
  return key;
}
