const DETAIL_INDENT = '      ';

/** One judged rule, of a limit or a client. */
export interface Verdict {
  readonly id: string;
  /** The kind of request that it is about; ids of one subject are told together. */
  readonly subject?: string;
  /** `skipped`: not judged. */
  readonly verdict: 'passed' | 'failed' | 'skipped';
  readonly sentence: string;
  /** One line: the fault that was seen, or the reason why it was not judged; empty for `passed`. */
  readonly message: string;
  readonly details: readonly string[];
  /** What to change, in one line. */
  readonly fix?: string;
}

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The requests of one play, for the page that shows them. */
export interface Timeline extends Table {
  readonly name: string;
}

/** Verdicts on one client or limit. */
export interface Suite {
  readonly name: string;
  readonly verdicts: readonly Verdict[];
  /** The words for what a build fails for, and for what was not judged. */
  readonly words: { readonly failed: string; readonly skipped: string };
  readonly table: Table;
  /** Lines that are no verdict. */
  readonly notes?: readonly string[];
  /** The last line. */
  readonly summary: string;
  readonly timelines?: readonly Timeline[];
}

/** The number of verdicts of a kind. */
export function countOf(verdicts: readonly Pick<Verdict, 'verdict'>[], wanted: Verdict['verdict']): number {
  return verdicts.filter(({ verdict }) => verdict === wanted).length;
}

/** A text of `textOf` with its failures in red, for an ANSI terminal (ECMA-48, SGR). */
export function coloured(text: string): string {
  return text.replaceAll(/^ {2}(BROKEN|FAILED) .*|\b(broken|failed)\b/gm, '\x1b[31m$&\x1b[39m');
}

/** One line of text in which nothing controls a terminal: C0, C1, separators and bidirectional marks become spaces. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ');
}

/**
 * A report for people: a table; every failure with its evidence; the reasons for what was not judged; a summary. Rules
 * that fail with one message stand together, with the evidence of the first.
 */
export function textOf(suite: Suite): string {
  const { name, words, table, notes = [], summary } = suite;
  const failures = failuresOf(suite).map((same) => failureText(same, words.failed));
  const parts = [
    printable(name),
    tableText(table),
    ...failures,
    skippedOf(suite)
      .map(({ ids, message }) => `  ${words.skipped}: ${ids}\n    ${message}`)
      .join('\n'),
    notes.map((note) => `  ${printable(note)}`).join('\n'),
    printable(summary),
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
    const [failures, skipped] = (['failed', 'skipped'] as const).map((kind) => countOf(verdicts, kind));
    const counts = `tests="${verdicts.length}" failures="${failures}" skipped="${skipped}"`;
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

/** Lines of a log in which no text of what was judged begins a command of a GitHub workflow. */
export function withoutCommands(log: string): string {
  return log.replaceAll(/^(\s*)(::|##\[)/gm, '$1\\$2');
}

/** A report in Markdown, for the summary of a GitHub workflow. */
export function markdownOf(suite: Suite): string {
  const cell = (text: string) => printable(text).replaceAll(/[\\|<>&`*_~#![\]]/g, '\\$&');
  const row = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
  const { name, table, verdicts, notes = [], summary } = suite;
  const rows = [row(table.columns), row(table.columns.map(() => '---')), ...table.rows.map(row)];
  const fixOf = ({ fix }: Verdict) => (fix === undefined ? '' : `; ${cell(fix)}`);
  const failed = verdicts.filter(isBad).map((each) => `- ${cell(idsOf([each]))}: ${cell(each.message)}${fixOf(each)}`);
  return [`### ${cell(name)}`, rows.join('\n'), failed.join('\n'), ...notes.map(cell), cell(summary)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function tableText({ columns, rows }: Table): string {
  const all = [columns, ...rows].map((row) => row.map(printable));
  const widths = columns.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.map((line) => `  ${line}`).join('\n');
}

/** True for a verdict that a build fails for. */
export function isBad({ verdict }: Pick<Verdict, 'verdict'>): boolean {
  return verdict === 'failed';
}

function failureText(same: readonly Verdict[], word: string): string {
  const [first] = same;
  if (!first) return '';
  return [
    `  ${word.toUpperCase()} ${idsOf(same)}`,
    ...new Set(same.map(({ sentence }) => `    ${printable(sentence)}`)),
    `    ${printable(first.message)}`,
    ...first.details.map((line) => `${DETAIL_INDENT}${printable(line)}`),
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
  const text = escaped([sentence, ...details, ...(fix === undefined ? [] : [`fix: ${fix}`])].join('\n'));
  return `${start}><failure message="${escaped(message)}">${text}</failure></testcase>`;
}

/** A text for XML and HTML, without what XML 1.0 forbids, and what controls a terminal. */
export function escaped(text: string): string {
  const lines = text.split('\n').map((line) => printable(line).replaceAll(/[\ufffe\uffff]/g, ' '));
  const marked = lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return marked.replaceAll('"', '&quot;');
}
