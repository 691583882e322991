import type pg from 'pg';
import { type Finding, ok, problem, warning } from '../../telemetry/finding.ts';
import { adviceOn, isPooledByTransaction } from './connection.ts';
import { TRANSACTION_POOLER } from './pooler.ts';

const WORK = 'work';
const LOCK_NOT_AVAILABLE = '55P03';

/** The tables of which the role may not read and write every row. */
const FORBIDDEN = `
  select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' and not (
    has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert') and
    has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete'))
  order by relname`;

/** Tries what a service does on a connection, and rolls it back. `isMigrated`: its tables are there and up to date. */
export async function tryWork(client: pg.Client, url: string, isMigrated: boolean): Promise<Finding[]> {
  if (await isPooledByTransaction(url, client))
    return [problem(WORK, TRANSACTION_POOLER.finding, TRANSACTION_POOLER.advice)];
  const findings: Finding[] = [];
  const attempt = async (what: string, sql: string, grade = problem) => {
    try {
      await client.query(`begin; set local lock_timeout = 900; ${sql}`);
    } catch (error) {
      const { code = '', message } = error as pg.DatabaseError;
      const advice = adviceOn(error) ?? 'make the role of DATABASE_URL the owner of the database';
      if (code !== LOCK_NOT_AVAILABLE) findings.push(grade(WORK, `It cannot ${what}: ${message}`, advice));
    } finally {
      await client.query('rollback');
    }
  };
  await attempt('notify other instances', `select pg_notify('pet_catalog_doctor', ''); listen pet_catalog_doctor`);
  await attempt('create tables', 'create table pet_catalog_doctor (id int)', isMigrated ? warning : problem);
  if (isMigrated) {
    await attempt('write', 'update category_counter set last_id = last_id');
    for (const { name } of (await client.query<{ name: string }>(FORBIDDEN)).rows) {
      const advice = `grant select, insert, update, delete on ${name} to the role of DATABASE_URL`;
      findings.push(problem(WORK, `The role may not read and write the table ${name}`, advice));
    }
  }
  return findings.length > 0 ? findings : [ok(WORK, 'The role may do all that a service does')];
}
