import sql, { join, type Sql } from 'sql-template-tag';
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
import type { Connection, Transaction } from '../engine.ts';
import { recordAudit } from './audit.ts';
import { type RowGuard, seal } from './checksum.ts';
import { changeOnce } from './outcomes.ts';
import { assignments, contains, insertInto, one, where } from './statement.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** A key with the prefix of its current secret. */
type KeyRow = Tables['api_keys'] & { prefix: string };

/** The secret that was sent, which may be an old one of the key. */
interface SentSecret {
  sent_hash: string;
  sent_prefix: string;
  sent_created_at: number;
  sent_ends_at: number | null;
  sent_checksum: number | null;
}

/** Keys with their current secret, the one without an end. */
const KEYS_WITH_SECRETS = sql`api_keys
  inner join api_key_secrets on api_key_secrets.key_id = api_keys.id and api_key_secrets.ends_at is null`;

/** Selects every key. */
const ALL_KEYS = sql`select api_keys.*, api_key_secrets.prefix from ${KEYS_WITH_SECRETS}`;

/** When a key was last used, from its last day with usage: one row of the index. */
const LAST_USED = sql`(select last_at from usage where usage.key_id = api_keys.id and period = 'day'
  order by starts_at desc limit 1)`;

/** The orders of keys in a list; ties are broken by id. */
const ORDERS: Readonly<Record<KeySort, Sql>> = {
  newest: sql`api_keys.created_at desc, api_keys.id desc`,
  oldest: sql`api_keys.created_at, api_keys.id`,
  name: sql`lower(api_keys.name), api_keys.id`,
  expiry: sql`api_keys.expires_at asc nulls last, api_keys.id`,
  'last-used': sql`${LAST_USED} desc nulls last, api_keys.id`,
};

/** API keys in SQL, with their secrets in a separate table. */
export class SqlKeys implements KeyStorage {
  readonly #transactions: Transactions;
  readonly #guard: RowGuard;
  readonly #clock: Clock;

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
    trx: Transaction,
    { key, secret, by }: { key: ApiKey; secret: SecretRecord; by: Operator },
  ): Promise<ApiKey> {
    await trx.run(insertInto('api_keys', [fromKey(key)]));
    await insertSecret(trx, key.id, secret, key.createdAt);
    const { name, plan, limits, scopes, expiresAt, owner } = key;
    const after = { name, plan, limits, scopes, expiresAt, ...(owner !== null && { owner }) };
    await recordAudit(trx, { at: key.createdAt, by, action: 'key.create', target: key.id, before: null, after });
    return key;
  }

  findBySecret(secretHash: string): Promise<FoundKey | undefined> {
    return this.#transactions.read(async (db) => {
      const [row] = await db.all<KeyRow & SentSecret>(sql`
        select api_keys.*, api_key_secrets.prefix, sent.hash as sent_hash, sent.prefix as sent_prefix,
          sent.created_at as sent_created_at, sent.ends_at as sent_ends_at, sent.checksum as sent_checksum
        from ${KEYS_WITH_SECRETS}
        inner join api_key_secrets as sent on sent.key_id = api_keys.id
        where sent.hash = ${secretHash}`);
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
      const rows = await db.all<KeyRow>(sql`${ALL_KEYS} order by ${ORDERS.oldest}`);
      return this.#guard.filter('api_keys', rows).map(toKey);
    });
  }

  graces(id: string, now: number): Promise<Grace[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db.all<{ prefix: string; ends_at: number }>(sql`
        select prefix, ends_at from api_key_secrets where key_id = ${id} and ends_at > ${now} order by ends_at desc`);
      return rows.map(({ prefix, ends_at }) => ({ prefix, endsAt: ends_at }));
    });
  }

  search({ sort = 'newest', offset, limit, now = this.#clock().unix, ...filter }: KeySearch) {
    return this.#transactions.read(async (db) => {
      const filtered = where(conditionsOf({ ...filter, now }));
      const { count } = await one<{ count: number }>(db, sql`select count(*) as count from api_keys ${filtered}`);
      if (count <= offset) return { keys: [], count };
      // Selects the ids first, from an index in most orders: a deep page would otherwise read every row before it.
      const ids = await db.all<{ id: string }>(sql`
        select api_keys.id from api_keys ${filtered} order by ${ORDERS[sort]} limit ${limit} offset ${offset}`);
      // Other work may have run since the count.
      if (ids.length === 0) return { keys: [], count };
      const places = new Map(ids.map(({ id }, place) => [id, place]));
      const rows = await db.all<KeyRow>(sql`${ALL_KEYS} where api_keys.id in (${join([...places.keys()])})`);
      rows.sort((row, other) => (places.get(row.id) ?? 0) - (places.get(other.id) ?? 0));
      return { keys: this.#guard.filter('api_keys', rows).map(toKey), count };
    });
  }

  page({ limit, behind, ...query }: KeyQuery): Promise<KeyPage> {
    return this.#transactions.read(async (db) => {
      const conditions = conditionsOf(query);
      if (behind) conditions.push(sql`(api_keys.created_at, api_keys.id) < (${behind.createdAt}, ${behind.id})`);
      const rows = await db.all<KeyRow>(sql`
        ${ALL_KEYS} ${where(conditions)} order by ${ORDERS.newest} limit ${limit + 1}`);
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
      await trx.run(sql`update api_keys set ${assignments(row)} where id = ${id}`);
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
      await trx.run(sql`update api_keys set ${assignments({ revoked_at, checksum })} where id = ${id}`);
      const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
      await recordAudit(trx, { at: now, by, action: 'key.revoke', target: id, before, after });
    });
  }

  /** Changes an existing, unrevoked key once, and returns the new state. */
  #change(
    id: string,
    options: { retry: Retry<ApiKey> | undefined; now: number },
    work: (trx: Transaction, key: ApiKey) => Promise<void>,
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

  async #endSecrets(trx: Transaction, keyId: string, endAt: number): Promise<void> {
    const secrets = await trx.all<Tables['api_key_secrets']>(sql`
      select * from api_key_secrets where key_id = ${keyId} and (ends_at is null or ends_at > ${endAt})`);
    for (const secret of secrets) {
      const ended = { ...secret, ends_at: endAt };
      // A damaged key is revoked too, but must not look intact afterwards.
      const { checksum } = this.#guard.isIntact('api_key_secrets', secret) ? seal('api_key_secrets', ended) : ended;
      await trx.run(sql`
        update api_key_secrets set ends_at = ${endAt}, checksum = ${checksum} where hash = ${secret.hash}`);
    }
  }

  async #readKey(db: Connection, id: string): Promise<ApiKey | undefined> {
    const [row] = await db.all<KeyRow>(sql`${ALL_KEYS} where api_keys.id = ${id}`);
    return row && toKey(this.#guard.intact('api_keys', row));
  }
}

