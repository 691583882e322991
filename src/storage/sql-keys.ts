import type { Kysely, Transaction } from 'kysely';
import type { ApiKey, Environment, FoundKey, Scope, SecretRecord } from '../catalog/api-key.ts';
import type { Limits, PlanName } from '../catalog/plan.ts';
import type { KeyStorage, Rotation } from '../catalog/storage.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** Keys in SQL, their secrets in a table of their own. */
export class SqlKeys implements KeyStorage {
  readonly #transactions: Transactions;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  insert(key: ApiKey, secret: SecretRecord): Promise<void> {
    return this.#transactions.change('keys', async (trx) => {
      await trx.insertInto('api_keys').values(fromKey(key)).execute();
      await insertSecret(trx, key.id, secret, key.createdAt);
    });
  }

  findBySecret(secretHash: string): Promise<FoundKey | undefined> {
    return this.#transactions.read(async (db) => {
      const secret = await db
        .selectFrom('api_key_secrets')
        .select(['key_id', 'ends_at'])
        .where('hash', '=', secretHash)
        .executeTakeFirst();
      const key = secret && (await readKey(db, secret.key_id));
      return key && { key, endsAt: secret.ends_at };
    });
  }

  find(id: string): Promise<ApiKey | undefined> {
    return this.#transactions.read((db) => readKey(db, id));
  }

  list(): Promise<ApiKey[]> {
    return this.#transactions.read(async (db) => {
      const rows = await selectKeys(db).orderBy('created_at').orderBy('id').execute();
      return rows.map(toKey);
    });
  }

  updatePlan(id: string, plan: PlanName, limits: Limits): Promise<ApiKey | undefined> {
    return this.#transactions.change('keys', async (trx) => {
      await trx
        .updateTable('api_keys')
        .set({ plan, per_minute: limits.minute, per_day: limits.day })
        .where('id', '=', id)
        .execute();
      return readKey(trx, id);
    });
  }

  rotate(id: string, secret: SecretRecord, { now, oldEndAt }: Rotation): Promise<ApiKey | undefined> {
    return this.#transactions.change('keys', async (trx) => {
      const key = await readKey(trx, id);
      if (!key || key.revokedAt !== null) return key;
      await trx
        .updateTable('api_key_secrets')
        .set({ ends_at: oldEndAt })
        .where('key_id', '=', id)
        .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', oldEndAt)]))
        .execute();
      await insertSecret(trx, id, secret, now);
      return readKey(trx, id);
    });
  }

  revoke(id: string, now: number): Promise<ApiKey | undefined> {
    return this.#transactions.change('keys', async (trx) => {
      await trx
        .updateTable('api_keys')
        .set({ revoked_at: now })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .execute();
      return readKey(trx, id);
    });
  }
}

async function insertSecret(trx: Transaction<Tables>, keyId: string, secret: SecretRecord, now: number): Promise<void> {
  const { hash, prefix } = secret;
  await trx
    .insertInto('api_key_secrets')
    .values({ hash, key_id: keyId, prefix, created_at: now, ends_at: null })
    .execute();
}

/** Keys with the prefix of their newest secret, which is the one without an end. */
function selectKeys(db: Kysely<Tables>) {
  return db
    .selectFrom('api_keys')
    .innerJoin('api_key_secrets', (join) =>
      join.onRef('api_key_secrets.key_id', '=', 'api_keys.id').on('api_key_secrets.ends_at', 'is', null),
    )
    .selectAll('api_keys')
    .select('api_key_secrets.prefix');
}

async function readKey(db: Kysely<Tables>, id: string): Promise<ApiKey | undefined> {
  const row = await selectKeys(db).where('api_keys.id', '=', id).executeTakeFirst();
  return row && toKey(row);
}

function toKey(row: Tables['api_keys'] & { prefix: string }): ApiKey {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    environment: row.environment as Environment,
    plan: row.plan,
    limits: { minute: row.per_minute, day: row.per_day },
    scopes: row.scopes.split(' ') as Scope[],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

function fromKey(key: ApiKey): Tables['api_keys'] {
  return {
    id: key.id,
    name: key.name,
    environment: key.environment,
    plan: key.plan,
    per_minute: key.limits.minute,
    per_day: key.limits.day,
    scopes: key.scopes.join(' '),
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    revoked_at: key.revokedAt,
  };
}
