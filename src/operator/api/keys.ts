import {
  type ApiKey,
  checkExpiry,
  checkedChanges,
  checkName,
  checkOwner,
  KEY_SORTS,
  KEY_STATES,
  type KeyChanges,
  mintSecret,
  type NewApiKey,
  newApiKey,
  ROTATION_GRACE_MAX_SECONDS,
  secretRecord,
  withoutSecret,
} from '../../catalog/api-key.ts';
import { CatalogError, invalid } from '../../catalog/error.ts';
import { type KeyJson, keyDetails, keyJson, keysJson } from '../../catalog/operator/json.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import { inWords, quote } from '../../catalog/validate.ts';
import type { ResetWindow } from '../../catalog/window-counts.ts';
import { parseDuration } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { byChoice, byDuration, byMoment, byNumber, byText, readExpiry } from './filters.ts';
import { type Body, type Call, type Caller, operate, type Result } from './operation.ts';
import { IssuedKey, KEY_ID, Key, KeyChange, NewKey, Reset, Revocation, Rotation } from './schema.ts';

/** The operations on API keys. */

/** The parameter of a path that names a key. */
export const KEY_PARAMETER = {
  name: 'keyId',
  description: 'The id of the key',
  schema: { type: 'string', example: KEY_ID },
} as const;
/** The success of an operation that answers with a key. */
const KEY_ANSWER = {
  status: 200,
  description: 'The key',
  schema: Key,
  headers: { ETag: 'The validator of the key for If-Match: of its members but lastUsedAt, usedToday, ban and graces' },
} as const;
/** Common to the operations on one key. */
export const OF_A_KEY = {
  permission: 'keys',
  parameter: KEY_PARAMETER,
  tagged,
  prepare: detailsOf,
} as const;
/** Common to the changes of a key that is in use, which answer with it. */
const CHANGE = { ...OF_A_KEY, success: KEY_ANSWER, errors: ['key_revoked'] } as const;
type KeyInput = Omit<KeyChanges, 'expiresAt'> & { readonly expiresAt?: string | null };

const CHECKS: Body<KeyInput>['checks'] = {
  name: (name: string) => checkName(name, 'key'),
  owner: checkOwner,
  expiresAt: (text: string | null, now) => void readExpiry(text, now),
};

export const listKeys = operate('key.list', 'listKeys', 'GET /keys', {
  summary: 'List keys',
  description:
    'A page of the keys, newest first; with `q` first those of which it is the whole name, owner, id or prefix. The filters combine.',
  permission: 'viewer',
  filters: {
    q: byText('Part of a name, an owner, an id or a prefix, regardless of case', {
      label: 'Name, owner, id or prefix',
      isWide: true,
    }),
    owner: byText("Only keys with this customer's id"),
    plan: byChoice('Only keys of this plan', PLAN_NAMES, { label: 'Plan' }),
    state: byChoice('Only keys in this state', KEY_STATES, { label: 'State' }),
    near: byNumber(
      "Only keys that used this many percent of their day's limit today",
      { minimum: 1, maximum: 100 },
      { label: 'Day used (%)', choices: ['50', '80', '100'] },
    ),
    unused: byDuration('Only keys that were not used for this long, or never', '30d', {
      label: 'Unused for',
      choices: ['7d', '30d', '90d'],
    }),
    expiresBefore: byMoment('Only keys that end before this moment', 'future', '30d', {
      label: 'Expires within',
      choices: ['7d', '30d', '90d'],
    }),
  },
  list: {
    noun: ['key', 'keys'],
    schema: Key,
    sorts: KEY_SORTS,
    columns: [
      { member: 'id', label: 'Id' },
      { member: 'name', label: 'Name' },
      { member: 'prefix', label: 'Key', text: ({ prefix }: KeyJson) => `${prefix}…` },
      { member: 'plan', label: 'Plan' },
      { member: 'limits', label: 'Limits', text: ({ limits }: KeyJson) => `${limits.minute}/min ${limits.day}/day` },
      { member: 'owner', label: 'Owner' },
      { member: 'usedToday', label: 'Day used', text: shareText, isNumber: true },
      { member: 'lastUsedAt', label: 'Last used', text: ({ lastUsedAt }: KeyJson) => lastUsedAt ?? 'never' },
      { member: 'state', label: 'State', text: stateText },
    ],
    csv: {
      columns:
        'id name prefix owner environment plan perMinute perDay scopes createdAt expiresAt revokedAt pausedAt lastUsedAt bannedUntil usedToday'.split(
          ' ',
        ),
      row({ limits, scopes, ban, graces: _, ...key }: KeyJson) {
        return {
          ...key,
          perMinute: limits.minute,
          perDay: limits.day,
          scopes: scopes.join(' '),
          bannedUntil: ban?.until ?? null,
        };
      },
    },
  },
  async handle(caller, { query: { q = '', ...filter }, sort: asked, limit, behind }) {
    const { storage, now } = caller;
    const query = { ...filter, text: withoutSecret(q), now };
    const sort = KEY_SORTS.find((each) => each === asked);
    const page = await storage.keys.list({ ...query, sort, behind, limit });
    return { json: await keysJson(caller, page.keys), last: page.last, total: await storage.keys.count(query) };
  },
});

