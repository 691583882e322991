import type { Transaction } from 'kysely';
import type { AuditAction, AuditEntry, AuditQuery, AuditStorage, Operator } from '../../catalog/audit.ts';
import { nextId, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

/** The audit log in SQL. Append-only. */
export class SqlAudit implements AuditStorage {
  readonly #transactions: Transactions;

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
  }

  list({ since, limit, before, target, actor, action }: AuditQuery): Promise<AuditEntry[]> {
    return this.#transactions.read(async (db) => {
      let query = db
        .selectFrom('audit_entries')
        .selectAll()
        .where('at', '>=', since)
        .orderBy('id', 'desc')
        .limit(limit);
      if (before !== undefined) query = query.where('id', '<', before);
      if (target !== undefined) query = query.where('target', '=', target);
      if (actor !== undefined) query = query.where('actor', '=', actor);
      if (action !== undefined) query = query.where('action', '=', action as AuditAction);
      return (await query.execute()).map(toEntry);
    });
  }
}

export interface AuditedChange {
  readonly at: number;
  readonly by: Operator;
  readonly action: AuditAction;
  readonly target: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Appends an audit entry in the transaction of the change itself, so that there is never one without the other. */
export async function recordAudit(trx: Transaction<Tables>, change: AuditedChange): Promise<void> {
  const { at, by, action, target, before, after } = change;
  const id = await nextId(trx, 'audit_entries');
  await trx
    .insertInto('audit_entries')
    .values({
      id,
      at,
      actor: by.actor,
      via: by.via,
      action,
      target,
      before: JSON.stringify(before),
      after: JSON.stringify(after),
    })
    .execute();
}

function toEntry(row: Tables['audit_entries']): AuditEntry {
  const { id, at, actor, via, action, target } = row;
  const [before, after] = [JSON.parse(row.before), JSON.parse(row.after)];
  return { id, at, operator: { actor, via }, action, target, before, after };
}
