import type { Transaction } from 'kysely';
import type { AuditAction, Operator } from '../../catalog/audit.ts';
import type { PetStatus } from '../../catalog/pet.ts';
import type { PlanName } from '../../catalog/plan.ts';
import type { Change } from '../../catalog/storage.ts';
import type { UsagePeriod } from '../../catalog/usage.ts';

/** Rows to a statement, well below what an engine binds at once. */
export const ROWS_PER_STATEMENT = 100;

/** The engine's name for whole numbers up to 2^63; in SQLite only `integer` makes a primary key the row's own number. */
export type Int64 = 'integer' | 'bigint';

/** The tables as the newest migration leaves them. Moments are Unix seconds. */
export interface Tables {
  categories: { id: number; name: string; description: string | null; created_at: number; created_by: string };
  /** One row: how many categories there are, and the highest id ever given, so that none is given twice. */
  category_counter: { last_id: number; count: number };
  pets: {
    id: number;
    name: string;
    category_id: number;
    status: PetStatus;
    /** The stock; it stands beside the status because the two move together. */
    quantity: number;
    created_at: number;
    created_by: string;
  };
  orders: {
    id: number;
    pet_id: number;
    quantity: number;
    ship_date: string | null;
    created_at: number;
    created_by: string;
  };
  /** The highest id ever given in each of the other tables that have such ids. */
  last_ids: { kind: 'pets' | 'orders' | 'audit_entries'; last_id: number };
  /** What creates with an Idempotency-Key gave, for their retries. */
  create_outcomes: {
    key_id: string;
    idempotency_key: string;
    fingerprint: string;
    resource: string;
    created_at: number;
  };
  api_keys: {
    id: string;
    name: string;
    environment: string;
    plan: PlanName;
    per_minute: number;
    per_day: number;
    scopes: string;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
  };
  api_key_secrets: { hash: string; key_id: string; prefix: string; created_at: number; ends_at: number | null };
  window_counts: { key_id: string; minute_ends: number; minute_used: number; day: number; day_used: number };
  bans: {
    key_id: string;
    started_at: number;
    ends_at: number;
    level: number;
    reason: string;
    lifted_at: number | null;
  };
  usage: {
    period: UsagePeriod;
    starts_at: number;
    key_id: string;
    served: number;
    client_errors: number;
    refused: number;
    server_errors: number;
    first_at: number;
    last_at: number;
  };
  /** `before` and `after` are JSON. */
  audit_entries: {
    id: number;
    at: number;
    actor: string;
    via: Operator['via'];
    action: AuditAction;
    target: string;
    before: string;
    after: string;
  };
  console_logins: { hash: string; actor: string; ends_at: number };
  console_sessions: { hash: string; id: string; actor: string; opened_at: number; ends_at: number };
  /** A number for each kind of change, raised with it, so that other processes know what to read anew. */
  change_versions: { kind: Change; version: number };
}

/** The next id of a table, above all that it ever gave: a row that was deleted does not free its id. */
export async function nextId(trx: Transaction<Tables>, kind: Tables['last_ids']['kind']): Promise<number> {
  const { last_id } = await trx
    .selectFrom('last_ids')
    .select('last_id')
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow();
  await trx
    .updateTable('last_ids')
    .set({ last_id: last_id + 1 })
    .where('kind', '=', kind)
    .execute();
  return last_id + 1;
}
