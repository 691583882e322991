import { parseScript, stepText } from '../client/script.ts';
import { outcomeOf, type Report, ruleNamed } from '../client/verdict.ts';
import { Mistake } from '../mistake.ts';
import { readOptionFile } from './invocation.ts';

/** A rule that is known to be broken under a script, and the line that says so. */
interface ExpectedFailure {
  readonly place: string;
  readonly text: string;
  readonly script: string;
  readonly rule: string;
}

/**
 * Reads the failures that a file expects: a script and a rule in each line, comments after a `#`. Throws `Mistake`
 * with the line that is wrong, or if it cannot be read.
 */
export function readExpected(file: string): ExpectedFailure[] {
  const lines = readOptionFile('--expected', file).toString().split(/\r?\n/);
  return lines.flatMap((line, index) => {
    const text = line.replace(/#.*$/, '').trim();
    return text === '' ? [] : [parse(text, `${file}:${index + 1}`)];
  });
}

/** The rules that are known to be broken under a script. */
export function knownUnder(script: string, expected: readonly ExpectedFailure[]): ReadonlySet<string> {
  const wanted = canonical(script);
  return new Set(expected.filter((failure) => failure.script === wanted).map(({ rule }) => rule));
}

/** A sentence for each line whose script was tried, and whose rule was not broken. */
export function staleLines(expected: readonly ExpectedFailure[], reports: readonly Report[]): string[] {
  const tried = reports.filter((report) => outcomeOf(report) !== 'untried');
  return expected.flatMap(({ place, text, script, rule }) => {
    const same = tried.filter((report) => canonical(report.script) === script);
    const isBroken = same.some(({ rules }) => rules.some((each) => each.rule === rule && each.verdict === 'broken'));
    if (same.length === 0 || isBroken) return [];
    return [`${place}: "${text}" is stale: ${rule} was not broken; remove the line`];
  });
}

function parse(text: string, place: string): ExpectedFailure {
  const [script = '', name = '', ...rest] = text.split(/\s+/);
  const rule = ruleNamed(name);
  if (!rule || rest.length > 0) {
    throw new Mistake(`${place}: "${text}" is no script and rule, such as "lost,ok retries-safely"`);
  }
  try {
    return { place, text, script: canonical(script), rule };
  } catch (error) {
    throw new Mistake(`${place}: ${(error as Error).message}`);
  }
}

/** The same text for scripts with the same steps. Throws `Mistake`. */
function canonical(script: string): string {
  return parseScript(script).map(stepText).join(',');
}
