import type { Operator } from './audit.ts';

/** Orders are placed, shipped and cancelled, pets created and changed, categories created, renamed and deleted. */
export const HISTORY_ACTIONS = ['placed', 'shipped', 'cancelled', 'created', 'changed', 'renamed', 'deleted'] as const;
export type HistoryAction = (typeof HISTORY_ACTIONS)[number];

/** One change of an order, a pet or a category. */
export interface HistoryLine {
  /** Unix seconds. */
  readonly at: number;
  readonly action: HistoryAction;
  /** The API key that made the change; absent for one by an operator, and for `shipped`. */
  readonly keyId?: string;
  /** The operator who made it; of an import only the way is known. */
  readonly operator?: Pick<Operator, 'via'> & Partial<Operator>;
  /** Null where it is not kept: for changes by operators, and the creation of a category. */
  readonly requestId: string | null;
  /** The changed members, before and after; null where there was nothing, or it is not known. */
  readonly before: object | null;
  readonly after: object | null;
}

/** An order, a pet or a category, and its changes. */
export interface History<T> {
  /** As it is; as it last was, if it was removed. */
  readonly resource: T;
  /** True if it was cancelled or deleted: the public API has it no longer. */
  readonly isRemoved: boolean;
  /** The oldest first: its creation, and the latest changes. */
  readonly lines: readonly HistoryLine[];
}

/** An order or a pet that a request changed. */
export interface FoundChange {
  readonly kind: 'order' | 'pet';
  readonly id: number;
  readonly action: HistoryAction;
}

export interface HistoryStorage {
  /**
   * The orders and pets that a request changed, by its request id, or made, by its `Idempotency-Key`; the latest first,
   * ten at most.
   */
  search(text: string): Promise<FoundChange[]>;
  /** Deletes changes older than two years. */
  purge(): Promise<void>;
}
