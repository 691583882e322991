const KINDS = ['passed', 'failed', 'error', 'skipped'] as const;
const DETAIL_INDENT = '      ';

/** One judged rule, of a server, a limit or a client. */
export interface Verdict {
  readonly id: string;
  /** The kind of request that it is about; ids of one subject are told together. */
  readonly subject?: string;
  /** `skipped`: not judged; `error`: could not be tried, though it should have been. */
  readonly verdict: 'passed' | 'failed' | 'skipped' | 'error';
  readonly sentence: string;
  /** One line: the fault that was seen, or the reason why it was not judged; empty for `passed`. */
  readonly message: string;
  readonly details: readonly string[];
  /** What to change, in one line. */
  readonly fix?: string;
}

/** Verdicts as a table, in place of a line for each group. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The requests of one play, for the page that shows them. */
export interface Timeline {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Verdicts on one client or server. */
export interface Suite {
  readonly name: string;
  readonly verdicts: readonly Verdict[];
  /** The words for the kinds of verdicts. */
  readonly words?: Words;
  readonly table?: Table;
  /** Lines that are no verdict. */
  readonly notes?: readonly string[];
  /** The last line, in place of the counts. */
  readonly summary?: string;
  readonly timelines?: readonly Timeline[];
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
 * A report for people: a table, or a line for each group of rules (by the part of the id before the dot); every failure
 * with its evidence; the reasons for what was not judged; a summary. Rules that fail with one message stand together,
 * with the evidence of the first.
 */
export function textOf(suite: Suite, { style = PLAIN } = {}): string {
  const { name, verdicts, words = WORDS, table, notes = [], summary } = suite;
  const failures = failuresOf(suite).map((same) => failureText(same, { style, words }));
  const last =
    summary ?? `${countsOf(verdicts, words)} of ${verdicts.length} ${verdicts.length === 1 ? 'rule' : 'rules'}`;
  const parts = [
    printable(name),
    table ? tableText(table, style) : groupsText(verdicts, { style, words }),
    ...failures,
    skippedOf(suite)
      .map(({ ids, message }) => style.faint(`  ${words.skipped}: ${ids}\n    ${message}`))
      .join('\n'),
    notes.map((note) => `  ${printable(note)}`).join('\n'),
    failures.length === 0 ? style.good(printable(last)) : style.bad(printable(last)),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Failures, those with one message together. */
export function failuresOf({ verdicts }: Suite): Verdict[][] {
  return [...Map.groupBy(verdicts.filter(isBad), ({ message }) => message).values()];
}

/** Reasons for what was not judged, each with the ids of the rules. */
export function skippedOf({ verdicts }: Suite): { readonly message: string; readonly ids: string }[] {
  const skipped = verdicts.filter(({ verdict }) => verdict === 'skipped');
  return [...Map.groupBy(skipped, ({ message }) => message)].map(([message, members]) => ({
    message: printable(message),
    ids: idsOf(members),
  }));
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

/** Failures as annotations of a GitHub workflow. */
export function annotationsOf(suites: readonly Suite[]): string {
  const data = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  const property = (text: string) => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
  const lines = suites.flatMap(({ verdicts }) =>
    verdicts.filter(isBad).map((verdict) => {
      const { message, fix } = verdict;
      const text = fix === undefined ? message : `${message}\nfix: ${fix}`;
      return `::error title=${property(idsOf([verdict]))}::${data(text.split('\n').map(printable).join('\n'))}`;
    }),
  );
  return lines.join('\n');
}

/** A report in Markdown, for the summary of a GitHub workflow. */
export function markdownOf(suite: Suite): string {
  const cell = (text: string) => printable(text).replaceAll(/[\\|<&`*_]/g, '\\$&');
  const row = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  const { name, table, verdicts, words = WORDS, notes = [], summary = countsOf(verdicts, words) } = suite;
  const rows = table
    ? [row(table.columns), row(table.columns.map(() => '---')), ...table.rows.map(row)]
    : [
        row(['Rule', 'Verdict']),
        row(['---', '---']),
        ...verdicts.map((each) => row([idsOf([each]), words[each.verdict]])),
      ];
  const fixOf = ({ fix }: Verdict) => (fix === undefined ? '' : `; ${cell(fix)}`);
  const failed = verdicts.filter(isBad).map((each) => `- ${cell(idsOf([each]))}: ${cell(each.message)}${fixOf(each)}`);
  return [`### ${cell(name)}`, rows.join('\n'), failed.join('\n'), ...notes.map(cell), cell(summary)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The number of verdicts of each kind, in words. */
function countsOf(verdicts: readonly Verdict[], words: Words = WORDS): string {
  const counts = KINDS.map((kind) => [countOf(verdicts, kind), words[kind]] as const);
  return counts
    .filter(([count]) => count > 0)
    .map((each) => each.join(' '))
    .join(', ');
}

function groupsText(verdicts: readonly Verdict[], { style, words }: { style: Style; words: Words }): string {
  const groups = Map.groupBy(verdicts, ({ id }) => id.split('.', 1)[0] ?? id);
  const width = Math.max(0, ...[...groups.keys()].map((group) => group.length)) + 2;
  const lines = [...groups].map(([group, members]) => {
    const [first] = members;
    const counts = first && members.length === 1 ? words[first.verdict] : countsOf(members, words);
    return `  ${group.padEnd(width)}${members.some(isBad) ? style.bad(counts) : counts}`;
  });
  return lines.join('\n');
}

function tableText({ columns, rows }: Table, style: Style): string {
  const all = [columns, ...rows].map((row) => row.map(printable));
  const widths = columns.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => {
        const padded = cell.padEnd(widths[column] ?? 0);
        return cell === 'broken' ? style.bad(padded) : padded;
      })
      .join('  ')
      .trimEnd(),
  );
  return lines.map((line) => `  ${line}`).join('\n');
}

/** True for a verdict that a build fails for. */
export function isBad({ verdict }: Pick<Verdict, 'verdict'>): boolean {
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
    ...(first.fix === undefined ? [] : [`    fix: ${printable(first.fix)}`]),
  ].join('\n');
}

/** The names of verdicts, those of one subject together, and subjects with the same names. */
export function idsOf(verdicts: readonly Verdict[]): string {
  const bySubject = [...Map.groupBy(verdicts, ({ subject = '' }) => subject)].map(([subject, same]) => ({
    subject: printable(subject),
    names: same.map(({ id }) => printable(id)).join(', '),
  }));
  return [...Map.groupBy(bySubject, ({ names }) => names)]
    .map(([names, same]) => [names, same.map(({ subject }) => subject).join(', ')].filter(Boolean).join(' for '))
    .join('; ');
}

function testCase(suite: string, one: Verdict): string {
  const { verdict, sentence, message, details, fix } = one;
  const start = `  <testcase classname="${escaped(suite)}" name="${escaped(idsOf([one]))}"`;
  if (verdict === 'passed') return `${start}/>`;
  if (verdict === 'skipped') return `${start}><skipped message="${escaped(message)}"/></testcase>`;
  const element = verdict === 'error' ? 'error' : 'failure';
  const text = escaped([sentence, ...details, ...(fix === undefined ? [] : [`fix: ${fix}`])].join('\n'));
  return `${start}><${element} message="${escaped(message)}">${text}</${element}></testcase>`;
}

/** Also drops what XML 1.0 forbids, and what controls a terminal; `]]>` ends a CDATA section only (section 2.4). */
function escaped(text: string): string {
  const lines = text.split('\n').map((line) => printable(line).replaceAll(/[\ufffe\uffff]/g, ' '));
  const joined = lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  return joined.replaceAll(']]>', ']]&gt;');
}
