import { randomUUID } from 'node:crypto';
import type { ExpressionBuilder } from 'kysely';
import type { Operator } from '../../../catalog/audit.ts';
import {
  type ConsoleSession,
  type NewSession,
  SESSION_IDLE_SECONDS,
  type SessionStorage,
} from '../../../catalog/operator/session.ts';
import type { Clock } from '../../../stdx/clock.ts';
import { recordAudit } from '../audit.ts';
import type { Tables } from '../tables.ts';
import type { Transactions } from '../transactions.ts';

/** The console's logins and sessions in SQL. Expired rows are deleted when the next login is used. */
export class SqlSessions implements SessionStorage {
  readonly #transactions: Transactions;
  /** The clock of the audit. */
  readonly #clock: Clock;

  constructor(transactions: Transactions, clock: Clock) {
    this.#transactions = transactions;
    this.#clock = clock;
  }

  offer(hash: string, { endsAt, actor, role }: Parameters<SessionStorage['offer']>[1]): Promise<void> {
    return this.#transactions.transactUnlocked(async (trx) => {
      await trx.insertInto('console_logins').values({ hash, actor, role, ends_at: endsAt }).execute();
    });
  }

  async open(loginHash: string, { hash, now, endsAt }: NewSession): Promise<ConsoleSession | undefined> {
    // A guess costs a look-up, and never the lock of the writers.
    const isOffered = await this.#transactions.read((db) =>
      db.selectFrom('console_logins').select('hash').where('hash', '=', loginHash).executeTakeFirst(),
    );
    if (!isOffered) return undefined;
    return this.#transactions.transact(async (trx) => {
      const login = await trx.selectFrom('console_logins').selectAll().where('hash', '=', loginHash).executeTakeFirst();
      // A login opens one session, so it is deleted along with the expired ones.
      await trx
        .deleteFrom('console_logins')
        .where((where) => where.or([where('hash', '=', loginHash), where('ends_at', '<=', now)]))
        .execute();
      await trx
        .deleteFrom('console_sessions')
        .where((where) => where.not(isOpen(now)(where)))
        .execute();
      if (!login || login.ends_at <= now) return undefined;
      const row = {
        hash,
        id: `session_${randomUUID()}`,
        actor: login.actor,
        role: login.role,
        opened_at: now,
        ends_at: endsAt,
        last_seen_at: now,
      };
      await trx.insertInto('console_sessions').values(row).execute();
      await recordAudit(trx, {
        at: this.#clock().unix,
        by: { actor: login.actor, via: 'console' },
        action: 'console.open',
        target: row.id,
        before: null,
        after: { role: row.role, endsAt },
      });
      return toSession(row);
    });
  }

  find(hash: string, now: number): Promise<ConsoleSession | undefined> {
    return this.#transactions.read(async (db) => {
      const row = await db
        .selectFrom('console_sessions')
        .selectAll()
        .where('hash', '=', hash)
        .where(isOpen(now))
        .executeTakeFirst();
      return row && toSession(row);
    });
  }

  touch(id: string, now: number): Promise<void> {
    return this.#transactions.transactUnlocked(async (trx) => {
      await trx.updateTable('console_sessions').set({ last_seen_at: now }).where('id', '=', id).execute();
    });
  }

  list(now: number): Promise<ConsoleSession[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db
        .selectFrom('console_sessions')
        .selectAll()
        .where(isOpen(now))
        .orderBy('opened_at', 'desc')
        .execute();
      return rows.map(toSession);
    });
  }

  revoke(id: string, now: number, by: Operator): Promise<boolean> {
    return this.#transactions.transact(async (trx) => {
      const row = await trx
        .selectFrom('console_sessions')
        .selectAll()
        .where('id', '=', id)
        .where(isOpen(now))
        .executeTakeFirst();
      if (!row) return false;
      await trx.deleteFrom('console_sessions').where('id', '=', id).execute();
      await recordAudit(trx, {
        at: this.#clock().unix,
        by,
        action: 'console.revoke',
        target: id,
        before: { actor: row.actor, endsAt: row.ends_at },
        after: null,
      });
      return true;
    });
  }
}

/** The condition for an open session. Instances of the previous version leave `last_seen_at` at 0. */
function isOpen(now: number) {
  const idleSince = now - SESSION_IDLE_SECONDS;
  return (where: ExpressionBuilder<Tables, 'console_sessions'>) =>
    where.and([
      where('ends_at', '>', now),
      where.or([where('last_seen_at', '>', idleSince), where('opened_at', '>', idleSince)]),
    ]);
}

function toSession(row: Tables['console_sessions']): ConsoleSession {
  const { id, actor, role, opened_at, ends_at, last_seen_at } = row;
  return { id, actor, role, openedAt: opened_at, endsAt: ends_at, lastSeenAt: Math.max(opened_at, last_seen_at) };
}
