import { parseScript, stepText } from '../../rehearsal/script/script.ts';
import { outcomeOf, type Report, ruleNamed } from '../../rehearsal/verdict/report.ts';
import { readOptionFile, UsageError } from '../invocation.ts';

/** A rule that is known to be broken under a script. */
interface ExpectedFailure {
  readonly line: number;
  readonly text: string;
  readonly script: string;
  readonly rule: string;
}

/** The failures that a file expects: a script and a rule in each line, comments after a `#`. */
export class ExpectedFailures {
  readonly #file: string;
  readonly #failures: readonly ExpectedFailure[];

  private constructor(file: string, failures: readonly ExpectedFailure[]) {
    this.#file = file;
    this.#failures = failures;
  }

  static readonly none = new ExpectedFailures('', []);

  /** Reads a file. Throws `UsageError` with the line that is wrong, or if it cannot be read. */
  static read(file: string): ExpectedFailures {
    const lines = readOptionFile('--expected', file).toString().split(/\r?\n/);
    const failures = lines.flatMap((written, index) => {
      const line = written.replace(/#.*$/, '').trim();
      return line === '' ? [] : [parse(line, { place: `${file}:${index + 1}`, line: index + 1 })];
    });
    return new ExpectedFailures(file, failures);
  }

  known(script: string): ReadonlySet<string> {
    const wanted = canonical(script);
    return new Set(this.#failures.filter((failure) => failure.script === wanted).map(({ rule }) => rule));
  }

  /** A sentence for each line whose script was tried, and whose rule was not broken. */
  stale(reports: readonly Report[]): string[] {
    const tried = reports.filter((report) => outcomeOf(report) !== 'untried');
    return this.#failures.flatMap(({ line, text, script, rule }) => {
      const same = tried.filter((report) => canonical(report.script) === script);
      const isBroken = same.some(({ rules }) => rules.some((each) => each.rule === rule && each.verdict === 'broken'));
      if (same.length === 0 || isBroken) return [];
      return [`${this.#file}:${line}: "${text}" is stale: ${rule} was not broken; remove the line`];
    });
  }
}

function parse(text: string, { place, line }: { place: string; line: number }): ExpectedFailure {
  const [script = '', name = '', ...rest] = text.split(/\s+/);
  const rule = ruleNamed(name);
  if (!rule || rest.length > 0) {
    throw new UsageError(`${place}: "${text}" is no script and rule, such as "lost,ok retries-safely"`);
  }
  try {
    return { line, text, script: canonical(script), rule };
  } catch (error) {
    throw new UsageError(`${place}: ${(error as Error).message}`);
  }
}

/** The same text for scripts with the same steps. Throws `validation_failed`. */
function canonical(script: string): string {
  return parseScript(script).map(stepText).join(',');
}
