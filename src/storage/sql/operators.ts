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
import { MINUTE_SECONDS } from '../../stdx/duration.ts';
import type { Transaction } from '../engine.ts';
import { recordAudit } from './audit.ts';
import { insertInto } from './statement.ts';
import type { Tables } from './tables.ts';
import { type Joined, SqlNoun } from './transactions.ts';

/** The console's sessions in SQL. Expired rows are deleted when the next one is opened. */
export class SqlSessions extends SqlNoun implements SessionStorage {
  open({ hash, actor, role, user, now, endsAt, offeredAfter }: NewSession): Promise<ConsoleSession | undefined> {
    return this.transactions.transact(async (trx) => {
      await trx.run(sql`delete from console_sessions where not ${isOpen(now)}`);
      const [ended] = await trx.all(sql`
        select id from audit_entries
        where target = ${actor} and action = 'console.revoke' and id > ${offeredAfter} limit 1`);
      if (ended) return undefined;
      const row = { hash, id: newId('session_'), actor, role, opened_at: now, ends_at: endsAt, last_seen_at: now };
      await trx.run(insertInto('console_sessions', [row]));
      const by: Operator = { actor, via: 'console', ...(user !== undefined && { user }) };
      await recordAudit(trx, { at: this.now, by, action: 'console.open', target: row.id, after: { role, endsAt } });
      return toSession(row);
    });
  }

  async find(hash: string, now: number): Promise<ConsoleSession | undefined> {
    const [row] = await this.rows<Tables['console_sessions']>(sql`
      select * from console_sessions where hash = ${hash} and ${isOpen(now)}`);
    return row && toSession(row);
  }

  touch(id: string, now: number): Promise<void> {
    return this.transactions.transactUnlocked(async (trx) => {
      await trx.run(sql`update console_sessions set last_seen_at = ${now} where id = ${id}`);
    });
  }

  async list(now: number): Promise<ConsoleSession[]> {
    const rows = await this.rows<Tables['console_sessions']>(sql`
      select * from console_sessions where ${isOpen(now)} order by opened_at desc, id desc`);
    return rows.map(toSession);
  }

  revoke(id: string, now: number, by: Operator): Promise<boolean> {
    return this.transactions.transact(async (trx) => {
      const [row] = await trx.all<Tables['console_sessions']>(sql`
        delete from console_sessions where id = ${id} and ${isOpen(now)} returning *`);
      if (!row) return false;
      await this.#recordEnd(trx, row, by);
      return true;
    });
  }

  revokeAll(actor: string, now: number, by: Operator): Promise<ConsoleSession[]> {
    return this.transactions.transact(async (trx) => {
      const rows = await trx.all<Tables['console_sessions']>(sql`
        delete from console_sessions where actor = ${actor} and ${isOpen(now)} returning *`);
      // Release 0.3.0, which may run beside this one, offers logins here.
      await trx.run(sql`delete from console_logins where actor = ${actor}`);
      for (const row of rows) await this.#recordEnd(trx, row, by);
      // Logins in the memory of any instance that were offered before this entry open nothing.
      const after = { sessions: rows.length };
      await recordAudit(trx, { at: this.now, by, action: 'console.revoke', target: actor, after });
      return rows.map(toSession);
    });
  }

  #recordEnd(trx: Transaction, { id, actor, ends_at: endsAt }: Tables['console_sessions'], by: Operator) {
    return recordAudit(trx, { at: this.now, by, action: 'console.revoke', target: id, before: { actor, endsAt } });
  }
}

/** The condition for an open session: one of a clock more than a minute ahead would stay open as long as that. */
function isOpen(now: number): Sql {
  return sql`(ends_at > ${now} and last_seen_at between ${now - SESSION_IDLE_SECONDS + 1} and ${now + MINUTE_SECONDS})`;
}

function toSession(row: Tables['console_sessions']): ConsoleSession {
  const { id, actor, role, opened_at, ends_at, last_seen_at } = row;
  return { id, actor, role, openedAt: opened_at, endsAt: ends_at, lastSeenAt: last_seen_at };
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

  async find(hash: string): Promise<OperatorToken | undefined> {
    const [row] = await this.rows<TokenRow>(sql`${TOKENS} where hash = ${hash}`);
    // A role that there is not may be a damaged one.
    return row && ROLES.includes(row.role) ? toToken(row) : undefined;
  }

  async list(): Promise<OperatorToken[]> {
    const rows = await this.rows<TokenRow>(sql`${TOKENS} order by created_at desc, id desc`);
    return rows.map(toToken);
  }

  revoke(id: string, now: number, by: Operator): Promise<OperatorToken | undefined> {
    return this.transactions.together(async (trx) => {
      const [row] = await trx.all<TokenRow>(sql`${TOKENS} where id = ${id}`);
      return row && (row.revoked_at === null ? this.#revoke(trx, row, { now, by }) : toToken(row));
    });
  }

  revokeAll(name: string, now: number, by: Operator): Promise<OperatorToken[]> {
    return this.transactions.together(async (trx) => {
      const rows = await trx.all<TokenRow>(sql`
        select * from (${TOKENS} where revoked_at is null) as usable
        where name = ${name} or issued_by = ${name} order by created_at desc, id desc`);
      const revoked = [];
      for (const row of rows) revoked.push(await this.#revoke(trx, row, { now, by }));
      return revoked;
    });
  }

  async #revoke(trx: Transaction, row: TokenRow, { now, by }: { now: number; by: Operator }): Promise<OperatorToken> {
    await trx.run(sql`update operator_tokens set revoked_at = ${now} where id = ${row.id}`);
    const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
    await recordAudit(trx, { at: this.now, by, action: 'operator.revoke', target: row.id, before, after });
    return toToken({ ...row, revoked_at: now });
  }
}

type TokenRow = Tables['operator_tokens'] & { issued_by: string | null };

/** Tokens with the actor of their creation, which the audit has. */
const TOKENS = sql`
  select operator_tokens.*, (
    select actor from audit_entries where target = operator_tokens.id and action = 'operator.create' order by id limit 1
  ) as issued_by from operator_tokens`;

function toToken(row: TokenRow): OperatorToken {
  const { id, name, prefix, role, issued_by: issuedBy } = row;
  const moments = { createdAt: row.created_at, expiresAt: row.expires_at, revokedAt: row.revoked_at };
  return { id, name, prefix, role, issuedBy, ...moments };
}
