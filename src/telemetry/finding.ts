/** The result of one check, with advice unless it passed. */
export type Finding =
  | { readonly check: string; readonly status: 'ok'; readonly finding: string }
  | {
      readonly check: string;
      readonly status: 'warning' | 'problem';
      readonly finding: string;
      readonly advice: string;
    };

/** The finding of a check that passed. */
export function ok(check: string, finding: string): Finding {
  return { check, status: 'ok', finding };
}

/** The finding of what works, but not well. */
export function warning(check: string, finding: string, advice: string): Finding {
  return { check, status: 'warning', finding, advice };
}

/** A problem or a risk. */
export function problem(check: string, finding: string, advice: string): Finding {
  return { check, status: 'problem', finding, advice };
}

/** A backup is overdue after this many intervals. */
export const BACKUP_INTERVALS_MAX = 2;
