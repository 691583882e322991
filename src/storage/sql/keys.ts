import { type Kysely, type SelectQueryBuilder, sql, type Transaction } from 'kysely';
import {
  type ApiKey,
  ENVIRONMENTS,
  type FoundKey,
  type Grace,
  type KeyChanges,
  type KeyFilter,
  type KeyPage,
  type KeyQuery,
  type KeySearch,
  type KeySort,
  type KeyStorage,
  type Rotation,
  SCOPES,
  type Scope,
  type SecretRecord,
} from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import type { Retry } from '../../catalog/idempotency.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import type { Clock } from '../../stdx/clock.ts';
import { recordAudit } from './audit.ts';
import { type RowGuard, seal } from './checksum.ts';
import { changeOnce } from './outcomes.ts';
import { contains, Statement } from './statement.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** API keys in SQL, with their secrets in a separate table. */
export class SqlKeys implements KeyStorage {
  readonly #transactions: Transactions;
  readonly #guard: RowGuard;
  readonly #clock: Clock;
  readonly #findBySecret = new Statement((db, secretHash: string) =>
    allKeys(db)
      .innerJoin('api_key_secrets as sent', 'sent.key_id', 'api_keys.id')
      .select([
        'sent.hash as sent_hash',
        'sent.prefix as sent_prefix',
        'sent.created_at as sent_created_at',
        'sent.ends_at as sent_ends_at',
        'sent.checksum as sent_checksum',
      ])
      .where('sent.hash', '=', secretHash),
  );

  constructor(transactions: Transactions, { guard, clock }: { guard: RowGuard; clock: Clock }) {
    this.#transactions = transactions;
    this.#guard = guard;
    this.#clock = clock;
  }

  insert(key: ApiKey, secret: SecretRecord, by: Operator, retry?: Retry<ApiKey>): Promise<void> {
    return this.#transactions.change('keys', async (trx) => {
      await changeOnce(trx, { retry, now: key.createdAt }, () => this.#insert(trx, { key, secret, by }));
    });
  }

  async #insert(
    trx: Transaction<Tables>,
    { key, secret, by }: { key: ApiKey; secret: SecretRecord; by: Operator },
  ): Promise<ApiKey> {
    await trx.insertInto('api_keys').values(fromKey(key)).execute();
    await insertSecret(trx, key.id, secret, key.createdAt);
    const { name, plan, limits, scopes, expiresAt, owner } = key;
    const after = { name, plan, limits, scopes, expiresAt, ...(owner !== null && { owner }) };
    await recordAudit(trx, { at: key.createdAt, by, action: 'key.create', target: key.id, before: null, after });
    return key;
  }

  findBySecret(secretHash: string): Promise<FoundKey | undefined> {
    return this.#transactions.read(async (db) => {
      const [row] = await this.#findBySecret.run(db, secretHash);
      if (!row) return undefined;
      const secret = {
        hash: row.sent_hash,
        key_id: row.id,
        prefix: row.sent_prefix,
        created_at: row.sent_created_at,
        ends_at: row.sent_ends_at,
        checksum: row.sent_checksum,
      };
      // A damaged key opens nothing: it may not be the key that was issued.
      if (!this.#guard.isIntact('api_keys', row) || !this.#guard.isIntact('api_key_secrets', secret)) return undefined;
      return { key: toKey(row), endsAt: secret.ends_at };
    });
  }

  find(id: string): Promise<ApiKey | undefined> {
    return this.#transactions.read((db) => this.#readKey(db, id));
  }

  list(): Promise<ApiKey[]> {
    return this.#transactions.read(async (db) => {
      const rows = await allKeys(db).orderBy('api_keys.created_at').orderBy('api_keys.id').execute();
      return this.#guard.filter('api_keys', rows).map(toKey);
    });
  }

  graces(id: string, now: number): Promise<Grace[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db
        .selectFrom('api_key_secrets')
        .select(['prefix', 'ends_at'])
        .where('key_id', '=', id)
        .where('ends_at', '>', now)
        .orderBy('ends_at', 'desc')
        .execute();
      return rows.map(({ prefix, ends_at }) => ({ prefix, endsAt: ends_at ?? 0 }));
    });
  }

  search({ sort = 'newest', offset, limit, now = this.#clock().unix, ...filter }: KeySearch) {
    return this.#transactions.read(async (db) => {
      const found = filtered(db, { ...filter, now });
      const { count } = await found.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
      if (count <= offset) return { keys: [], count };
      // Selects the ids first, from an index in most orders: a deep page would otherwise read every row before it.
      const ids = await sorted(found.select('api_keys.id'), sort).offset(offset).limit(limit).execute();
      const places = new Map(ids.map(({ id }, place) => [id, place]));
      const rows = await allKeys(db)
        .where('api_keys.id', 'in', [...places.keys()])
        .execute();
      rows.sort((one, other) => (places.get(one.id) ?? 0) - (places.get(other.id) ?? 0));
      return { keys: this.#guard.filter('api_keys', rows).map(toKey), count };
    });
  }

  page({ limit, behind, ...query }: KeyQuery): Promise<KeyPage> {
    return this.#transactions.read(async (db) => {
      let found = withPrefix(filtered(db, query));
      if (behind) {
        const { createdAt, id } = behind;
        found = found.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('api_keys.created_at', 'api_keys.id'), '<', tuple(createdAt, id)),
        );
      }
      const rows = await found
        .orderBy('api_keys.created_at', 'desc')
        .orderBy('api_keys.id', 'desc')
        .limit(limit + 1)
        .execute();
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return {
        keys: this.#guard.filter('api_keys', rows.slice(0, limit)).map(toKey),
        last: last && { createdAt: last.created_at, id: last.id },
      };
    });
  }

  update(id: string, changes: KeyChanges, by: Operator): Promise<ApiKey | undefined> {
    return this.#transactions.change('keys', async (trx) => {
      const key = await this.#readKey(trx, id);
      if (!key || key.revokedAt !== null) return key;
      const names = Object.keys(changes) as (keyof KeyChanges)[];
      const changed = names.filter((name) => JSON.stringify(changes[name]) !== JSON.stringify(key[name]));
      if (changed.length === 0) return key;
      const { id: _, ...row } = fromKey({ ...key, ...changes });
      await trx.updateTable('api_keys').set(row).where('id', '=', id).execute();
      const before = Object.fromEntries(changed.map((name) => [name, key[name]]));
      const after = Object.fromEntries(changed.map((name) => [name, changes[name]]));
      await recordAudit(trx, { at: this.#clock().unix, by, action: 'key.update', target: id, before, after });
      return this.#readKey(trx, id);
    });
  }

  rotate(id: string, secret: SecretRecord, { now, oldEndAt, by, retry }: Rotation): Promise<ApiKey | undefined> {
    return this.#change(id, { retry, now }, async (trx, key) => {
      await this.#endSecrets(trx, id, oldEndAt);
      await insertSecret(trx, id, secret, now);
      const [before, after] = [{ prefix: key.prefix }, { prefix: secret.prefix, oldEndsAt: oldEndAt }];
      await recordAudit(trx, { at: now, by, action: 'key.rotate', target: id, before, after });
    });
  }

  revoke(id: string, now: number, by: Operator, retry?: Retry<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, { retry, now }, async (trx, key) => {
      const { revoked_at, checksum } = fromKey({ ...key, revokedAt: now });
      await trx.updateTable('api_keys').set({ revoked_at, checksum }).where('id', '=', id).execute();
      const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
      await recordAudit(trx, { at: now, by, action: 'key.revoke', target: id, before, after });
    });
  }

  /** Changes an existing, unrevoked key once, and returns the new state. */
  #change(
    id: string,
    options: { retry: Retry<ApiKey> | undefined; now: number },
    work: (trx: Transaction<Tables>, key: ApiKey) => Promise<void>,
  ): Promise<ApiKey | undefined> {
    return this.#transactions.change('keys', async (trx) => {
      const key = await this.#readKey(trx, id);
      if (!key || key.revokedAt !== null) return key;
      return changeOnce(trx, options, async () => {
        await work(trx, key);
        return (await this.#readKey(trx, id)) ?? key;
      });
    });
  }

  async #endSecrets(trx: Transaction<Tables>, keyId: string, endAt: number): Promise<void> {
    const secrets = await trx
      .selectFrom('api_key_secrets')
      .selectAll()
      .where('key_id', '=', keyId)
      .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', endAt)]))
      .execute();
    for (const secret of secrets) {
      const ended = { ...secret, ends_at: endAt };
      // A damaged key is revoked too, but must not look intact afterwards.
      const { checksum } = this.#guard.isIntact('api_key_secrets', secret) ? seal('api_key_secrets', ended) : ended;
      await trx
        .updateTable('api_key_secrets')
        .set({ ends_at: endAt, checksum })
        .where('hash', '=', secret.hash)
        .execute();
    }
  }

  async #readKey(db: Kysely<Tables>, id: string): Promise<ApiKey | undefined> {
    const row = await allKeys(db).where('api_keys.id', '=', id).executeTakeFirst();
    return row && toKey(this.#guard.intact('api_keys', row));
  }
}

