/** A page of a list whose ids ascend. */
export interface PageQuery {
  /** Only ids above this one. */
  readonly after: number;
  readonly limit: number;
}
