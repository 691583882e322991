import sql, { empty, join, type Sql } from 'sql-template-tag';
import {
  type ApiKey,
  ENVIRONMENTS,
  type FoundKey,
  type Grace,
  type KeyChanges,
  type KeyFilter,
  type KeyPage,
  type KeyQuery,
  type KeySort,
  type KeyStorage,
  type Rotation,
  SCOPES,
  type Scope,
  type SecretRecord,
} from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { type Ban, enforced, type RunningBan } from '../../catalog/ban.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import type { Precondition } from '../../catalog/resource.ts';
import { folded, searchedText } from '../../catalog/search.ts';
import { NEVER_RESET, type ResetWindow } from '../../catalog/window-counts.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Moment } from '../../stdx/time.ts';
import type { Connection, Transaction } from '../engine.ts';
import { recordAudit } from './audit.ts';
import { imposeBan, liftBan, resetWindows, toBan } from './bans.ts';
import { coalesceLookups } from './lookups.ts';
import { assignments, contains, insertInto, one, startsWith, where } from './statement.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import { type Joined, SqlNoun } from './transactions.ts';
import { LAST_USED } from './usage.ts';

/** A key with the prefix of its current secret, and its last ban that was not lifted. */
type KeyRow = Tables['api_keys'] & { prefix: string } & (LastBan | Record<keyof LastBan, null>);
type LastBan = Prefixed<'ban', Omit<Tables['bans'], 'key_id' | 'lifted_at'>>;

/** The secret that was sent, which may be an old one of the key. */
type SentSecret = Prefixed<'sent', Pick<Tables['api_key_secrets'], 'hash' | 'ends_at'>>;
type Prefixed<Prefix extends string, Row> = { [Column in keyof Row & string as `${Prefix}_${Column}`]: Row[Column] };

const COLUMNS = sql`api_keys.*, api_key_secrets.prefix, last_ban.started_at as ban_started_at,
  last_ban.ends_at as ban_ends_at, last_ban.level as ban_level, last_ban.reason as ban_reason`;

/** Keys with their current secret, the one without an end, and their last ban that was not lifted. */
const KEYS = sql`api_keys
  inner join api_key_secrets on api_key_secrets.key_id = api_keys.id and api_key_secrets.ends_at is null
  left join bans as last_ban on last_ban.key_id = api_keys.id and last_ban.lifted_at is null and not exists (
    select 1 from bans as later
    where later.key_id = last_ban.key_id and later.lifted_at is null and later.started_at > last_ban.started_at
  )`;

const SELECT_KEYS = sql`select ${COLUMNS} from ${KEYS}`;

/** Sorts keys without an end behind every other: no key may end later than a hundred years from now. */
const NO_END = 1e12;
const LAST_USE = sql`coalesce(${LAST_USED}, 0)`;

/** An order of keys: by a number or a text, then by id. */
function orderOf(sort: KeySort, now: number): { by: Sql; isText?: true; isDescending?: true } {
  switch (sort) {
    case 'newest':
      return { by: sql`api_keys.created_at`, isDescending: true };
    case 'oldest':
      return { by: sql`api_keys.created_at` };
    case 'name':
      return { by: sql`lower(api_keys.name)`, isText: true };
    case 'expiry':
      return { by: sql`coalesce(api_keys.expires_at, ${NO_END})` };
    case 'last-used':
      return { by: LAST_USE, isDescending: true };
    case 'unused':
      return { by: LAST_USE };
    case 'use':
      // The share of the day's limit, in millionths.
      return {
        by: sql`coalesce((select 1000000 * day_used / api_keys.per_day from window_counts
          where window_counts.key_id = api_keys.id and day >= ${today(now)}), 0)`,
        isDescending: true,
      };
  }
}

/** The day of a moment, as windows count them. */
function today(now: number): number {
  return Math.floor(now / DAY_SECONDS);
}

/** API keys in SQL, with their secrets in a separate table. */
export class SqlKeys extends SqlNoun<Joined> implements KeyStorage {
  insert(key: ApiKey, secret: SecretRecord, by: Operator): Promise<void> {
    return this.transactions.change({ kind: 'keys', id: key.id }, async (trx) => {
      await trx.run(insertInto('api_keys', [fromKey(key)]));
      await insertSecret(trx, key.id, secret, key.createdAt);
      const { name, plan, limits, scopes, expiresAt, owner } = key;
      const after = { name, plan, limits, scopes, expiresAt, ...(owner !== null && { owner }) };
      await recordAudit(trx, { at: key.createdAt, by, action: 'key.create', target: key.id, after });
    });
  }