export const getKey = operate('key.show', 'getKey', 'GET /keys/{keyId}', {
  ...OF_A_KEY,
  summary: 'Get a key',
  description: 'One key by its id.',
  permission: 'viewer',
  success: KEY_ANSWER,
  handle: async (caller, call) => shown(caller, await findKey(caller, call.id), call),
});

export const createKey = operate('key.create', 'createKey', 'POST /keys', {
  summary: 'Issue a key',
  description:
    'Issues a key. Its secret is in this response alone, and in that to a retry with the same `Idempotency-Key`.',
  permission: 'keys',
  body: {
    schema: NewKey,
    example: { name: 'shop', plan: 'pro', owner: 'cus_42' },
    checks: { ...CHECKS, expiresAt: (text: string | null, now) => checkExpiry(readExpiry(text, now), now, 'key') },
  } as Body<KeyInput & Pick<NewApiKey, 'name' | 'plan'>>,
  usual: { plan: 'free' },
  secret: 'key',
  success: {
    status: 201,
    description: 'The key with its secret',
    schema: IssuedKey,
    headers: { Location: 'The address of the key' },
  },
  async handle(caller, call) {
    const { storage, environment, now, by } = caller;
    const { name, plan, ...rest } = call.body;
    const { key, secret } = newApiKey({ ...read(rest, now), name, plan, environment }, now);
    await storage.keys.insert(key, secretRecord(secret), by);
    return { ...(await shown(caller, key, { ...call, beside: NOTHING_USED })), secret };
  },
});

export const updateKey = operate('key.update', 'updateKey', 'PATCH /keys/{keyId}', {
  ...CHANGE,
  summary: 'Change a key',
  description:
    'Changes a key within a second, also on other instances. A revoked key is final. With the `ETag` of the key in `If-Match` it is changed only if no member has changed since; `lastUsedAt`, `usedToday`, `ban` and `graces` do not count.',
  body: { schema: KeyChange, example: { plan: 'pro' }, checks: CHECKS } as Body<KeyInput>,
  async handle(caller, call) {
    const { storage, now, by } = caller;
    const present = usable(await storage.keys.find(call.id), call.id);
    const changes = checkedChanges(present, read(call.body, now), now);
    return changed(caller, call, storage.keys.update(call.id, changes, by, call.precondition));
  },
});

export const rotateKey = operate('key.rotate', 'rotateKey', 'POST /keys/{keyId}/rotate', {
  ...CHANGE,
  summary: 'Rotate a key',
  description:
    'Gives a key a new secret. The old one works until the grace ends, older ones no longer; all share one quota.',
  body: { schema: Rotation, example: { grace: '24h' }, isOptional: true } as Body<{ grace?: string }>,
  usual: { grace: '24h' },
  secret: 'key',
  success: { status: 200, description: 'The key with its new secret', schema: IssuedKey },
  async handle(caller, call) {
    const { storage, environment, now, by } = caller;
    const { id, precondition } = call;
    const { grace = '24h' } = call.body;
    const seconds = parseDuration(grace);
    if (seconds === undefined)
      throw invalid(`grace is ${quote(grace)}; send a duration such as 0, 90s, 24h or 30d`, 'grace');
    if (seconds > ROTATION_GRACE_MAX_SECONDS)
      throw invalid(`The grace is ${seconds} s; at most 30d are possible`, 'grace');
    const { environment: own } = await findKey(caller, id);
    if (own !== environment) throw invalid(`The key ${id} belongs to ${own}; rotate it where ENVIRONMENT is ${own}`);
    const secret = mintSecret(environment);
    const rotation = { now, oldEndAt: now + seconds, by };
    // A revoked key stays as it was, so the new secret is useless.
    const rotated = storage.keys.rotate(id, secretRecord(secret), rotation, precondition);
    return { ...(await changed(caller, call, rotated)), secret };
  },
});

