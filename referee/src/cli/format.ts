import type { Command } from 'commander';
import { Mistake } from '../mistake.ts';
import { junitOf, type Suite, tapOf } from '../report/write.ts';

/** The form in which verdicts are written; text unless another one is asked for. */
export interface Format {
  readonly json?: true;
  readonly junit?: true;
  readonly tap?: true;
}

/** Adds the options of a format. */
export function withFormats(command: Command): Command {
  return command.option('--json', 'print JSON').option('--junit', 'print JUnit XML').option('--tap', 'print TAP');
}

/** Throws `Mistake` if more than one format is asked for. */
export function checkFormat({ json, junit, tap }: Format): void {
  if ([json, junit, tap].filter(Boolean).length > 1) {
    throw new Mistake('--json, --junit and --tap cannot be combined');
  }
}

/** Verdicts in the format, other than JSON; undefined for text. */
export function written(suites: readonly Suite[], { junit, tap }: Format): string | undefined {
  if (junit) return junitOf(suites);
  return tap ? tapOf(suites) : undefined;
}
