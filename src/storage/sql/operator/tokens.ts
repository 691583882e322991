import sql from 'sql-template-tag';
import type { Operator } from '../../../catalog/audit.ts';
import { type OperatorToken, ROLES, type TokenStorage } from '../../../catalog/operator/token.ts';
import { recordAudit } from '../audit.ts';
import { insertInto } from '../statement.ts';
import type { Tables } from '../tables.ts';
import { SqlNoun } from '../transactions.ts';

/** The tokens of the operator API in SQL. */
export class SqlTokens extends SqlNoun implements TokenStorage {
  insert(token: OperatorToken, hash: string, by: Operator): Promise<void> {
    return this.transactions.transact(async (trx) => {
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
    return this.transactions.transact(async (trx) => {
      const [row] = await trx.all<Tables['operator_tokens']>(sql`select * from operator_tokens where id = ${id}`);
      if (!row || row.revoked_at !== null) return row && toToken(row);
      await trx.run(sql`update operator_tokens set revoked_at = ${now} where id = ${id}`);
      const [before, after] = [{ revokedAt: null }, { revokedAt: now }];
      await recordAudit(trx, { at: this.now, by, action: 'operator.revoke', target: id, before, after });
      return toToken({ ...row, revoked_at: now });
    });
  }
}

function toToken(row: Tables['operator_tokens']): OperatorToken {
  const { id, name, prefix, role, created_at, expires_at, revoked_at } = row;
  return { id, name, prefix, role, createdAt: created_at, expiresAt: expires_at, revokedAt: revoked_at };
}
