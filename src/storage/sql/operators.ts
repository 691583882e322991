import sql, { type Sql } from 'sql-template-tag';
import { newId } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import {
  type ConsoleSession,
  type NewSession,
  type OperatorToken,
  ROLES,
  SESSION_IDLE_SECONDS,
  type SessionStorage,
  type TokenStorage,
} from '../../catalog/operator/access.ts';
import { recordAudit } from './audit.ts';
import { insertInto } from './statement.ts';
import type { Tables } from './tables.ts';
import { type Joined, SqlNoun } from './transactions.ts';

/** The console's logins and sessions in SQL. Expired rows are deleted when the next login is used. */
export class SqlSessions extends SqlNoun implements SessionStorage {
  offer(hash: string, { endsAt, actor, role, user }: Parameters<SessionStorage['offer']>[1]): Promise<void> {
    return this.transactions.transact(async (trx) => {
      await trx.run(insertInto('console_logins', [{ hash, actor, role, ends_at: endsAt }]));
      if (user === undefined) return;
      const [by, after] = [{ actor, via: 'cli', user } as const, { role, endsAt }];
      await recordAudit(trx, { at: this.now, by, action: 'console.offer', target: actor, after });
    });
  }

  async open(loginHash: string, { hash, now, endsAt }: NewSession): Promise<ConsoleSession | undefined> {
    // A guess costs a look-up, and never the lock of the writers.
    const [isOffered] = await this.transactions.read((db) =>
      db.all<{ hash: string }>(sql`select hash from console_logins where hash = ${loginHash}`),
    );
    if (!isOffered) return undefined;
    return this.transactions.transact(async (trx) => {
      const [login] = await trx.all<Tables['console_logins']>(sql`
        select * from console_logins where hash = ${loginHash}`);
      // A login opens one session, so it is deleted along with the expired ones.
      await trx.run(sql`delete from console_logins where hash = ${loginHash} or ends_at <= ${now}`);
      await trx.run(sql`delete from console_sessions where not ${isOpen(now)}`);
      if (!login || login.ends_at <= now) return undefined;
      const row = {
        hash,
        id: newId('session_'),
        actor: login.actor,
        role: login.role,
        opened_at: now,
        ends_at: endsAt,
        last_seen_at: now,
      };
      await trx.run(insertInto('console_sessions', [row]));
      const [by, after] = [{ actor: login.actor, via: 'console' } as const, { role: row.role, endsAt }];
      await recordAudit(trx, { at: this.now, by, action: 'console.open', target: row.id, after });
      return toSession(row);
    });
  }

  find(hash: string, now: number): Promise<ConsoleSession | undefined> {
    return this.transactions.read(async (db) => {
      const [row] = await db.all<Tables['console_sessions']>(sql`
        select * from console_sessions where hash = ${hash} and ${isOpen(now)}`);
      return row && toSession(row);
    });
  }

  touch(id: string, now: number): Promise<void> {
    return this.transactions.transactUnlocked(async (trx) => {
      await trx.run(sql`update console_sessions set last_seen_at = ${now} where id = ${id}`);
    });
  }

  list(now: number): Promise<ConsoleSession[]> {
    return this.transactions.read(async (db) => {
      const rows = await db.all<Tables['console_sessions']>(sql`
        select * from console_sessions where ${isOpen(now)} order by opened_at desc, id desc`);
      return rows.map(toSession);
    });
  }

  revoke(id: string, now: number, by: Operator): Promise<boolean> {
    return this.transactions.transact(async (trx) => {
      const [row] = await trx.all<Tables['console_sessions']>(sql`
        delete from console_sessions where id = ${id} and ${isOpen(now)} returning *`);
      if (!row) return false;
      const before = { actor: row.actor, endsAt: row.ends_at };
      await recordAudit(trx, { at: this.now, by, action: 'console.revoke', target: id, before });
      return true;
    });
  }
}

/** The condition for an open session. Instances of the previous version leave `last_seen_at` at 0. */
function isOpen(now: number): Sql {
  const idleSince = now - SESSION_IDLE_SECONDS;
  return sql`(ends_at > ${now} and (last_seen_at > ${idleSince} or opened_at > ${idleSince}))`;
}

function toSession(row: Tables['console_sessions']): ConsoleSession {
  const { id, actor, role, opened_at, ends_at, last_seen_at } = row;
  return { id, actor, role, openedAt: opened_at, endsAt: ends_at, lastSeenAt: Math.max(opened_at, last_seen_at) };
}

/** The tokens of the operator API in SQL. */
export class SqlTokens extends SqlNoun<Joined> implements TokenStorage {
  insert(token: OperatorToken, hash: string, by: Operator): Promise<void> {
    return this.transactions.together(async (trx) => {
      const { id, name, prefix, role, createdAt, expiresAt } = token;
      const moments = { created_at: createdAt, expires_at: expiresAt, revoked_at: null };
      await trx.run(insertInto('operator_tokens', [{ id, hash, name, prefix, role, ...moments }]));
      const after = { name, role, expiresAt };
      await recordAudit(trx, { at: this.now, by, action: 'operator.create', target: id, after });
    });
  }

  find(hash: string): Promise<OperatorToken | undefined> {
    return this.transactions.read(async (db) => {
      const [row] = await db.all<Tables['operator_tokens']>(sql`
        select * from operator_tokens where hash = ${hash}`);
      // A role that there is not may be a damaged one.
      return row && ROLES.includes(row.role) ? toToken(row) : undefined;
    });
  }

  list(): Promise<OperatorToken[]> {
    return this.transactions.read(async (db) => {
      const rows = await db.all<Tables['operator_tokens']>(sql`
        select * from operator_tokens order by created_at desc, id desc`);
      return rows.map(toToken);
    });
  }

  revoke(id: string, now: number, by: Operator): Promise<OperatorToken | undefined> {
    return this.transactions.together(async (trx) => {
      const [row] = await trx.all<Tables['operator_tokens']>(sql`select * from operator_tokens where id = ${id}`);
      if (!row || row.revoked_at !== null) return row && toToken(row);
      await trx.run(sql`update operator_tokens set revoked_at = ${now} where id = ${id}`);
      const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
      await recordAudit(trx, { at: this.now, by, action: 'operator.revoke', target: id, before, after });
      return toToken({ ...row, revoked_at: now });
    });
  }

  remove(id: string): Promise<void> {
    return this.transactions.together(async (trx) => {
      await trx.run(sql`delete from operator_tokens where id = ${id}`);
    });
  }
}

function toToken(row: Tables['operator_tokens']): OperatorToken {
  const { id, name, prefix, role, created_at, expires_at, revoked_at } = row;
  return { id, name, prefix, role, createdAt: created_at, expiresAt: expires_at, revokedAt: revoked_at };
}
