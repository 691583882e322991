import type { AuditAction, Operator } from '../../catalog/audit.ts';
import type { Role } from '../../catalog/operator/access.ts';
import type { PetStatus } from '../../catalog/pet.ts';
import type { PlanName } from '../../catalog/plan.ts';
import type { Change } from '../../catalog/storage.ts';
import type { UsagePeriod } from '../../catalog/usage.ts';

/** Rows per statement, well below the number of parameters that an engine binds. */
export const ROWS_PER_STATEMENT = 100;

export type OutcomeCounts = Record<'served' | 'client_errors' | 'refused' | 'server_errors', number>;

/** The engine's name for 64-bit integers; in SQLite only an `integer` primary key is the rowid. */
export type Int64 = 'integer' | 'bigint';

type Created = { created_at: number; created_by: string };

/**
 * The tables as the newest migration leaves them. Moments are Unix seconds. Five tables also have a column `checksum`,
 * which only releases up to 0.2.0 read: they take null as intact, so every change of a row sets it to null.
 */
export interface Tables {
  categories: {
    id: number;
    name: string;
    description: string | null;
  } & Created;
  /** One row: how many there are, their bytes in the list (`categoryBytes`), and the highest id ever assigned. */
  category_counter: { last_id: number; count: number; bytes: number };
  /** The latest renames and deletions: the version of `categories` in `change_versions` that each raised. */
  category_changes: { version: number; category_id: number };
  /** The same of keys: which key each of their latest changes changed. */
  key_changes: { version: number; key_id: string };
  pets: {
    id: number;
    name: string;
    category_id: number;
    status: PetStatus;
    /** The stock, in the same row as the status because the two change together. */
    quantity: number;
  } & Created;
  orders: {
    id: number;
    pet_id: number;
    quantity: number;
    ship_date: string | null;
  } & Created;
  /** The entries of the audit by keys: changes of orders and pets. `before` and `after` are JSON. */
  changes: {
    id: number;
    kind: 'order' | 'pet';
    target: number;
    at: number;
    /** The second part of the action, as `place` is of `order.place`. */
    verb: string;
    key_id: string;
    request_id: string | null;
    /** The SHA-256 of the `Idempotency-Key` of a create. */
    idempotency_key: string | null;
    before: string;
    after: string;
  };
  /** The highest id ever assigned in each of the other tables with ascending ids. */
  last_ids: { kind: 'pets' | 'orders' | 'audit_entries'; last_id: number };
  /** The outcomes of work that is done once, for repeats of it. */
  outcomes: {
    /** That of the API key or operator token; empty for attempts of the service. */
    key_id: string;
    /** The SHA-256 of the caller's key, or of the attempt. */
    idempotency_key: string;
    fingerprint: string;
    /** JSON; empty for work without a result. */
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
    paused_at: number | null;
    owner: string | null;
    /** As `searchedText` makes it; null or out of date of a key with a checksum. */
    search: string | null;
    /** The number of times that bans of the key were lifted, or its minute was reset. */
    epoch: number;
    /** The last resets of its windows. */
    minute_reset: number;
    day_reset: number;
  };
  api_key_secrets: {
    hash: string;
    key_id: string;
    prefix: string;
    created_at: number;
    ends_at: number | null;
  };
  window_counts: { key_id: string } & Record<'minute_ends' | 'minute_used' | 'minute_reset', number> &
    Record<'day' | 'day_used' | 'day_reset', number>;
  bans: {
    key_id: string;
    started_at: number;
    ends_at: number;
    level: number;
    reason: string;
    lifted_at: number | null;
  };
  /** Minutes by key. Hours and days are of 0.1.0, which are purged here. */
  usage: {
    period: UsagePeriod;
    starts_at: number;
    key_id: string;
    first_at: number;
    last_at: number;
  } & OutcomeCounts;
  /** Hours by key and route, which become days. */
  key_route_usage: Tables['usage'] & { route: string };
  /** Requests by route and duration, which releases up to 0.3.0 write and read; purged here. */
  route_usage: { period: UsagePeriod; starts_at: number; route: string } & OutcomeCounts;
  /** The entries by operators and the service. `before` and `after` are JSON. */
  audit_entries: {
    id: number;
    at: number;
    actor: string;
    via: Operator['via'];
    /** The system's user beside an actor whose name was given on the command line. */
    system_user: string | null;
    action: AuditAction;
    target: string;
    before: string;
    after: string;
  };
  operator_tokens: {
    id: string;
    hash: string;
    name: string;
    prefix: string;
    role: Role;
    created_at: number;
    expires_at: number | null;
    revoked_at: number | null;
  };
  console_logins: { hash: string; actor: string; role: Role; ends_at: number };
  console_sessions: {
    hash: string;
    id: string;
    actor: string;
    role: Role;
    opened_at: number;
    ends_at: number;
    last_seen_at: number;
  };
  /** `backed_up_at` is there in a backup; `access_unchecked` is the moment of a backup whose access nothing checked. */
  database_properties: { name: 'id' | 'backed_up_at' | 'access_unchecked'; value: string };
  /** A version per kind of change, raised with each one, so that other processes know what to reload. */
  change_versions: { kind: Change; version: number };
}
