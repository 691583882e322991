import sql, { raw } from 'sql-template-tag';
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
import type { Transaction } from '../engine.ts';
import { folded, isAscii } from './search.ts';
import { contains, insertInto, nextId, where } from './statement.ts';
import type { Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

const SERVICE_ACTIONS: ReadonlySet<string | undefined> = new Set(SERVICE_EVENTS);
/** The service events that are kept. */
const EVENTS_MAX = 1_000;
/** Entries that a search by other letters than those of ASCII reads before others are served. */
const ROWS_SEARCHED_AT_ONCE = 1_000;

/** The audit log in SQL. Changes by operators are only ever appended. */
export class SqlAudit extends SqlNoun implements AuditStorage {
  async list(query: AuditQuery): Promise<AuditEntry[]> {
    const { text, limit, after } = query;
    if (text === undefined || isAscii(text) || after !== undefined) return this.#page(query);
    const [wanted, found] = [folded(JSON.stringify(text)), [] as AuditEntry[]];
    for (let { before } = query; ; ) {
      const entries = await this.#page({ ...query, text: undefined, before, limit: ROWS_SEARCHED_AT_ONCE });
      found.push(...entries.filter((each) => folded(JSON.stringify([each.before, each.after])).includes(wanted)));
      if (entries.length < ROWS_SEARCHED_AT_ONCE || found.length >= limit) return found.slice(0, limit);
      before = entries.at(-1)?.id;
    }
  }

  #page({ since, limit, before, after, target, actor, action, text }: AuditQuery): Promise<AuditEntry[]> {
    return this.transactions.read(async (db) => {
      const conditions = [sql`at >= ${since}`];
      if (target !== SERVICE_TARGET && !SERVICE_ACTIONS.has(action)) conditions.push(sql`target <> ${SERVICE_TARGET}`);
      if (before !== undefined) conditions.push(sql`id < ${before}`);
      if (after !== undefined) conditions.push(sql`id > ${after}`);
      if (target !== undefined) conditions.push(sql`target = ${target}`);
      if (actor !== undefined) conditions.push(sql`actor = ${actor}`);
      if (action !== undefined) conditions.push(sql`action = ${action}`);
      // A whole text, as it stands within JSON: a part of one would find each key by its prefix and its scopes.
      if (text !== undefined)
        conditions.push(contains(JSON.stringify(text), ['audit_entries.before', 'audit_entries.after']));
      const rows = await db.all<Tables['audit_entries']>(
        sql`select * from audit_entries ${where(conditions)} order by id ${raw(after === undefined ? 'desc' : 'asc')} limit ${limit}`,
      );
      return rows.map(toEntry);
    });
  }

  addEvent({ at, event, members }: ServiceEvent, by: Operator): Promise<void> {
    return this.transactions.transact(async (trx) => {
      await recordAudit(trx, { at, by, action: event, target: SERVICE_TARGET, after: members });
      await trx.run(sql`
        delete from audit_entries where target = ${SERVICE_TARGET} and id <= (
          select id from audit_entries where target = ${SERVICE_TARGET} order by id desc limit 1 offset ${EVENTS_MAX})`);
    });
  }
}

export interface AuditedChange {
  readonly at: number;
  readonly by: Operator;
  readonly action: AuditAction;
  readonly target: string;
  /** Null unless given. */
  readonly before?: unknown;
  readonly after?: unknown;
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

/** The entry of a row. */
export function toEntry(row: Tables['audit_entries']): AuditEntry {
  const { id, at, actor, via, action, target, system_user: user } = row;
  const [before, after] = [JSON.parse(row.before), JSON.parse(row.after)];
  return { id, at, operator: { actor, via, ...(user !== null && { user }) }, action, target, before, after };
}
