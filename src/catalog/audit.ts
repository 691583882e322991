/** The ways of operators, of the service itself, and of the API keys of customers. */
export const WAYS = ['cli', 'console', 'proxy', 'api', 'service', 'key'] as const;

/**
 * Who makes a change, and how: a system user on the command line, a session of the console, a sign-in by the proxy
 * in front, a token of the API, the service itself by the name of its machine, or an API key by its id.
 */
export interface Operator {
  readonly actor: string;
  readonly via: (typeof WAYS)[number];
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
  'category.create',
  'category.rename',
  'category.delete',
  'categories.import',
  'categories.delete',
  'operator.create',
  'operator.revoke',
  'console.open',
  'console.revoke',
  'order.place',
  'order.cancel',
  'pet.create',
  'pet.update',
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

/** The actions and events of earlier releases, whose entries are there still. */
export const PAST_ACTIONS = ['console.offer', 'clock.turn', 'descriptors_exhausted', 'descriptors_freed'] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number] | (typeof SERVICE_EVENTS)[number];

/** An event in the life of the service; `at` in Unix seconds. */
export interface ServiceEvent {
  readonly at: number;
  readonly event: (typeof SERVICE_EVENTS)[number];
  readonly members: Readonly<Record<string, unknown>>;
}

/** One change, written in the transaction of the change and never altered; or a service event. */
export interface AuditEntry {
  /** Its number; that of an entry by a key has `k` before it, that of a category's row `c`. Each kind ascends. */
  readonly id: string;
  /** Unix seconds. */
  readonly at: number;
  readonly operator: Operator;
  readonly action: AuditAction;
  readonly target: string;
  /** The request of a key, and the SHA-256 of its `Idempotency-Key`; null where there was none. */
  readonly requestId?: string | null;
  readonly idempotencyKey?: string | null;
  /** The changed members, before and after; null where there was nothing. Never a secret. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Filters, which combine. */
export interface AuditQuery {
  /** Unix seconds. */
  readonly since: number;
  /** Only entries before this moment. */
  readonly until?: number | undefined;
  readonly limit: number;
  /** Only entries older than this one. */
  readonly before?: Pick<AuditEntry, 'at' | 'id'> | undefined;
  /** Only entries by operators with a greater id, and oldest first. */
  readonly after?: string | undefined;
  readonly target?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly via?: Operator['via'] | undefined;
  /** Only changes by this key, or by the keys that this customer owns. */
  readonly key?: string | undefined;
  readonly owner?: string | undefined;
  /** A text before or after the change, regardless of case. */
  readonly text?: string | undefined;
}

/** An order, a pet or a category with its entries. */
export interface History<T> {
  /** As it is; as it last was, if it was removed. */
  readonly resource: T;
  /** True if it was cancelled or deleted: the public API has it no longer. */
  readonly isRemoved: boolean;
  /** The oldest first: its creation, and the latest changes. */
  readonly entries: readonly AuditEntry[];
}

export interface AuditStorage {
  /**
   * A page of the audit, newest first. Entries by keys are listed only where `via`, `key`, `owner` or `target` asks for
   * them, categories that a key created where `key` or `owner` does, service events where `SERVICE_TARGET` is named.
   */
  list(query: AuditQuery): Promise<AuditEntry[]>;
  /** The ten latest changes by keys with a request id or an `Idempotency-Key`, newest first. */
  search(text: string): Promise<AuditEntry[]>;
  /** Adds a service event; the latest thousand are kept. */
  addEvent(event: ServiceEvent, by: Operator): Promise<void>;
  /** Deletes entries by keys that are so many seconds old. */
  purge(keptSeconds: number): Promise<void>;
}
