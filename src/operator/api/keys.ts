import { type ApiKey, KEY_STATES, type KeyChanges } from '../../catalog/api-key.ts';
import { CatalogError, invalid } from '../../catalog/error.ts';
import { seal, unseal } from '../../catalog/idempotency.ts';
import {
  type ChangeContext,
  changeKey,
  endGraces,
  issueKey,
  keyWithId,
  liftBan,
  revokeKey,
  rotateKey,
} from '../../catalog/operator/changes.ts';
import { banJson, keyJson, keysJson } from '../../catalog/operator/json.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import { quote, validator } from '../../catalog/validate.ts';
import { etagOf, onceIdOf, preconditionOf } from '../../http/operations/conditional.ts';
import { PLACE_PARAMETERS, pageOf, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import {
  choice,
  choiceIn,
  momentIn,
  momentOf,
  momentParameter,
  textIn,
  textParameter,
} from '../../http/operations/query.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { parseDuration } from '../../stdx/duration.ts';
import { API_BASE, type ApiContext, type ApiOperation, apiOperation } from './operation.ts';
import { Ban, IssuedKey, Key, KeyChange, NewKey, Revocation, Rotation } from './schema.ts';

const GRACE = '24h';
const ETAG = 'The validator of the key for If-Match: of its members but lastUsedAt, ban and graces';
const TAG = 'keys';
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
  owner: 'cus_42',
  lastUsedAt: null,
  ban: null,
};
const ISSUED_EXAMPLE = { ...EXAMPLE, key: 'petcat_live_MJPj00000000000000000000000000000000' };

export const KEY_ID = {
  name: 'keyId',
  description: 'The id of the key',
  schema: { type: 'string', example: EXAMPLE.id },
};

const checkNew = validator(NewKey);
const checkChange = validator(KeyChange);
const checkRotation = validator(Rotation);
const checkRevocation = validator(Revocation);

const listKeys = apiOperation('listKeys', 'GET /keys', {
  tag: TAG,
  summary: 'List keys',
  description:
    'A page of the keys, newest first; with `q` first those of which it is the whole name, owner, id or prefix. The filters combine.',
  permission: 'viewer',
  queryParameters: [
    textParameter('q', 'Part of a name, an owner, an id or a prefix, regardless of case'),
    textParameter('owner', "Only keys with this customer's id"),
    choice('plan', 'Only keys of this plan', PLAN_NAMES),
    choice('state', 'Only keys in this state', KEY_STATES),
    momentParameter('expiresBefore', 'Only keys that end before this moment', '30d'),
    ...PLACE_PARAMETERS,
  ],
  success: pageOf(Key, 'The keys', EXAMPLE),
  async handle(context, exchange) {
    const { storage, now } = context;
    const { query } = exchange;
    const behind = readPlace(query);
    const { keys, last } = await storage.keys.page({
      text: textIn(query, 'q') ?? '',
      owner: textIn(query, 'owner'),
      plan: choiceIn(query, 'plan', PLAN_NAMES),
      state: choiceIn(query, 'state', KEY_STATES),
      expiresBefore: momentIn(query, 'expiresBefore', { now, towards: 'future' }),
      now,
      behind: behind && { isExact: behind.number % 2 === 1, createdAt: Math.floor(behind.number / 2), id: behind.id },
      limit: readLimit(query),
    });
    const place = last && { number: 2 * last.createdAt + (last.isExact ? 1 : 0), id: last.id };
    return placeAnswer(exchange, await keysJson(context, keys), place);
  },
});

const createKey = apiOperation('createKey', 'POST /keys', {
  tag: TAG,
  summary: 'Issue a key',
  description:
    'Issues a key. Its secret is in this response alone, and in that to a retry with the same `Idempotency-Key`.',
  permission: 'keys',
  body: { schema: NewKey, example: { name: 'shop', plan: 'pro', owner: 'cus_42' } },
  success: {
    status: 201,
    description: 'The key with its secret',
    schema: IssuedKey,
    example: ISSUED_EXAMPLE,
    headers: { Location: 'The address of the key' },
  },
  handle(context, exchange) {
    const body = checkNew(exchange.body);
    const key = { ...readWanted(body), name: body.name, plan: body.plan };
    return changedKeyAnswer(context, exchange, (change) => issueKey(change, key));
  },
});

