import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { raw, type Sql } from 'sql-template-tag';
import {
  type AuditAction,
  type AuditEntry,
  type AuditQuery,
  type AuditStorage,
  type Operator,
  SERVICE_EVENTS,
  SERVICE_TARGET,
  type ServiceEvent,
} from '../../catalog/audit.ts';
import type { OnceId } from '../../catalog/idempotency.ts';
import { folded } from '../../catalog/search.ts';
import type { Connection, Transaction } from '../engine.ts';
import { inSteps, keysOf } from './newest.ts';
import { digestOf } from './once.ts';
import { insertInto, nextId, where } from './statement.ts';
import type { Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

const SERVICE_ACTIONS: ReadonlySet<string | undefined> = new Set(SERVICE_EVENTS);
/** The service events that are kept. */
const EVENTS_MAX = 1_000;
/** The latest changes that a history has, besides the first. */
const HISTORY_MAX = 200;
const FOUND_MAX = 10;
const PURGED_AT_ONCE = 200;
/** The characters that a value keeps in an entry by a key: keys write many, which are kept for years. */
const CHARACTERS_MAX = 100;
/** The nouns of what keys change. */
const CHANGED = ['order', 'pet'] as const;
/** The moment as the index of all entries by keys spells it: PostgreSQL could read past any number for one key. */
const AT_OF_ALL = sql`at + 0`;

/**
 * The audit in SQL: entries by operators, for ever, and in a table of their own those by keys. The release before reads
 * the first alone: it takes each for an operator's, shows and logs it as one, and may run beside this release.
 */
export class SqlAudit extends SqlNoun implements AuditStorage {
  async list(query: AuditQuery): Promise<AuditEntry[]> {
    let page: AuditEntry[] = [];
    for (const source of await this.#sources(query)) {
      // An owner may have many keys: what is older than a whole page is not read.
      const { at: since } = page[query.limit - 1] ?? { at: query.since };
      const more = await newestOf(source, { ...query, since });
      page = page.length === 0 ? more : [...page, ...more].sort(newestFirst).slice(0, query.limit);
      await nextTurn();
    }
    return page;
  }

  async search(text: string): Promise<AuditEntry[]> {
    const rows = await this.rows<Tables['changes']>(sql`
      select * from changes where request_id = ${text} or idempotency_key = ${digestOf(text)}
      order by at desc, id desc limit ${FOUND_MAX}`);
    return rows.map(toEntryByKey);
  }

  addEvent({ at, event, members }: ServiceEvent, by: Operator): Promise<void> {
    return this.transactions.transact(async (trx) => {
      await recordAudit(trx, { at, by, action: event, target: SERVICE_TARGET, after: members });
      await trx.run(sql`
        delete from audit_entries where target = ${SERVICE_TARGET} and id <= (
          select id from audit_entries where target = ${SERVICE_TARGET} order by id desc limit 1 offset ${EVENTS_MAX})`);
    });
  }

  purge(keptSeconds: number): Promise<void> {
    const old = sql`select id from changes where ${AT_OF_ALL} <= ${this.now - keptSeconds} order by ${AT_OF_ALL}`;
    return this.transactions.purge(old, sql`delete from changes where id in (${old} limit ${PURGED_AT_ONCE})`);
  }

  /** The readers of the entries that a query may mean. Each reads one range of one index. */
  async #sources(query: AuditQuery): Promise<Source[]> {
    const { via, key, owner, target, actor, action, text } = query;
    const isByKeys = via === 'key' || key !== undefined || owner !== undefined;
    const tests = text === undefined ? [] : [textFinder(text)];
    const ofOperators: Source = { read: (page) => this.#readOperators(page), tests };
    if (via !== undefined && via !== 'key') return isByKeys ? [] : [ofOperators];
    if (!isByKeys && (target === undefined || target === SERVICE_TARGET)) return [ofOperators];
    const owned = owner === undefined ? undefined : await keysOf(this.transactions, owner);
    const keys = key === undefined ? owned : [key].filter((id) => owned?.includes(id) ?? true);
    const isOfKeys = new Set(keys);
    if (action !== undefined) tests.push((entry) => entry.action === action);
    if (actor !== undefined) tests.push((entry) => entry.operator.actor === actor);
    if (target !== undefined && keys) tests.push((entry) => isOfKeys.has(entry.operator.actor));
    const id = /^\d{1,15}$/.test(target ?? '') ? Number(target) : 0;
    const ofTarget = id > 0 ? CHANGED.map((kind) => sql`kind = ${kind} and target = ${id}`) : [];
    const ranges = target === undefined ? (keys?.map((each) => sql`key_id = ${each}`) ?? [undefined]) : ofTarget;
    const ofKeys = ranges.map((range): Source => ({ read: (page) => this.#readKeys(range, page), tests }));
    if (keys && target === undefined && (action ?? 'category.create') === 'category.create')
      ofKeys.push({ read: (page) => this.#readCategories(page), tests });
    return isByKeys ? ofKeys : [ofOperators, ...ofKeys];
  }

  async #readOperators(query: AuditQuery): Promise<AuditEntry[]> {
    const { since, until, limit, before, after, target, action } = query;
    const conditions = [sql`at >= ${since}`];
    if (until !== undefined) conditions.push(sql`at < ${until}`);
    if (target !== SERVICE_TARGET && !SERVICE_ACTIONS.has(action)) conditions.push(sql`target <> ${SERVICE_TARGET}`);
    if (before) conditions.push(kindOf(before) > 0 ? sql`at < ${before.at}` : sql`id < ${numberOf(before)}`);
    if (after !== undefined) conditions.push(sql`id > ${Number(after)}`);
    for (const column of ['target', 'actor', 'action', 'via'] as const)
      if (query[column] !== undefined) conditions.push(sql`${raw(column)} = ${query[column]}`);
    const order = raw(after === undefined ? 'desc' : 'asc');
    const rows = await this.rows<Tables['audit_entries']>(
      sql`select * from audit_entries ${where(conditions)} order by id ${order} limit ${limit}`,
    );
    return rows.map(toEntry);
  }

  async #readKeys(range: Sql | undefined, { since, until, before, limit }: AuditQuery): Promise<AuditEntry[]> {
    const at = range ? sql`at` : AT_OF_ALL;
    const conditions = [...(range ? [range] : []), sql`${at} >= ${since}`];
    if (until !== undefined) conditions.push(sql`${at} < ${until}`);
    if (before) conditions.push(sql`(${at}, id) < (${before.at}, ${numberBelow(before, 1)})`);
    const rows = await this.rows<Tables['changes']>(
      sql`select * from changes ${where(conditions)} order by ${at} desc, id desc limit ${limit}`,
    );
    return rows.map(toEntryByKey);
  }

  /** The categories that keys created and that are still there, in one scan: no entry has them, and no index. */
  async #readCategories({ key, owner, since, until, before, limit }: AuditQuery): Promise<AuditEntry[]> {
    const conditions = [sql`created_at >= ${since} and created_at < ${until ?? Number.MAX_SAFE_INTEGER}`];
    if (key !== undefined) conditions.push(sql`created_by = ${key}`);
    if (owner !== undefined) conditions.push(sql`created_by in (select id from api_keys where owner = ${owner})`);
    if (before) conditions.push(sql`(created_at, id) < (${before.at}, ${numberBelow(before, 2)})`);
    const rows = await this.rows<Tables['categories'] & { renamed: string | null }>(sql`
      select *, (select before from audit_entries where target = cast(categories.id as text)
        and action = 'category.rename' order by id limit 1) as renamed
      from categories ${where(conditions)} order by created_at desc, id desc limit ${limit}`);
    return rows.map(({ name, description, renamed, ...row }) => {
      const after = { name, ...(description !== null && { description }), ...JSON.parse(renamed ?? '{}') };
      return { ...creationEntry(row, 'category.create', after), id: `c${row.id}` };
    });
  }
}

/** Reads entries, newest first, of which those are meant that pass every test. */
interface Source {
  read(page: AuditQuery): Promise<AuditEntry[]>;
  readonly tests: readonly ((entry: AuditEntry) => boolean)[];
}

function newestOf({ read, tests }: Source, query: AuditQuery): Promise<AuditEntry[]> {
  const isWanted = (entry: AuditEntry) => tests.every((passes) => passes(entry));
  return inSteps({ limit: query.limit, isWanted }, (last, atOnce) =>
    read({ ...query, before: last ?? query.before, limit: atOnce }),
  );
}

/** Finds a whole text, as it stands within JSON: a part of one would find each key by its prefix and its scopes. */
function textFinder(text: string): (entry: AuditEntry) => boolean {
  const wanted = folded(JSON.stringify(text));
  return ({ before, after }) => folded(JSON.stringify([before, after])).includes(wanted);
}

function newestFirst(one: AuditEntry, other: AuditEntry): number {
  return other.at - one.at || kindOf(one) - kindOf(other) || numberOf(other) - numberOf(one);
}

/** The place of its kind among those of one moment: by operators, by keys, categories that keys created. */
function kindOf({ id }: Pick<AuditEntry, 'id'>): number {
  return ['', 'k', 'c'].findLastIndex((prefix) => id.startsWith(prefix));
}

function numberOf({ id }: Pick<AuditEntry, 'id'>): number {
  return Number(id.replace(/^\D/, ''));
}

/** The number below which entries of a kind are listed behind another one, of those of its moment. */
function numberBelow(entry: Pick<AuditEntry, 'id'>, kind: number): number {
  if (kindOf(entry) === kind) return numberOf(entry);
  return kindOf(entry) < kind ? Number.MAX_SAFE_INTEGER : 0;
}

/** A change to be recorded; `before` and `after` are null unless given. */
interface AuditedChange extends Pick<AuditEntry, 'at' | 'target'>, Partial<Pick<AuditEntry, 'before' | 'after'>> {
  readonly by: Operator;
  readonly action: AuditAction;
}

/** Appends an audit entry in the transaction of the change itself, so that there is never one without the other. */
export async function recordAudit(trx: Transaction, change: AuditedChange): Promise<void> {
  const { at, by, action, target, before = null, after = null } = change;
  const id = await nextId(trx, 'audit_entries');
  const row = {
    id,
    at,
    actor: by.actor,
    via: by.via,
    system_user: by.user ?? null,
    action,
    target,
    before: JSON.stringify(before),
    after: JSON.stringify(after),
  };
  await trx.run(insertInto('audit_entries', [row]));
}

interface ChangeByKey extends Pick<AuditEntry, 'at'>, Partial<Pick<AuditEntry, 'before' | 'after'>> {
  readonly kind: (typeof CHANGED)[number];
  readonly id: number;
  readonly verb: string;
  readonly by: OnceId;
}

/** Appends the entry of a change by a key in the transaction of the change. Writers hold their lock. */
export async function recordChange(trx: Transaction, change: ChangeByKey): Promise<void> {
  const { at, kind, id, verb, by, before = null, after = null } = change;
  const digest = by.idempotency ? digestOf(by.idempotency.key) : null;
  await trx.run(sql`
    insert into changes (id, kind, target, at, verb, key_id, request_id, idempotency_key, before, after)
    values (
      (select coalesce(max(id), 0) + 1 from changes), ${kind}, ${id}, ${at}, ${verb}, ${by.keyId},
      ${by.requestId ?? null}, ${digest}, ${JSON.stringify(before, shortened)}, ${JSON.stringify(after, shortened)})`);
}

function shortened(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? [...value].slice(0, CHARACTERS_MAX).join('') : value;
}

/** The first entry by a key of an order or a pet, and the latest; the oldest first. */
export async function entriesByKeys(db: Connection, kind: ChangeByKey['kind'], id: number): Promise<AuditEntry[]> {
  const read = (order: 'asc' | 'desc', limit: number) =>
    db.all<Tables['changes']>(sql`
      select * from changes where kind = ${kind} and target = ${id}
      order by at ${raw(order)}, id ${raw(order)} limit ${limit}`);
  const latest = (await read('desc', HISTORY_MAX)).reverse();
  const [first] = latest.length < HISTORY_MAX ? [] : await read('asc', 1);
  return [...(first && first.id !== latest[0]?.id ? [first] : []), ...latest].map(toEntryByKey);
}

/** The entry of a row. */
export function toEntry(row: Tables['audit_entries']): AuditEntry {
  const { id, at, actor, via, action, target, system_user: user } = row;
  const [before, after] = [JSON.parse(row.before), JSON.parse(row.after)];
  return { id: `${id}`, at, operator: { actor, via, ...(user !== null && { user }) }, action, target, before, after };
}

/** The entry of a change by a key. */
export function toEntryByKey(row: Tables['changes']): AuditEntry {
  const { id, at, kind, verb, target, key_id: actor, request_id: requestId, idempotency_key: idempotencyKey } = row;
  return {
    id: `k${id}`,
    at,
    operator: { actor, via: 'key' },
    action: `${kind}.${verb}` as AuditAction,
    target: `${target}`,
    requestId,
    idempotencyKey,
    before: JSON.parse(row.before),
    after: JSON.parse(row.after),
  };
}

/** The entry of a creation that has none, as far as its row tells. */
export function creationEntry(
  { id, created_at: at, created_by: actor }: { id: number; created_at: number; created_by: string },
  action: AuditEntry['action'],
  after: object | null,
): AuditEntry {
  return { id: '', at, operator: { actor, via: 'key' }, action, target: `${id}`, requestId: null, before: null, after };
}