  readonly findBySecret = coalesceLookups((hashes) => this.#findBySecrets(hashes));

  async #findBySecrets(hashes: readonly string[]): Promise<Map<string, FoundKey>> {
    const rows = await this.rows<KeyRow & SentSecret>(sql`
      select ${COLUMNS}, sent.hash as sent_hash,
        case when api_keys.paused_at is null then sent.ends_at else 0 end as sent_ends_at
      from ${KEYS}
      inner join api_key_secrets as sent on sent.key_id = api_keys.id
      where sent.hash in (${join([...hashes])})`);
    const now = this.time.now();
    return new Map(rows.map((row) => [row.sent_hash, { key: toKey(row, now), endsAt: row.sent_ends_at }]));
  }

  find(id: string): Promise<ApiKey | undefined> {
    return this.transactions.read((db) => this.#readKey(db, id));
  }

  async graces(ids: readonly string[], now: number): Promise<Map<string, Grace[]>> {
    const found = new Map<string, Grace[]>();
    for (let first = 0; first < ids.length; first += ROWS_PER_STATEMENT) {
      const some = ids.slice(first, first + ROWS_PER_STATEMENT);
      const rows = await this.rows<{ key_id: string; prefix: string; ends_at: number; expires_at: number | null }>(sql`
        select key_id, prefix, ends_at, expires_at
        from api_key_secrets inner join api_keys on api_keys.id = key_id
        where key_id in (${join(some)}) and ends_at > ${now}
          and revoked_at is null and (expires_at is null or expires_at > ${now})
        order by ends_at desc`);
      for (const { key_id, prefix, ends_at, expires_at } of rows) {
        const endsAt = Math.min(ends_at, expires_at ?? ends_at);
        found.set(key_id, [...(found.get(key_id) ?? []), { prefix, endsAt }]);
      }
    }
    return found;
  }

  endGraces(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, unless, async (trx) => {
      const ended = await this.#endSecrets(trx, sql`key_id = ${id} and ends_at > ${now}`, now);
      if (ended.length === 0) return;
      const before = ended.map(({ prefix, ends_at }) => ({ prefix, endsAt: ends_at }));
      await recordAudit(trx, { at: now, by, action: 'key.end-graces', target: id, before, after: [] });
    });
  }

  async count(filter: KeyFilter): Promise<number> {
    const counted = sql`select count(*) as count from api_keys ${where(conditionsOf(filter))}`;
    return (await this.transactions.read((db) => one<{ count: number }>(db, counted))).count;
  }

  async list({ sort = 'newest', behind, limit, ...filter }: KeyQuery): Promise<KeyPage> {
    const { by, isText, isDescending } = orderOf(sort, filter.now);
    const columns = [...(filter.text ? [exactRank(filter.text, isDescending)] : []), by, sql`api_keys.id`];
    const conditions = conditionsOf(filter);
    if (behind) {
      // A place has no rank and no text: these are the present ones of its key.
      const place = columns.map((column) =>
        column === by && !isText
          ? sql`${behind.number}`
          : sql`(select ${column} from api_keys where api_keys.id = ${behind.id})`,
      );
      conditions.push(sql`(${join(columns)}) ${isDescending ? sql`<` : sql`>`} (${join(place)})`);
    }
    const order = sql`order by ${join(columns.map((column) => sql`${column} ${isDescending ? sql`desc` : empty}`))}`;
    // Selects the ids first, from an index in most orders: a deep page would otherwise read every row before it.
    const ids = sql`select api_keys.id from api_keys ${where(conditions)} ${order} limit ${limit + 1}`;
    const rows = await this.rows<KeyRow & { place: number }>(sql`
      select ${COLUMNS}, ${isText ? sql`0` : by} as place from ${KEYS} where api_keys.id in (${ids}) ${order}`);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    const now = this.time.now();
    const keys = rows.slice(0, limit).map((row) => toKey(row, now));
    return { keys, last: last && { number: last.place, id: last.id } };
  }

