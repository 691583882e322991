/**
 * Decides by the present state of a resource whether it may be changed: throws `precondition_failed` if not. Storage
 * calls it in the transaction that changes, before anything is written.
 */
export type Precondition<T> = (present: T) => void;
