import { hash } from 'node:crypto';
import sql, { join } from 'sql-template-tag';
import { CatalogError } from '../../catalog/error.ts';
import { IDEMPOTENCY_SECONDS, type Once, type OnceId } from '../../catalog/idempotency.ts';
import { quote } from '../../catalog/validate.ts';
import type { Connection, Transaction } from '../engine.ts';
import { insertInto, one } from './statement.ts';
import type { Tables } from './tables.ts';

const PURGED_AT_ONCE = 200;
const NO_OUTCOME = '';

type OutcomeId = Pick<Tables['outcomes'], 'key_id' | 'idempotency_key'>;

/** Makes the id of work that this service repeats itself, after `outcome_unknown`. `attempt` is any unique text. */
export function attemptOf(attempt: string): OnceId {
  return { keyId: '', idempotency: { key: attempt, fingerprint: '' } };
}

/**
 * Does work once: a repeat with the same id, within `IDEMPOTENCY_SECONDS`, gets what was kept of the first as JSON. The
 * outcome is stored in the transaction of the work, so that a crash leaves both or neither; another transaction that
 * does the same work is waited for. `now` in Unix seconds. Throws `idempotency_key_reused`, or what the work throws,
 * and then keeps nothing.
 */
export async function once<T>(
  trx: Transaction,
  { keyId, idempotency, now }: OnceId & { readonly now: number },
  work: () => Promise<T>,
): Promise<Once<T>> {
  if (!idempotency) return { resource: await work(), isReplay: false };
  const { key, fingerprint } = idempotency;
  // Clients put secrets into keys, such as the token of a payment, so only a digest is stored.
  const id = { key_id: keyId, idempotency_key: hash('sha256', key, 'base64url') };
  const isThis = sql`key_id = ${id.key_id} and idempotency_key = ${id.idempotency_key}`;
  const claimed = await trx.run(
    insertInto(
      'outcomes',
      [{ ...id, fingerprint, resource: NO_OUTCOME, created_at: now }],
      sql`on conflict (key_id, idempotency_key) do update set
        fingerprint = excluded.fingerprint, resource = excluded.resource, created_at = excluded.created_at
        where outcomes.created_at <= ${now - IDEMPOTENCY_SECONDS}`,
    ),
  );
  if (claimed === 0) {
    type Kept = Pick<Tables['outcomes'], 'fingerprint' | 'resource'>;
    const kept = await one<Kept>(trx, sql`select fingerprint, resource from outcomes where ${isThis}`);
    if (kept.fingerprint !== fingerprint) throw reused(key);
    return { resource: kept.resource === NO_OUTCOME ? undefined : JSON.parse(kept.resource), isReplay: true };
  }
  try {
    const resource = await work();
    if (resource !== undefined) {
      await trx.run(sql`update outcomes set resource = ${JSON.stringify(resource)} where ${isThis}`);
    }
    return { resource, isReplay: false };
  } catch (error) {
    // It may fail this work alone, in a transaction that goes on.
    if (error instanceof CatalogError) await trx.run(sql`delete from outcomes where ${isThis}`);
    throw error;
  }
}

/** Selects some outcomes that are kept no longer, few at a time, so that requests are served in between. */
export function selectOldOutcomes(db: Connection, oldest: number): Promise<OutcomeId[]> {
  return db.all(sql`
    select key_id, idempotency_key from outcomes where created_at <= ${oldest} limit ${PURGED_AT_ONCE}`);
}

/** Deletes outcomes, unless their ids were used anew since. */
export async function deleteOutcomes(trx: Transaction, ids: readonly OutcomeId[], oldest: number): Promise<void> {
  const rows = join(ids.map(({ key_id, idempotency_key }) => sql`(${key_id}, ${idempotency_key})`));
  await trx.run(sql`
    delete from outcomes where (key_id, idempotency_key) in (values ${rows}) and created_at <= ${oldest}`);
}

function reused(key: string): CatalogError {
  return new CatalogError(
    'idempotency_key_reused',
    `The Idempotency-Key ${quote(key)} was used for a different request; send a new key with a new request`,
  );
}
