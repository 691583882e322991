import { hash } from 'node:crypto';
import sql from 'sql-template-tag';
import { CatalogError } from '../../catalog/error.ts';
import { IDEMPOTENCY_SECONDS, type Once, type OnceId } from '../../catalog/idempotency.ts';
import { quote } from '../../catalog/validate.ts';
import type { Transaction } from '../engine.ts';
import { insertInto, one } from './statement.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

const PURGED_AT_ONCE = 200;
const NO_OUTCOME = '';

/** Makes the id of work that this service repeats itself, after `outcome_unknown`. `attempt` is any unique text. */
export function attemptOf(attempt: string): OnceId {
  return { keyId: '', idempotency: { key: attempt, fingerprint: '' } };
}

/** The digest that stands for an Idempotency-Key: clients put secrets into them, such as the token of a payment. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64url');
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
  const id = { key_id: keyId, idempotency_key: digestOf(key) };
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

/** Deletes the outcomes that are kept no longer; none that is used anew meanwhile. `oldest` in Unix seconds. */
export function purgeOutcomes(transactions: Transactions, oldest: number): Promise<void> {
  const old = sql`select key_id, idempotency_key from outcomes where created_at <= ${oldest}`;
  return transactions.purge(
    old,
    sql`delete from outcomes where created_at <= ${oldest} and (key_id, idempotency_key) in (${old} limit ${PURGED_AT_ONCE})`,
  );
}

function reused(key: string): CatalogError {
  return new CatalogError(
    'idempotency_key_reused',
    `The Idempotency-Key ${quote(key)} was used for a different request; send a new key with a new request`,
  );
}
