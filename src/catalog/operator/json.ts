import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import type { ApiKey, Grace, KeyStorage } from '../api-key.ts';
import type { AuditEntry, History, Operator } from '../audit.ts';
import { type Ban, banAt } from '../ban.ts';
import type { Storage } from '../storage.ts';
import type { UsageSum } from '../usage.ts';
import type { ConsoleSession, OperatorToken } from './access.ts';

/** The JSON that commands and API print. Moments are RFC 3339 in UTC. */

export type KeyJson = ReturnType<typeof keyJson>;

/** Reported with a key: the moment of the report and its last use (Unix seconds), and its secrets in their grace. */
interface KeyDetails {
  readonly now: number;
  readonly lastUsedAt?: number | undefined;
  /** Requests admitted since 00:00 UTC. */
  readonly usedToday?: number | undefined;
  readonly graces?: readonly Grace[] | undefined;
}

/** Keys with their use. */
export async function keysJson(
  { storage, now }: { storage: Pick<Storage, 'keys' | 'usage' | 'limits'>; now: number },
  keys: readonly ApiKey[],
): Promise<KeyJson[]> {
  const ids = keys.map(({ id }) => id);
  const details = await keyDetails({ storage, now }, ids);
  const graces = await storage.keys.graces(ids, now);
  return keys.map((key) => keyJson(key, { now, ...details.get(key.id), graces: graces.get(key.id) }));
}

/** When keys were last used, and how often today. */
export async function keyDetails(
  { storage, now }: { storage: Pick<Storage, 'usage' | 'limits'>; now: number },
  ids: readonly string[],
): Promise<Map<string, Pick<KeyDetails, 'lastUsedAt' | 'usedToday'>>> {
  const lastUses = await storage.usage.lastUses(ids);
  const today = Math.floor(now / DAY_SECONDS);
  const counts = await Promise.all(ids.map((id) => storage.limits.counts(id)));
  return new Map(
    ids.map((id, index) => {
      const { day = 0, dayUsed = 0 } = counts[index] ?? {};
      return [id, { lastUsedAt: lastUses.get(id), usedToday: day >= today ? dayUsed : 0 }];
    }),
  );
}

/** A key as it is at a moment, with its ban if that runs. */
export function keyJson(key: ApiKey, { now, lastUsedAt, usedToday = 0, graces }: KeyDetails) {
  const ban = banAt(key, now);
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    environment: key.environment,
    plan: key.plan,
    limits: key.limits,
    scopes: key.scopes,
    createdAt: utc(key.createdAt),
    expiresAt: utcOrNull(key.expiresAt),
    revokedAt: utcOrNull(key.revokedAt),
    pausedAt: utcOrNull(key.pausedAt),
    owner: key.owner,
    lastUsedAt: utcOrNull(lastUsedAt ?? null),
    usedToday,
    ban: ban ? { until: utc(ban.endsAt), reason: ban.reason } : null,
    ...(graces && { graces: graces.map(({ prefix, endsAt }) => ({ prefix, endsAt: utc(endsAt) })) }),
  };
}

/** An active ban. */
export function banJson({ keyId, startedAt, endsAt, level, reason }: Ban & { readonly keyId: string }) {
  return { keyId, startedAt: utc(startedAt), endsAt: utc(endsAt), level, reason };
}

/** The usage of a key that may have been deleted by hand since. */
export function usageJson({ id, name, owner, first, last, served, refused, clientErrors, serverErrors }: UsageSum) {
  const counts = { served, refused, clientErrors, serverErrors };
  return { id, name: name ?? '', owner, ...counts, first: utc(first), last: utc(last) };
}

/** A token of the operator API. */
export function tokenJson({ id, name, prefix, role, issuedBy, ...moments }: OperatorToken) {
  const { createdAt, expiresAt, revokedAt } = moments;
  return {
    id,
    name,
    prefix,
    role,
    issuedBy,
    createdAt: utc(createdAt),
    expiresAt: utcOrNull(expiresAt),
    revokedAt: utcOrNull(revokedAt),
  };
}

/** An open session of the console. */
export function sessionJson({ id, actor, role, openedAt, lastSeenAt, endsAt }: ConsoleSession) {
  return { id, actor, role, openedAt: utc(openedAt), lastSeenAt: utc(lastSeenAt), endsAt: utc(endsAt) };
}

/** An entry of the audit. */
export function auditJson({ id, at, operator, action, target, requestId, idempotencyKey, ...change }: AuditEntry) {
  return {
    id,
    at: utc(at),
    ...operator,
    action,
    target,
    ...(requestId !== undefined && { requestId }),
    ...(idempotencyKey != null && { idempotencyKey }),
    before: withTimes(change.before),
    after: withTimes(change.after),
  };
}

/** A line of a history: by a key or by an operator; by neither for `shipped`. */
export interface HistoryLineJson extends Partial<Operator> {
  readonly at: string;
  readonly action: string;
  readonly keyId?: string;
  readonly keyName?: string | null;
  readonly owner?: string | null;
  readonly requestId: string | null;
  readonly changes: { readonly before: unknown; readonly after: unknown };
}

/** Finds who made something: a key, with its name and its owner now. */
export async function makersOf(keys: Pick<KeyStorage, 'find'>, ids: readonly string[]) {
  const found = new Map(await Promise.all([...new Set(ids)].map(async (id) => [id, await keys.find(id)] as const)));
  return (keyId: string) => {
    const { name: keyName = null, owner = null } = found.get(keyId) ?? {};
    return { keyId, keyName, owner };
  };
}

/** An order, a pet or a category with its entries, and the names and owners of the keys that made them. */
export async function historyJson(
  { keys: stored }: Pick<Storage, 'keys'>,
  { resource, isRemoved, entries }: History<object>,
) {
  const makerOf = await makersOf(
    stored,
    entries.flatMap(({ operator: { actor, via } }) => (via === 'key' ? actor : [])),
  );
  const history = entries.map(({ at, operator, action, requestId = null, before, after }): HistoryLineJson => {
    return {
      at: utc(at),
      action,
      ...(operator.via === 'key' ? makerOf(operator.actor) : operator),
      requestId,
      changes: { before: withTimes(before), after: withTimes(after) },
    };
  });
  return { ...resource, removed: isRemoved, history };
}

/** Writes the times in what was changed as RFC 3339; storage has Unix seconds. Their names end in `At`. */
function withTimes(changed: unknown): unknown {
  return JSON.parse(JSON.stringify(changed), (name, value) =>
    name.endsWith('At') && typeof value === 'number' ? utc(value) : value,
  );
}

function utcOrNull(moment: number | null): string | null {
  return moment === null ? null : utc(moment);
}
