import { type Style, type Suite, textOf, type Verdict } from '../report/write.ts';
import { type Judged, judge, RULES, type RuleName } from './judge.ts';
import type { CommandEnd, Play } from './note.ts';
import { parseScript } from './script.ts';

const EVIDENCE_MAX = 20;
const WORDS = { passed: 'kept', failed: 'broken', error: 'in error', skipped: 'not met' } as const;
const RUN_WORDS = { ...WORDS, skipped: 'known' };
const KINDS = { kept: 'passed', broken: 'failed', 'not met': 'skipped' } as const;

/** The exit code for each outcome; the first outcome that fits any play of a run is that of the run. */
export const EXIT_CODES = { untried: 2, broken: 1, 'timed out': 2, failed: 4, unreached: 3, kept: 0 } as const;

export type Outcome = keyof typeof EXIT_CODES;

/** The verdict on a play, with everything that was noted. */
export type Report = ReturnType<typeof reportOf>;

/** Faults that do not count. */
export interface Allowed {
  readonly failure?: boolean;
  readonly partial?: boolean;
  readonly known?: ReadonlySet<string>;
}

/** A report, and the faults in it that do not count. */
export interface JudgedReport {
  readonly report: Report;
  readonly allowed: Allowed;
}

/** Judges a play. */
export function reportOf(play: Play) {
  const { script, reached, requests, command, failure } = play;
  const { rules, remarks } = judge(play);
  return {
    script,
    reached,
    steps: parseScript(script).length,
    requests: requests.map((note, index) => ({ number: index + 1, ...note })),
    rules: rules.map(({ rule, verdict, findings }) => ({ rule, verdict, evidence: evidenceOf(findings) })),
    remarks,
    ...(failure !== undefined && { failure }),
    ...(command && { command }),
  };
}

function evidenceOf(findings: Judged['findings']): string[] {
  const shown = findings.slice(0, EVIDENCE_MAX).map(({ text }) => text);
  return findings.length > EVIDENCE_MAX ? [...shown, `${findings.length - EVIDENCE_MAX} more`] : shown;
}

/** The outcome of a play. */
export function outcomeOf(report: Report, { failure, partial, known }: Allowed = {}): Outcome {
  const { rules, reached, steps, command } = report;
  if (report.failure !== undefined) return 'untried';
  if (rules.some(({ rule, verdict }) => verdict === 'broken' && !known?.has(rule))) return 'broken';
  if (command?.timedOut) return 'timed out';
  if (command && command.exit !== 0 && !failure) return 'failed';
  return reached < steps && !partial ? 'unreached' : 'kept';
}

/** The reports of a run for a terminal: a line for each script, then what is broken, and what was known to be so. */
export function runText(judged: readonly JudgedReport[], style: Style): string {
  const verdicts = judged.flatMap(({ report, allowed }) => {
    const shown = suiteOf(report, allowed).verdicts.filter(
      ({ id, verdict }) => verdict !== 'skipped' || allowed.known?.has(id),
    );
    return shown.map((verdict) => ({ ...verdict, id: `${report.script}.${verdict.id}` }));
  });
  const remarks = judged.flatMap(({ report }) => report.remarks.map((remark) => `${report.script}: ${remark}`));
  const name = `Judged under ${judged.length === 1 ? 'one script' : `${judged.length} scripts`}`;
  return [textOf({ name, verdicts }, { style, words: RUN_WORDS }), ...remarks].join('\n\n');
}

/** The number of steps that were spent. */
function reachedText({ script, reached }: Pick<Report, 'script' | 'reached'>): string {
  return `${reached} of ${parseScript(script).length} steps were reached`;
}

/** The report for the writer of verdicts: the script, the command, each rule; its name is the same in each run. */
export function suiteOf(report: Report, allowed: Allowed = {}): Suite {
  const { script, rules, command } = report;
  const verdicts = [
    scriptVerdict(report, allowed),
    ...(command ? [commandVerdict(command, allowed)] : []),
    ...rules.map((judged) => ruleVerdict(judged, allowed)),
  ];
  return { name: `play ${script}`, verdicts };
}

function scriptVerdict(report: Report, { partial }: Allowed): Verdict {
  const about = { id: 'script', sentence: 'Every step of the script is reached', details: [] };
  if (report.failure !== undefined) return { ...about, verdict: 'error', message: report.failure };
  if (report.reached === report.steps) return { ...about, verdict: 'passed', message: '' };
  return { ...about, verdict: partial ? 'skipped' : 'error', message: reachedText(report) };
}

function commandVerdict({ exit, timedOut }: CommandEnd, { failure }: Allowed): Verdict {
  const about = { id: 'command', sentence: 'The command ends well', details: [] };
  if (timedOut) return { ...about, verdict: 'error', message: 'The command did not end in time, and was stopped' };
  if (exit === 0) return { ...about, verdict: 'passed', message: '' };
  const message = exit === null ? 'A signal ended the command' : `The command exited with ${exit}`;
  return { ...about, verdict: failure ? 'skipped' : 'failed', message };
}

function ruleVerdict({ rule, verdict, evidence }: Report['rules'][number], { known }: Allowed): Verdict {
  const [first = '', ...details] = evidence;
  const about = { id: rule, sentence: RULES[rule].asks };
  if (verdict === 'not met') return { ...about, verdict: 'skipped', message: 'The script never led there', details };
  if (verdict === 'broken' && known?.has(rule)) {
    return { ...about, verdict: 'skipped', message: `Known to be broken: ${first}`, details };
  }
  return { ...about, verdict: KINDS[verdict], message: first, details };
}

/** The rule of this name. */
export function ruleNamed(name: string): RuleName | undefined {
  return (Object.keys(RULES) as RuleName[]).find((rule) => rule === name);
}
