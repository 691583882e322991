/** Selects a page of a list with ascending ids. */
export interface PageQuery {
  /** Only ids above this one. */
  readonly after: number;
  readonly limit: number;
}