const getKey = apiOperation('getKey', 'GET /keys/{keyId}', {
  tag: TAG,
  summary: 'Get a key',
  description: 'One key by its id.',
  permission: 'viewer',
  pathParameters: [KEY_ID],
  success: { status: 200, description: 'The key', schema: Key, example: EXAMPLE, headers: { ETag: ETAG } },
  errors: ['not_found'],
  async handle(context, exchange) {
    return keyAnswer(context, await keyWithId(context, keyIdOf(exchange)));
  },
});

const updateKey = apiOperation('updateKey', 'PATCH /keys/{keyId}', {
  tag: TAG,
  summary: 'Change a key',
  description:
    'Changes a key within a second, also on other instances. A revoked key is final. With the `ETag` of the key in `If-Match` it is changed only if no member has changed since; `lastUsedAt`, `ban` and `graces` do not count.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  body: { schema: KeyChange, example: { plan: 'pro' } },
  success: { status: 200, description: 'The changed key', schema: Key, example: EXAMPLE, headers: { ETag: ETAG } },
  errors: ['not_found', 'key_revoked', 'precondition_failed'],
  async handle(context, exchange) {
    const wanted = readWanted(checkChange(exchange.body));
    return keyAnswer(context, await changeKey(guarded(context, exchange), keyIdOf(exchange), wanted));
  },
});

const rotate = apiOperation('rotateKey', 'POST /keys/{keyId}/rotate', {
  tag: TAG,
  summary: 'Rotate a key',
  description: 'Gives a key a new secret. The old one works until the grace ends; both share one quota.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  body: { schema: Rotation, example: { grace: '24h' }, isOptional: true },
  success: { status: 200, description: 'The key with its new secret', schema: IssuedKey, example: ISSUED_EXAMPLE },
  errors: ['not_found', 'key_revoked', 'precondition_failed'],
  handle(context, exchange) {
    const { grace = GRACE } = checkRotation(exchange.body ?? {});
    const seconds = parseDuration(grace);
    if (seconds === undefined) {
      throw invalid(`grace is ${quote(grace)}; send a duration such as 0, 90s, 24h or 30d`);
    }
    return changedKeyAnswer(context, exchange, (change, id) => rotateKey(change, id, seconds));
  },
});

const endKeyGraces = apiOperation('endGraces', 'DELETE /keys/{keyId}/graces', {
  tag: TAG,
  summary: 'End the graces of a key',
  description: 'Ends the old secrets of a rotated key within a second, on every instance. Without one nothing changes.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  success: { status: 204, description: 'Only the newest secret works' },
  errors: ['not_found', 'key_revoked', 'precondition_failed'],
  async handle(context, exchange) {
    await endGraces(guarded(context, exchange), keyIdOf(exchange));
    return { status: 204 };
  },
});

const revoke = apiOperation('revokeKey', 'POST /keys/{keyId}/revoke', {
  tag: TAG,
  summary: 'Revoke a key',
  description: 'Ends a key for good, within a second. A second revocation changes nothing.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  body: { schema: Revocation, example: {}, isOptional: true },
  success: { status: 200, description: 'The revoked key', schema: Key, example: EXAMPLE },
  errors: ['not_found', 'precondition_failed'],
  handle(context, exchange) {
    checkRevocation(exchange.body ?? {});
    return changedKeyAnswer(context, exchange, async (change, id) => ({ key: await revokeKey(change, id) }));
  },
});

const listBans = apiOperation('listBans', 'GET /bans', {
  tag: 'bans',
  summary: 'List bans',
  description: 'A page of the bans that are on, newest first.',
  permission: 'viewer',
  queryParameters: PLACE_PARAMETERS,
  success: pageOf(Ban, 'The bans', {
    keyId: 'key_VXnvMwGskigm0Sfq',
    startedAt: '2026-01-01T12:00:00Z',
    endsAt: '2026-01-01T12:01:00Z',
    level: 1,
    reason: 'refused 61 more times within a minute of a 429',
  }),
  async handle({ storage, now }, exchange) {
    const [limit, behind] = [readLimit(exchange.query), readPlace(exchange.query)];
    // Few keys are banned at once, so storage has no pages of them.
    const bans = await storage.keys.bans(now);
    const rest = behind
      ? bans.filter(({ startedAt: at, keyId }) => at < behind.number || (at === behind.number && keyId < behind.id))
      : bans;
    const last = rest.length > limit ? rest[limit - 1] : undefined;
    const items = rest.slice(0, limit).map(banJson);
    return placeAnswer(exchange, items, last && { number: last.startedAt, id: last.keyId });
  },
});