  update(id: string, changes: KeyChanges, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, unless, async (trx, key) => {
      // In the order of the key, in whichever order they were asked for.
      const names = (Object.keys(key) as (keyof KeyChanges)[]).filter((name) => name in changes);
      const changed = names.filter((name) => JSON.stringify(changes[name]) !== JSON.stringify(key[name]));
      if (changed.length === 0) return;
      const { id: _, ...row } = fromKey({ ...key, ...changes });
      await trx.run(sql`update api_keys set ${assignments(row)}, checksum = null where id = ${id}`);
      const before = Object.fromEntries(changed.map((name) => [name, key[name]]));
      const after = Object.fromEntries(changed.map((name) => [name, changes[name]]));
      await recordAudit(trx, { at: this.now, by, action: 'key.update', target: id, before, after });
    });
  }

  rotate(
    id: string,
    secret: SecretRecord,
    { now, oldEndAt, by }: Rotation,
    unless?: Precondition<ApiKey>,
  ): Promise<ApiKey | undefined> {
    return this.#change(id, unless, async (trx, key) => {
      await this.#endSecrets(trx, sql`key_id = ${id} and (ends_at is null or ends_at > ${oldEndAt})`, oldEndAt);
      await insertSecret(trx, id, secret, now);
      const [before, after] = [{ prefix: key.prefix }, { prefix: secret.prefix, oldEndsAt: oldEndAt }];
      await recordAudit(trx, { at: now, by, action: 'key.rotate', target: id, before, after });
    });
  }

  pause(id: string, at: number | null, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, unless, async (trx, { pausedAt }) => {
      if ((pausedAt === null) === (at === null)) return;
      await trx.run(sql`update api_keys set paused_at = ${at} where id = ${id}`);
      const action = at === null ? 'key.resume' : 'key.pause';
      await recordAudit(trx, { at: this.now, by, action, target: id, before: { pausedAt }, after: { pausedAt: at } });
    });
  }

  revoke(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, unless, async (trx, key) => {
      const changed = { revoked_at: now, search: searchedText(key), checksum: null };
      await trx.run(sql`update api_keys set ${assignments(changed)} where id = ${id}`);
      const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
      await recordAudit(trx, { at: now, by, action: 'key.revoke', target: id, before, after });
    });
  }

  impose(id: string, ban: Ban, decided: { readonly banGeneration: number; readonly isAnswered: boolean }) {
    return this.transactions.change({ kind: 'keys', id }, (trx) =>
      imposeBan(trx, id, ban, { ...decided, now: this.time.now() }),
    );
  }

  lift(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>, isReset = false): Promise<boolean> {
    return this.transactions.change({ kind: 'keys', id }, async (trx) => {
      const key = await this.#readKey(trx, id);
      if (key) unless?.(key);
      const isLifted = await liftBan(trx, id, { now, by });
      if (key && isLifted && isReset) await resetWindows(trx, key, { window: 'both', now, by });
      return isLifted;
    });
  }

  reset(id: string, window: ResetWindow, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined> {
    return this.#change(id, unless, (trx, key) => resetWindows(trx, key, { window, now: this.now, by }));
  }

  async bans(now: number): Promise<(Ban & { keyId: string })[]> {
    const rows = await this.rows<Tables['bans']>(sql`
      select * from bans where ends_at > ${now} and lifted_at is null and key_id in (
        select id from api_keys where revoked_at is null and (expires_at is null or expires_at > ${now}))
      order by started_at desc, key_id desc`);
    return rows.map((row) => ({ keyId: row.key_id, ...toBan(row) }));
  }

  async banHistory(id: string, limit: number): Promise<(Ban & { liftedAt: number | null })[]> {
    const rows = await this.rows<Tables['bans']>(sql`
      select * from bans where key_id = ${id} order by started_at desc limit ${limit}`);
    return rows.map((row) => ({ ...toBan(row), liftedAt: row.lifted_at }));
  }

  /** Changes an existing, unrevoked key, and returns the new state. Throws what `unless` throws. */
  #change(
    id: string,
    unless: Precondition<ApiKey> | undefined,
    work: (trx: Transaction, key: ApiKey) => Promise<void>,
  ): Promise<ApiKey | undefined> {
    return this.transactions.change({ kind: 'keys', id }, async (trx) => {
      const key = await this.#readKey(trx, id);
      if (!key || key.revokedAt !== null) return key;
      unless?.(key);
      await work(trx, key);
      return (await this.#readKey(trx, id)) ?? key;
    });
  }

  /** Sets the end of some secrets, and returns them as they were. */
  async #endSecrets(trx: Transaction, which: Sql, endAt: number): Promise<Tables['api_key_secrets'][]> {
    const secrets = await trx.all<Tables['api_key_secrets']>(sql`select * from api_key_secrets where ${which}`);
    await trx.run(sql`update api_key_secrets set ends_at = ${endAt}, checksum = null where ${which}`);
    return secrets;
  }

  async #readKey(db: Connection, id: string): Promise<ApiKey | undefined> {
    const [row] = await db.all<KeyRow>(sql`${SELECT_KEYS} where api_keys.id = ${id}`);
    return row && toKey(row, this.time.now());
  }
}

