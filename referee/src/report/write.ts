const KINDS = ['passed', 'failed', 'error', 'skipped'] as const;
const DETAIL_INDENT = '      ';

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

type Words = Readonly<Record<Verdict['verdict'], string>>;

const WORDS: Words = { passed: 'passed', failed: 'failed', error: 'in error', skipped: 'skipped' };

export interface Style {
  bad(text: string): string;
  good(text: string): string;
  faint(text: string): string;
}

/** No marks, for anything that is no terminal. */
export const PLAIN: Style = { bad: (text) => text, good: (text) => text, faint: (text) => text };

/** The marks of an ANSI terminal (ECMA-48, SGR). */
export const COLOURED: Style = {
  bad: (text) => `\x1b[31m${text}\x1b[39m`,
  good: (text) => `\x1b[32m${text}\x1b[39m`,
  faint: (text) => `\x1b[2m${text}\x1b[22m`,
};

/** One line of text in which nothing controls a terminal: C0, C1, separators and bidirectional marks become spaces. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ');
}

/**
 * A report for people: a line for each group of rules (by the part of the id before the dot), every failure with its
 * evidence, the reasons for what was not judged, and a summary. Rules that fail with one message stand together, with
 * the evidence of the first.
 */
export function textOf({ name, verdicts }: Suite, { style = PLAIN, words = WORDS } = {}): string {
  const groups = Map.groupBy(verdicts, ({ id }) => id.split('.', 1)[0] ?? id);
  const width = Math.max(0, ...[...groups.keys()].map((group) => group.length)) + 2;
  const lines = [...groups].map(([group, members]) => {
    const [first] = members;
    const counts = first && members.length === 1 ? words[first.verdict] : countsOf(members, words);
    return `  ${group.padEnd(width)}${members.some(isBad) ? style.bad(counts) : counts}`;
  });
  const skipped = verdicts.filter(({ verdict }) => verdict === 'skipped');
  const reasons = [...Map.groupBy(skipped, ({ message }) => message)].map(([message, members]) =>
    style.faint(`  ${words.skipped}: ${idsOf(members)}\n    ${printable(message)}`),
  );
  const failures = [...Map.groupBy(verdicts.filter(isBad), ({ message }) => message).values()];
  const isGood = failures.length === 0;
  const summary = `${countsOf(verdicts, words)} of ${verdicts.length} ${verdicts.length === 1 ? 'rule' : 'rules'}`;
  const parts = [printable(name), lines.join('\n'), ...failures.map((same) => failureText(same, { style, words }))];
  parts.push(reasons.join('\n'), isGood ? style.good(summary) : style.bad(summary));
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Reports as JUnit XML. */
export function junitOf(suites: readonly Suite[]): string {
  const written = suites.map(({ name, verdicts }) => {
    const kinds = ['failed', 'error', 'skipped'] as const;
    const [failures, errors, skipped] = kinds.map((kind) => countOf(verdicts, kind));
    const counts = `tests="${verdicts.length}" failures="${failures}" errors="${errors}" skipped="${skipped}"`;
    const cases = verdicts.map((verdict) => testCase(name, verdict));
    return [`<testsuite name="${escaped(name)}" ${counts}>`, ...cases, '</testsuite>'].join('\n');
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...written, '</testsuites>'].join('\n');
}

/** Reports as TAP, version 14. */
export function tapOf(suites: readonly Suite[]): string {
  const lines: string[] = [];
  let number = 0;
  for (const { name, verdicts } of suites) {
    lines.push(`# ${printable(name)}`);
    for (const { id, verdict, sentence, message, details } of verdicts) {
      number += 1;
      const skip = verdict === 'skipped' ? ` # SKIP ${tapText(message)}` : '';
      lines.push(`${verdict === 'failed' || verdict === 'error' ? 'not ok' : 'ok'} ${number} - ${tapText(id)}${skip}`);
      if (verdict !== 'failed' && verdict !== 'error') continue;
      // JSON is YAML.
      const diagnosis = { message, severity: verdict === 'error' ? 'error' : 'fail', sentence, details };
      const members = Object.entries(diagnosis).map(
        ([member, value]) => `  ${member}: ${printable(JSON.stringify(value))}`,
      );
      lines.push('  ---', ...members, '  ...');
    }
  }
  return ['TAP version 14', `1..${number}`, ...lines].join('\n');
}

function isBad({ verdict }: Verdict): boolean {
  return verdict === 'failed' || verdict === 'error';
}

function failureText(same: readonly Verdict[], { style, words }: { style: Style; words: Words }): string {
  const [first] = same;
  if (!first) return '';
  return [
    `  ${style.bad(words[first.verdict].toUpperCase())} ${idsOf(same)}`,
    ...new Set(same.map(({ sentence }) => `    ${printable(sentence)}`)),
    `    ${style.bad(printable(first.message))}`,
    ...first.details.map((line) => style.faint(`${DETAIL_INDENT}${printable(line)}`)),
  ].join('\n');
}

function countsOf(verdicts: readonly Verdict[], words: Words): string {
  const counts = KINDS.map((kind) => [countOf(verdicts, kind), words[kind]] as const);
  return counts
    .filter(([count]) => count > 0)
    .map((each) => each.join(' '))
    .join(', ');
}

function idsOf(verdicts: readonly Verdict[]): string {
  return verdicts.map(({ id }) => id).join(', ');
}

function testCase(suite: string, { id, verdict, sentence, message, details }: Verdict): string {
  const start = `  <testcase classname="${escaped(suite)}" name="${escaped(id)}"`;
  if (verdict === 'passed') return `${start}/>`;
  if (verdict === 'skipped') return `${start}><skipped message="${escaped(message)}"/></testcase>`;
  const element = verdict === 'error' ? 'error' : 'failure';
  const text = escaped([sentence, ...details].join('\n'));
  return `${start}><${element} message="${escaped(message)}">${text}</${element}></testcase>`;
}

/** A line in which nothing begins a directive or an escape. */
function tapText(text: string): string {
  return printable(text).replaceAll(/[\\#]/g, '\\$&');
}

/** Also drops what XML 1.0 forbids, and what controls a terminal; `]]>` ends a CDATA section only (section 2.4). */
function escaped(text: string): string {
  const lines = text.split('\n').map((line) => printable(line).replaceAll(/[\ufffe\uffff]/g, ' '));
  const joined = lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  return joined.replaceAll(']]>', ']]&gt;');
}