const lift = apiOperation('liftBan', 'DELETE /keys/{keyId}/ban', {
  tag: 'bans',
  summary: 'Lift a ban',
  description: 'Ends the ban of a key within a second, so that it does not lengthen later ones.',
  permission: 'keys',
  pathParameters: [KEY_ID],
  success: { status: 204, description: 'The ban is lifted' },
  errors: ['not_found', 'precondition_failed'],
  async handle(context, exchange) {
    const id = keyIdOf(exchange);
    if (!(await liftBan(guarded(context, exchange), id)))
      throw new CatalogError('not_found', `The key ${id} is not banned`);
    return { status: 204 };
  },
});

/** The operations on keys, with those on their bans. */
export const keyOperations: readonly ApiOperation[] = [
  listKeys,
  createKey,
  getKey,
  updateKey,
  rotate,
  endKeyGraces,
  revoke,
  listBans,
  lift,
];

async function keyAnswer(context: ApiContext, key: ApiKey): Promise<Answer> {
  const [shown] = await keysJson(context, [key]);
  return { status: 200, headers: ['ETag', etagOf(JSON.stringify(guardedPart(key)))], body: JSON.stringify(shown) };
}

/** The same with `If-Match`, which takes the `ETag` of the key. */
function guarded(context: ApiContext, exchange: Exchange): ApiContext {
  const precondition = preconditionOf(exchange);
  return { ...context, precondition: precondition && ((key) => precondition(guardedPart(key))) };
}

/** The members that the validator of a key covers: a ban comes and goes without an operator. */
function guardedPart({ ban: _, epoch: __, ...members }: ApiKey): object {
  return members;
}

/** The id of the key in the path. */
export function keyIdOf({ params }: Exchange): string {
  return params.keyId ?? '';
}

/** The members of a body as the catalog has them: moments in Unix seconds, and limits in their order. */
function readWanted({ limits, expiresAt, ...others }: ReturnType<typeof checkChange>): KeyChanges {
  return {
    ...others,
    ...(limits && { limits: { minute: limits.minute, day: limits.day } }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : momentOf(expiresAt, 'expiresAt') }),
  };
}

/**
 * Changes the key in the path, or issues one where it names none, and answers with it. A repeat with its
 * `Idempotency-Key` gets the same answer and changes nothing.
 */
async function changedKeyAnswer(
  context: ApiContext,
  exchange: Exchange,
  change: (context: ChangeContext, id: string) => Promise<{ readonly key: ApiKey; readonly secret?: string }>,
): Promise<Answer> {
  const { token, secret: sealedWith, storage, now } = context;
  const guard = guarded(context, exchange);
  const id = keyIdOf(exchange);
  const isNew = id === '';
  // The transaction of the change has the keys alone.
  const lastUsedAt = isNew ? undefined : (await storage.usage.lastUses([id])).get(id);
  const { resource, isReplay } = await storage.keys.once(onceIdOf(exchange, token.id), async (keys) => {
    const { key, secret } = await change({ ...guard, storage: { keys } }, id);
    const graces = (await keys.graces([key.id], now)).get(key.id);
    // Sealed with the token, which is stored nowhere.
    return { key: keyJson(key, { now, lastUsedAt, graces }), sealed: secret && seal(secret, sealedWith) };
  });
  const { key, sealed } = resource;
  const headers = isNew ? ['Location', `${API_BASE}/keys/${key.id}`] : [];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  const body = JSON.stringify(sealed ? { ...key, key: unseal(sealed, sealedWith) } : key);
  return { status: isNew ? 201 : 200, headers, body };
}
