/** One judged rule, of a server or of a client. */
export interface Verdict {
  readonly id: string;
  /** `skipped`: not judged; `error`: could not be tried, though it should have been. */
  readonly verdict: 'passed' | 'failed' | 'skipped' | 'error';
  readonly sentence: string;
  /** One line: the fault that was seen, or the reason why it was not judged; empty for `passed`. */
  readonly message: string;
  readonly details: readonly string[];
}

export interface Suite {
  readonly name: string;
  readonly verdicts: readonly Verdict[];
}

/** The number of verdicts of a kind. */
export function countOf(verdicts: readonly Pick<Verdict, 'verdict'>[], wanted: Verdict['verdict']): number {
  return verdicts.filter(({ verdict }) => verdict === wanted).length;
}
