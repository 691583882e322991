import { hash } from 'node:crypto';
import sql, { join } from 'sql-template-tag';
import { CatalogError } from '../../catalog/error.ts';
import {
  ChangeReplayed,
  type Created,
  IDEMPOTENCY_SECONDS,
  type Origin,
  type Retry,
} from '../../catalog/idempotency.ts';
import { quote } from '../../catalog/validate.ts';
import type { Connection, Transaction } from '../engine.ts';
import { assignments, insertInto } from './statement.ts';
import type { Tables } from './tables.ts';

const PURGED_AT_ONCE = 200;

/**
 * Creates a resource, or replays the outcome if the origin's Idempotency-Key already created it. Stores the outcome in
 * the same transaction as the resource, so that a crash leaves both or neither. Throws `idempotency_key_reused`.
 */
export async function createOnce<T>(
  trx: Transaction,
  { origin, now }: { origin: Origin; now: number },
  create: () => Promise<T>,
): Promise<Created<T>> {
  const { keyId, idempotency } = origin;
  if (!idempotency) return { resource: await create(), isReplay: false };
  const digest = digestOf(idempotency.key);
  const [kept] = await trx.all<Pick<Tables['create_outcomes'], 'fingerprint' | 'resource' | 'created_at'>>(sql`
    select fingerprint, resource, created_at from create_outcomes
    where key_id = ${keyId} and idempotency_key = ${digest}`);
  if (kept && kept.created_at > now - IDEMPOTENCY_SECONDS) {
    if (kept.fingerprint !== idempotency.fingerprint) throw reused(idempotency.key);
    return { resource: JSON.parse(kept.resource), isReplay: true };
  }

  const resource = await create();
  const outcome = { fingerprint: idempotency.fingerprint, resource: JSON.stringify(resource), created_at: now };
  await trx.run(
    insertInto(
      'create_outcomes',
      [{ key_id: keyId, idempotency_key: digest, ...outcome }],
      sql`on conflict (key_id, idempotency_key) do update set ${assignments(outcome)}`,
    ),
  );
  return { resource, isReplay: false };
}

/**
 * Makes a change once, as `createOnce` does, if it can be recognised. Throws `ChangeReplayed` if it was made already.
 */
export async function changeOnce<T>(
  trx: Transaction,
  { retry, now }: { retry: Retry<T> | undefined; now: number },
  change: () => Promise<T>,
): Promise<T> {
  if (!retry) return change();
  let changed: { readonly value: T } | undefined;
  const { resource } = await createOnce(trx, { origin: retry.origin, now }, async () => {
    changed = { value: await change() };
    return retry.outcome(changed.value);
  });
  if (!changed) throw new ChangeReplayed(resource);
  return changed.value;
}

/** Clients put secrets into keys, such as the token of a payment, so only a digest is stored. */
function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
}

/**
 * Does something unless an earlier transaction of the same attempt did it: a retry of what failed with
 * `outcome_unknown` names the attempt again. The id is kept in the transaction that it is about, and for as long as
 * outcomes of creates are. An earlier transaction that is still under way on the server is waited for.
 */
export async function onceByAttempt(
  trx: Transaction,
  { attempt, now }: { attempt: string; now: number },
  work: () => Promise<void>,
): Promise<void> {
  const inserted = await trx.run(
    sql`insert into attempts (id, at) values (${attempt}, ${now}) on conflict (id) do nothing`,
  );
  if (inserted === 1) await work();
}

/** Selects some attempts that are too old to be retried. */
export function selectOldAttempts(db: Connection, oldest: number): Promise<Pick<Tables['attempts'], 'id'>[]> {
  return db.all(sql`select id from attempts where at <= ${oldest} limit ${PURGED_AT_ONCE}`);
}

/** Forgets attempts. */
export async function deleteAttempts(trx: Transaction, attempts: readonly { readonly id: string }[]): Promise<void> {
  const ids = attempts.map(({ id }) => id);
  await trx.run(sql`delete from attempts where id in (${join(ids)})`);
}

function reused(key: string): CatalogError {
  return new CatalogError(
    'idempotency_key_reused',
    `The Idempotency-Key ${quote(key)} was used for a different request; send a new key with a new request`,
  );
}
