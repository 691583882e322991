/** What was found when something was looked over, and what to do about it unless it is well. */
export type Finding =
  | { readonly check: string; readonly status: 'ok'; readonly finding: string }
  | {
      readonly check: string;
      /** `warning`: it runs, but not as it should; `problem`: it does not, or not safely. */
      readonly status: 'warning' | 'problem';
      readonly finding: string;
      readonly advice: string;
    };

const CLOCK_SECONDS_MAX = 2;

/** Compares the clock of something else with the clock here; both in Unix seconds. */
export function compareClocks(whose: string, theirs: number, ours: number): Finding {
  const apart = Math.abs(theirs - ours);
  const finding = `The clock here and that of ${whose} are ${apart.toFixed(1)} s apart`;
  if (apart <= CLOCK_SECONDS_MAX) return { check: 'clock', status: 'ok', finding };
  return {
    check: 'clock',
    status: 'warning',
    finding,
    advice: 'synchronise both by NTP: limits and headers tell time',
  };
}