export const endGraces = operate('key.end-graces', 'endGraces', 'DELETE /keys/{keyId}/graces', {
  ...CHANGE,
  summary: 'End the graces of a key',
  description: 'Ends the old secrets of a rotated key within a second, on every instance. Without one nothing changes.',
  success: { status: 204, description: 'Only the newest secret works' },
  async handle({ storage, now, by }, { id, precondition }) {
    return { row: usable(await storage.keys.endGraces(id, now, by, precondition), id) };
  },
});

export const revokeKey = operate('key.revoke', 'revokeKey', 'POST /keys/{keyId}/revoke', {
  ...OF_A_KEY,
  summary: 'Revoke a key',
  description: 'Ends a key for good, within a second. A second revocation changes nothing.',
  body: { schema: Revocation, example: {}, isOptional: true } as Body<object>,
  success: { ...KEY_ANSWER, description: 'The revoked key', headers: {} },
  async handle(caller, call) {
    const { storage, now, by } = caller;
    return shown(caller, found(await storage.keys.revoke(call.id, now, by, call.precondition), call.id), call);
  },
});

export const pauseKey = operate('key.pause', 'pauseKey', 'POST /keys/{keyId}/pause', {
  ...CHANGE,
  summary: 'Pause a key',
  description:
    'Refuses a key within a second as one that does not exist, until it is resumed. Its ban, expiry and graces go on.',
  handle: (caller, call) =>
    changed(caller, call, caller.storage.keys.pause(call.id, caller.now, caller.by, call.precondition)),
});

export const resumeKey = operate('key.resume', 'resumeKey', 'POST /keys/{keyId}/resume', {
  ...CHANGE,
  summary: 'Resume a key',
  description: 'Accepts a paused key again, at once.',
  handle: (caller, call) =>
    changed(caller, call, caller.storage.keys.pause(call.id, null, caller.by, call.precondition)),
});

export const resetKey = operate('key.reset', 'resetKey', 'POST /keys/{keyId}/reset', {
  ...CHANGE,
  summary: 'Reset the windows of a key',
  description:
    'Makes what the present windows have counted 0 within a second, on every instance; their ends stay. With the minute the refusals are forgotten that count towards a ban; a running ban stays. Usage is not touched.',
  body: { schema: Reset, example: { window: 'day' }, isOptional: true } as Body<{ window?: ResetWindow }>,
  handle(caller, call) {
    const { window = 'both' } = call.body;
    const reset = caller.storage.keys.reset(call.id, window, caller.by, call.precondition);
    return changed(caller, window === 'minute' ? call : { ...call, beside: NOTHING_USED }, reset);
  },
});

/** Common to the operations on all keys of an owner. */
const OF_AN_OWNER = {
  permission: 'keys',
  filters: { owner: byText("The customer's id of the keys", { isRequired: true }) },
  success: {
    status: 200,
    description: 'The ids of the keys of the owner that are not revoked',
    schema: { type: 'array', items: { type: 'string', example: KEY_ID } },
  },
} as const;
const ONE_BY_ONE = 'one after the other: if it breaks off, send it again.';

export const pauseKeys = operate('key.pause-all', 'pauseKeys', 'POST /keys/pause', {
  ...OF_AN_OWNER,
  summary: 'Pause all keys of an owner',
  description: `Pauses every key of an owner that is not revoked, ${ONE_BY_ONE}`,
  handle: (caller, { query }) =>
    ofOwner(caller, query, ({ id }) => caller.storage.keys.pause(id, caller.now, caller.by)),
});

export const resumeKeys = operate('key.resume-all', 'resumeKeys', 'POST /keys/resume', {
  ...OF_AN_OWNER,
  summary: 'Resume all keys of an owner',
  description: `Accepts every paused key of an owner again, ${ONE_BY_ONE}`,
  handle: (caller, { query }) => ofOwner(caller, query, ({ id }) => caller.storage.keys.pause(id, null, caller.by)),
});