async function insertSecret(trx: Transaction<Tables>, keyId: string, secret: SecretRecord, now: number): Promise<void> {
  const { hash, prefix } = secret;
  await trx
    .insertInto('api_key_secrets')
    .values(seal('api_key_secrets', { hash, key_id: keyId, prefix, created_at: now, ends_at: null }))
    .execute();
}

type Selection<Row> = SelectQueryBuilder<Tables, 'api_keys', Row>;

/** Every key. */
function allKeys(db: Kysely<Tables>) {
  return withPrefix(db.selectFrom('api_keys'));
}

/** Selects all columns of keys, with the prefix of their current secret, the one without an end. */
function withPrefix(keys: Selection<object>) {
  return keys
    .innerJoin('api_key_secrets', (join) =>
      join.onRef('api_key_secrets.key_id', '=', 'api_keys.id').on('api_key_secrets.ends_at', 'is', null),
    )
    .selectAll('api_keys')
    .select('api_key_secrets.prefix');
}

/** The filtered keys, without columns yet: counting them needs no secrets. */
function filtered(db: Kysely<Tables>, query: KeyFilter & { readonly now: number }): Selection<object> {
  const { text, owner, plan, state, expiresBefore, expiresAfter, now } = query;
  let found: Selection<object> = db.selectFrom('api_keys');
  if (text !== '') found = found.where(matches(text));
  if (owner !== undefined) found = found.where('api_keys.owner', '=', owner);
  if (plan !== undefined) found = found.where('api_keys.plan', '=', plan);
  if (expiresBefore !== undefined) found = found.where('api_keys.expires_at', '<', expiresBefore);
  if (expiresAfter !== undefined) found = found.where('api_keys.expires_at', '>', expiresAfter);
  if (state === undefined) return found;
  if (state === 'revoked') return found.where('api_keys.revoked_at', 'is not', null);
  found = found.where('api_keys.revoked_at', 'is', null);
  if (state === 'expired') return found.where('api_keys.expires_at', '<=', now);
  found = found.where((key) => key.or([key('api_keys.expires_at', 'is', null), key('api_keys.expires_at', '>', now)]));
  return found.where('api_keys.id', state === 'banned' ? 'in' : 'not in', (banned) =>
    banned.selectFrom('bans').select('key_id').where('ends_at', '>', now).where('lifted_at', 'is', null),
  );
}

