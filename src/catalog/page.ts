/** A place in a list that is ordered by a number and an id. */
export interface Place {
  readonly number: number;
  readonly id: string;
}

/** Selects a page of a list with ascending ids. */
export interface PageQuery {
  /** Only ids above this one. */
  readonly after: number;
  readonly limit: number;
}