async function insertSecret(trx: Transaction, keyId: string, secret: SecretRecord, now: number): Promise<void> {
  const { hash, prefix } = secret;
  const row = { hash, key_id: keyId, prefix, created_at: now, ends_at: null };
  await trx.run(insertInto('api_key_secrets', [row]));
}

/** The conditions of a filter on `api_keys` alone: counting keys needs no secrets. */
function conditionsOf({ text, owner, plan, state, expiresBefore, near, unused, now }: KeyFilter): Sql[] {
  const conditions: Sql[] = [];
  if (text) conditions.push(matches(text));
  if (owner !== undefined) conditions.push(sql`api_keys.owner = ${owner}`);
  if (plan !== undefined) conditions.push(sql`api_keys.plan = ${plan}`);
  if (expiresBefore !== undefined) conditions.push(sql`api_keys.expires_at < ${expiresBefore}`);
  if (unused !== undefined) conditions.push(sql`coalesce(${LAST_USED}, 0) <= ${now - unused}`);
  if (near !== undefined)
    conditions.push(sql`exists (
      select 1 from window_counts where window_counts.key_id = api_keys.id and day >= ${today(now)}
        and 100 * day_used >= ${near} * api_keys.per_day)`);
  if (state === undefined) return conditions;
  if (state === 'revoked') return [...conditions, sql`api_keys.revoked_at is not null`];
  conditions.push(sql`api_keys.revoked_at is null`);
  if (state === 'expired') return [...conditions, sql`api_keys.expires_at <= ${now}`];
  conditions.push(sql`(api_keys.expires_at is null or api_keys.expires_at > ${now})`);
  if (state === 'paused') return [...conditions, sql`api_keys.paused_at is not null`];
  conditions.push(sql`api_keys.paused_at is null`);
  const banned = sql`select key_id from bans where ends_at > ${now} and lifted_at is null`;
  conditions.push(state === 'banned' ? sql`api_keys.id in (${banned})` : sql`api_keys.id not in (${banned})`);
  return conditions;
}

/** Reads all matching prefixes at once: a look-up per key takes several times as long. */
function matches(text: string): Sql {
  const prefixes = sql`select key_id from api_key_secrets where ends_at is null and ${contains(text, ['prefix'])}`;
  return sql`(${contains(folded(text), ['api_keys.search'])} or api_keys.id in (${prefixes}))`;
}

/** Ranks the keys of which the text is the whole name, owner, id or prefix before every other. */
function exactRank(text: string, isDescending = false): Sql {
  const prefixes = sql`select key_id from api_key_secrets where ends_at is null and prefix = ${text}`;
  const whole = sql`${startsWith(`${folded(text)}\n`, 'api_keys.search')} or api_keys.owner = ${text} or api_keys.id = ${text}`;
  const ranks = isDescending ? sql`then 1 else 0` : sql`then 0 else 1`;
  return sql`(case when ${whole} or api_keys.id in (${prefixes}) ${ranks} end)`;
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

function toKey(row: KeyRow, now: Moment): ApiKey {
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
    pausedAt: row.paused_at,
    owner: row.owner,
    ban: lastBan(row, now),
    banGeneration: row.epoch,
    resets: row.minute_reset + row.day_reset > 0 ? { minute: row.minute_reset, day: row.day_reset } : NEVER_RESET,
  };
}

function lastBan({ ban_started_at, ban_ends_at, ban_level, ban_reason }: KeyRow, now: Moment): RunningBan | null {
  if (ban_started_at === null) return null;
  return enforced({ startedAt: ban_started_at, endsAt: ban_ends_at, level: ban_level, reason: ban_reason }, now);
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
    paused_at: key.pausedAt,
    owner: key.owner,
    search: searchedText(key),
    epoch: key.banGeneration,
    minute_reset: key.resets.minute,
    day_reset: key.resets.day,
  };
}