async function insertSecret(trx: Transaction, keyId: string, secret: SecretRecord, now: number): Promise<void> {
  const { hash, prefix } = secret;
  const row = { hash, key_id: keyId, prefix, created_at: now, ends_at: null };
  await trx.run(insertInto('api_key_secrets', [seal('api_key_secrets', row)]));
}

/** The conditions of a filter on `api_keys` alone: counting keys needs no secrets. */
function conditionsOf(query: KeyFilter & { readonly now: number }): Sql[] {
  const { text, owner, plan, state, expiresBefore, expiresAfter, now } = query;
  const conditions: Sql[] = [];
  if (text !== '') conditions.push(matches(text));
  if (owner !== undefined) conditions.push(sql`api_keys.owner = ${owner}`);
  if (plan !== undefined) conditions.push(sql`api_keys.plan = ${plan}`);
  if (expiresBefore !== undefined) conditions.push(sql`api_keys.expires_at < ${expiresBefore}`);
  if (expiresAfter !== undefined) conditions.push(sql`api_keys.expires_at > ${expiresAfter}`);
  if (state === undefined) return conditions;
  if (state === 'revoked') return [...conditions, sql`api_keys.revoked_at is not null`];
  conditions.push(sql`api_keys.revoked_at is null`);
  if (state === 'expired') return [...conditions, sql`api_keys.expires_at <= ${now}`];
  conditions.push(sql`(api_keys.expires_at is null or api_keys.expires_at > ${now})`);
  const banned = sql`select key_id from bans where ends_at > ${now} and lifted_at is null`;
  conditions.push(state === 'banned' ? sql`api_keys.id in (${banned})` : sql`api_keys.id not in (${banned})`);
  return conditions;
}

/** Reads all matching prefixes at once: a look-up per key takes several times as long. */
function matches(text: string): Sql {
  const prefixes = sql`select key_id from api_key_secrets where ends_at is null and ${contains(text, ['prefix'])}`;
  return sql`(${contains(text, ['api_keys.name', 'api_keys.owner', 'api_keys.id'])} or api_keys.id in (${prefixes}))`;
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

function toKey(row: KeyRow): ApiKey {
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
