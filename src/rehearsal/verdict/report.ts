import { type Html, html } from '../../http/docs/html.ts';
import { parseScript } from '../script/script.ts';
import { type Judged, judge, RULES } from './judge.ts';
import type { KeyRehearsal } from './note.ts';

const RULE_COLUMNS = 16;
/** Sentences of evidence for each rule. */
const EVIDENCE_MAX = 20;

/** What a rehearsal showed. */
export type Report = ReturnType<typeof reportOf>;

/** Judges a rehearsal. */
export function reportOf({ keyId, script, reached, notes }: KeyRehearsal) {
  return {
    keyId,
    script,
    reached,
    steps: parseScript(script).length,
    requests: notes.map((note, index) => ({ number: index + 1, ...note })),
    rules: judge(notes).map(({ rule, verdict, findings }) => ({ rule, verdict, evidence: evidenceOf(findings) })),
  };
}

function evidenceOf(findings: Judged['findings']): string[] {
  const shown = findings.slice(0, EVIDENCE_MAX).map(({ text }) => text);
  return findings.length > EVIDENCE_MAX ? [...shown, `${findings.length - EVIDENCE_MAX} more`] : shown;
}

/** The exit code of a report: 1 if a rule is broken, else 3 if a step was never reached, else 0. */
export function exitCodeOf({ rules, reached, steps }: Report): number {
  if (rules.some(({ verdict }) => verdict === 'broken')) return 1;
  return reached < steps ? 3 : 0;
}

/** The report for a terminal. */
export function reportText(report: Report): string {
  const rules = report.rules.flatMap(({ rule, verdict, evidence }) => [
    `  ${rule.padEnd(RULE_COLUMNS)}${verdict}`,
    ...evidence.map((sentence) => `    ${sentence}`),
  ]);
  const { keyId, script, requests } = report;
  return [
    `The rehearsal of ${keyId}: ${script}`,
    `${reachedText(report)}, by ${requests.length} requests`,
    ...rules,
  ].join('\n');
}

/** How far the script was followed. */
export function reachedText({ reached, steps }: Pick<Report, 'reached' | 'steps'>): string {
  return `${reached} of ${steps} steps were reached`;
}

/** The report as JUnit XML: a test case for each rule, and one for the script. */
export function reportJunit(report: Report): string {
  const { keyId, script, rules, reached, steps } = report;
  const suite = `rehearsal.${keyId}`;
  const count = (verdict: Judged['verdict']) => rules.filter((each) => each.verdict === verdict).length;
  const unreached = reached < steps ? html`<error message="${reachedText(report)}">${script}</error>` : '';
  return html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
<testsuite name="${suite}" tests="${rules.length + 1}" failures="${count('broken')}" errors="${unreached ? 1 : 0}" skipped="${count('not met')}">
<testcase classname="${suite}" name="script">${unreached}</testcase>
${rules.map((judged) => html`<testcase classname="${suite}" name="${judged.rule}">${outcomeOf(judged)}</testcase>\n`)}</testsuite>
</testsuites>`.text;
}

function outcomeOf({ rule, verdict, evidence }: Report['rules'][number]): Html {
  if (verdict === 'kept') return html``;
  if (verdict === 'not met') return html`<skipped message="The script never led there"/>`;
  return html`<failure message="${RULES[rule]?.asks ?? rule}">${evidence.join('\n')}</failure>`;
}
