/** Throws `precondition_failed` if what is there may not be changed. Called in the transaction, before it writes. */
export type Precondition<T> = (present: T) => void;