/** Orders keys for a list; ties are broken by id. */
function sorted<Row>(keys: Selection<Row>, sort: KeySort): Selection<Row> {
  switch (sort) {
    case 'newest':
      return keys.orderBy('api_keys.created_at', 'desc').orderBy('api_keys.id', 'desc');
    case 'oldest':
      return keys.orderBy('api_keys.created_at').orderBy('api_keys.id');
    case 'name':
      return keys.orderBy(sql`lower(api_keys.name)`).orderBy('api_keys.id');
    case 'expiry':
      return keys.orderBy('api_keys.expires_at', (order) => order.asc().nullsLast()).orderBy('api_keys.id');
    case 'last-used':
      return keys.orderBy(LAST_USED, (order) => order.desc().nullsLast()).orderBy('api_keys.id');
  }
}

/** When a key was last used, from its last day with usage: one row of the index. */
const LAST_USED = sql`(select last_at from usage where usage.key_id = api_keys.id and period = 'day'
  order by starts_at desc limit 1)`;

/** Reads all matching prefixes at once: a look-up per key takes several times as long. */
function matches(text: string) {
  const prefixes = sql`select key_id from api_key_secrets where ends_at is null and ${contains(text, ['prefix'])}`;
  return sql<boolean>`(${contains(text, ['api_keys.name', 'api_keys.owner', 'api_keys.id'])} or api_keys.id in (${prefixes}))`;
}

/** Interns a known string, so that all keys share one copy. */
function intern<Name extends string>(names: readonly Name[], text: string): Name {
  return names.find((name) => name === text) ?? (text as Name);
}

/** Parsed scope lists by their text. Bounded: six scopes have at most 63 combinations. */
const scopeLists = new Map<string, readonly Scope[]>();

function scopesOf(text: string): readonly Scope[] {
  const known = scopeLists.get(text);
  if (known) return known;
  const scopes = text.split(' ').map((scope) => intern(SCOPES, scope));
  scopeLists.set(text, scopes);
  return scopes;
}

function toKey(row: Tables['api_keys'] & { prefix: string }): ApiKey {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    environment: intern(ENVIRONMENTS, row.environment),
    plan: intern(PLAN_NAMES, row.plan),
    limits: { minute: row.per_minute, day: row.per_day },
    scopes: scopesOf(row.scopes),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    owner: row.owner,
  };
}

function fromKey(key: ApiKey): Tables['api_keys'] {
  return seal('api_keys', {
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
    owner: key.owner,
  });
}
