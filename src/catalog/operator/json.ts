import { utc } from '../../stdx/clock.ts';
import type { ApiKey } from '../api-key.ts';
import type { AuditEntry } from '../audit.ts';
import type { Ban } from '../limit.ts';
import type { KeyUsage } from '../usage.ts';

/** What commands and API print of what operators see. Moments are RFC 3339 in UTC. */

export type KeyJson = ReturnType<typeof keyJson>;

/** A key with the ban that is on. */
export function keyJson(key: ApiKey, ban: Ban | undefined) {
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
    ban: ban ? { until: utc(ban.endsAt), reason: ban.reason } : null,
  };
}

/** The usage of a key that may have been deleted by hand since. */
export function usageJson({ keyId, first, last, ...counts }: KeyUsage, name = '') {
  return { id: keyId, name, ...counts, first: utc(first), last: utc(last) };
}

/** An entry of the audit. */
export function auditJson({ at, operator, action, target, before, after }: AuditEntry) {
  const { actor, via } = operator;
  return { at: utc(at), actor, via, action, target, before: withTimes(before), after: withTimes(after) };
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
