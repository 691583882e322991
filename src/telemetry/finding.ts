/** The result of one check, with advice unless it passed. */
export type Finding =
  | { readonly check: string; readonly status: 'ok'; readonly finding: string }
  | {
      readonly check: string;
      /** `warning`: it works, but not well; `problem`: it does not work, or not safely. */
      readonly status: 'warning' | 'problem';
      readonly finding: string;
      readonly advice: string;
    };

/** A backup is overdue after this many intervals. */
export const BACKUP_INTERVALS_MAX = 2;
const CLOCK_SECONDS_MAX = 2;

/** Compares a server's clock with the local one; both in Unix seconds. */
export function compareClocks(server: string, remote: number, local: number): Finding {
  const skew = Math.abs(remote - local);
  const finding = `The clock here and that of ${server} are ${skew.toFixed(1)} s apart`;
  if (skew <= CLOCK_SECONDS_MAX) return { check: 'clock', status: 'ok', finding };
  return {
    check: 'clock',
    status: 'warning',
    finding,
    advice: 'synchronise both by NTP: limits and headers depend on the time',
  };
}