export const resetKeys = operate('key.reset-all', 'resetKeys', 'POST /keys/reset', {
  ...OF_AN_OWNER,
  summary: 'Reset the windows of all keys of an owner',
  description: `Resets both windows of every key of an owner that is not revoked, ${ONE_BY_ONE}`,
  handle: (caller, { query }) => ofOwner(caller, query, ({ id }) => caller.storage.keys.reset(id, 'both', caller.by)),
});

/** Changes each key of an owner that is not revoked. Throws `not_found` without one. */
async function ofOwner(
  { storage, now }: Caller,
  { owner }: { readonly owner?: string },
  change: (key: ApiKey) => Promise<unknown>,
): Promise<Result> {
  const all = await storage.keys.list({ owner, now, limit: Number.MAX_SAFE_INTEGER - 1 });
  const inUse = all.keys.filter(({ revokedAt }) => revokedAt === null);
  if (inUse.length === 0) throw new CatalogError('not_found', `No key of the owner ${quote(owner)} can be changed`);
  for (const key of inUse) await change(key);
  return { json: inUse.map(({ id }) => id), note: `${inUse.length} of ${owner}` };
}

/** The answer to the change of a key that is in use. */
async function changed(caller: Caller, call: Pick<Call, 'id' | 'beside'>, change: Promise<ApiKey | undefined>) {
  return shown(caller, usable(await change, call.id), call);
}

/** A key by its id. Throws `not_found`. */
export async function findKey({ storage }: Caller, id: string): Promise<ApiKey> {
  return found(await storage.keys.find(id), id);
}

/** The key that an operation changes or left: a revoked one is final. Throws `not_found` or `key_revoked`. */
function usable(key: ApiKey | undefined, id: string): ApiKey {
  const row = found(key, id);
  if (row.revokedAt === null) return row;
  throw new CatalogError('key_revoked', `The key ${id} is revoked; issue a new one`);
}

function found(key: ApiKey | undefined, id: string): ApiKey {
  if (!key) throw new CatalogError('not_found', `There is no key ${id}; the list of keys shows them all`);
  return key;
}

/** A ban comes and goes without an operator. */
function tagged({ ban: _, banGeneration: __, resets: ___, ...members }: ApiKey): object {
  return members;
}

type Ending = Pick<KeyJson, 'revokedAt' | 'expiresAt'> & Partial<Pick<KeyJson, 'pausedAt' | 'ban'>>;

/** The use of a key that was issued now. */
const NOTHING_USED: Details = new Map();
type Details = Awaited<ReturnType<typeof keyDetails>>;

function detailsOf({ storage, now }: Caller, id: string): Promise<Details> {
  return keyDetails({ storage, now }, [id]);
}

async function shown(caller: Caller, key: ApiKey, { beside }: Pick<Call, 'beside'>): Promise<Result> {
  const details = (beside as Details | undefined) ?? (await detailsOf(caller, key.id));
  const graces = await caller.storage.keys.graces([key.id], caller.now);
  return {
    row: key,
    json: keyJson(key, { now: caller.now, ...details.get(key.id), graces: graces.get(key.id) }),
  };
}

/** Moments in Unix seconds, and limits in their order. */
function read({ limits, expiresAt, ...others }: KeyInput, now: number): KeyChanges {
  return {
    ...others,
    ...(limits && { limits: { minute: limits.minute, day: limits.day } }),
    ...(expiresAt !== undefined && { expiresAt: readExpiry(expiresAt, now) }),
  };
}

/** The state of a key, or of a token, with its moment: the first that applies. */
export function stateText({ revokedAt, expiresAt, pausedAt, ban }: Ending, now: number): string {
  if (revokedAt) return `revoked ${revokedAt}`;
  if (expiresAt && expiresAt <= utc(now)) return `expired ${expiresAt}`;
  if (pausedAt) return `paused ${pausedAt}`;
  if (ban) return `banned until ${ban.until}`;
  return expiresAt ? `active until ${expiresAt}` : 'active';
}

function shareText({ usedToday, limits }: KeyJson): string {
  return usedToday === 0 ? '0 %' : `${inWords(usedToday)} (${Math.floor((100 * usedToday) / limits.day)} %)`;
}
