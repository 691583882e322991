import type { Transaction } from 'kysely';
import { CatalogError } from '../../catalog/error.ts';
import { type Created, IDEMPOTENCY_SECONDS, type Origin } from '../../catalog/idempotency.ts';
import { quote } from '../../catalog/validate.ts';
import type { Tables } from './tables.ts';

/**
 * Creates something unless the origin has created it before; then gives the outcome of that. The outcome is kept in
 * the same transaction as what was created, so that a crash leaves either both or neither.
 */
export async function createOnce<T>(
  trx: Transaction<Tables>,
  { origin, now }: { origin: Origin; now: number },
  create: () => Promise<T>,
): Promise<Created<T>> {
  const { keyId, idempotency } = origin;
  if (!idempotency) return { resource: await create(), isReplay: false };
  const kept = await trx
    .selectFrom('create_outcomes')
    .select(['fingerprint', 'resource', 'created_at'])
    .where('key_id', '=', keyId)
    .where('idempotency_key', '=', idempotency.key)
    .executeTakeFirst();
  if (kept && kept.created_at > now - IDEMPOTENCY_SECONDS) {
    if (kept.fingerprint !== idempotency.fingerprint) throw reused(idempotency.key);
    return { resource: JSON.parse(kept.resource), isReplay: true };
  }

  const resource = await create();
  const outcome = { fingerprint: idempotency.fingerprint, resource: JSON.stringify(resource), created_at: now };
  await trx
    .insertInto('create_outcomes')
    .values({ key_id: keyId, idempotency_key: idempotency.key, ...outcome })
    .onConflict((conflict) => conflict.columns(['key_id', 'idempotency_key']).doUpdateSet(outcome))
    .execute();
  return { resource, isReplay: false };
}

function reused(key: string): CatalogError {
  return new CatalogError(
    'idempotency_key_reused',
    `The Idempotency-Key ${quote(key)} was used for another request; take a new one for a new request`,
  );
}
