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

/** The finding of what does not work, or not safely. */
export function problem(check: string, finding: string, advice: string): Finding {
  return { check, status: 'problem', finding, advice };
}

/** A backup is overdue after this many intervals. */
export const BACKUP_INTERVALS_MAX = 2;
const CLOCK_SECONDS_MAX = 2;

/** Compares a server's clock with the local one; both in Unix seconds. */
export function compareClocks(server: string, remote: number, local: number): Finding {
  const skew = Math.abs(remote - local);
  const finding = `The clock here and that of ${server} are ${skew.toFixed(1)} s apart`;
  if (skew <= CLOCK_SECONDS_MAX) return ok('clock', finding);
  return warning('clock', finding, 'synchronise both by NTP: limits and headers depend on the time');
}
