/**
 * Who makes a change, and how: a system user on the command line, a session of the console, a sign-in by the proxy
 * in front, a token of the API, or the service itself by the name of its machine.
 */
export interface Operator {
  readonly actor: string;
  readonly via: 'cli' | 'console' | 'proxy' | 'api' | 'service';
  /** The system's user, where the actor is a name that was given. */
  readonly user?: string;
}

export const AUDIT_ACTIONS = [
  'key.create',
  'key.update',
  'key.rotate',
  'key.end-graces',
  'key.revoke',
  'key.pause',
  'key.resume',
  'key.reset',
  'ban.lift',
  'category.rename',
  'category.delete',
  'categories.import',
  'operator.create',
  'operator.revoke',
  'console.open',
  'console.revoke',
] as const;

/** The target of entries about the service as a whole. */
export const SERVICE_TARGET = 'service';
/** Events of the service as a whole. The audit keeps them beside the changes, with the members as `after`. */
export const SERVICE_EVENTS = [
  'started',
  'stopping',
  'storage_failing',
  'storage_recovered',
  'limiter_degraded',
  'limiter_recovered',
  'backup_made',
  'backup_restored',
  'backup_failed',
  'database_restored',
  'access_checked',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number] | (typeof SERVICE_EVENTS)[number];

/** An event in the life of the service; `at` in Unix seconds. */
export interface ServiceEvent {
  readonly at: number;
  readonly event: (typeof SERVICE_EVENTS)[number];
  readonly members: Readonly<Record<string, unknown>>;
}

/** One change by an operator, written in the transaction of the change and never altered; or a service event. */
export interface AuditEntry {
  /** Ascends with every entry. */
  readonly id: number;
  /** Unix seconds. */
  readonly at: number;
  readonly operator: Operator;
  readonly action: AuditAction;
  readonly target: string;
  /** The changed members, before and after; null where there was nothing. Never a secret. */
  readonly before: unknown;
  readonly after: unknown;
}

export interface AuditQuery {
  /** Unix seconds. */
  readonly since: number;
  readonly limit: number;
  /** Only entries with a smaller id. */
  readonly before?: number | undefined;
  /** Only entries with a greater id, and oldest first. */
  readonly after?: number | undefined;
  readonly target?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** A text before or after the change, regardless of case. */
  readonly text?: string | undefined;
}

export interface AuditStorage {
  /**
   * A page of the audit log, newest first; of one target, actor or action if it is named. Service events are listed
   * only where `SERVICE_TARGET` is named.
   */
  list(query: AuditQuery): Promise<AuditEntry[]>;
  /** Adds a service event; the latest thousand are kept. */
  addEvent(event: ServiceEvent, by: Operator): Promise<void>;
}
