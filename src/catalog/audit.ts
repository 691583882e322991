/** Who makes a change, and how: a system user on the command line, or a session of the console, a token of the API. */
export interface Operator {
  readonly actor: string;
  readonly via: 'cli' | 'console' | 'api';
}

/** The audited actions of operators. */
export const AUDIT_ACTIONS = [
  'key.create',
  'key.update',
  'key.rotate',
  'key.end-graces',
  'key.revoke',
  'ban.lift',
  'category.rename',
  'category.delete',
  'categories.import',
  'operator.create',
  'operator.revoke',
  'console.open',
  'console.revoke',
  'clock.turn',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** One change by an operator, written in the same transaction as the change and never altered. */
export interface AuditEntry {
  /** Ascends with every entry. */
  readonly id: number;
  /** Unix seconds. */
  readonly at: number;
  readonly operator: Operator;
  readonly action: AuditAction;
  /** The id of what was changed. */
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
  readonly before?: number;
  /** Only entries with a greater id, and oldest first. */
  readonly after?: number;
  readonly target?: string;
  readonly actor?: string;
  readonly action?: string;
  /** Part of what was changed, before or after, regardless of case. */
  readonly text?: string;
}

export interface AuditStorage {
  /** A page of the audit log, newest first; of one target, actor or action if it is named. */
  list(query: AuditQuery): Promise<AuditEntry[]>;
}
