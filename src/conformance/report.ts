import type { Report, Rule, Verdict } from './rule.ts';

const INDENT = '            ';

/** Marks text for a terminal. */
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

/** A report for people: a line for each group, every failure with its exchange, and a summary. */
export function textOf({ url, level, rules }: Report, style: Style): string {
  const interfaces = level === 'published' ? 'the published interface' : 'the published interface and our decisions';
  const groups = [...Map.groupBy(rules, ({ id }) => id.split('.')[0] ?? id)].map(([name, verdicts]) => {
    const counts = countsOf(verdicts);
    return `  ${name.padEnd(12)}${verdicts.some(({ verdict }) => verdict === 'failed') ? style.bad(counts) : counts}`;
  });
  const failed = rules.filter(({ verdict }) => verdict === 'failed').map((verdict) => failureOf(verdict, style));
  const skipped = Map.groupBy(
    rules.filter(({ verdict }) => verdict === 'skipped'),
    ({ reason }) => reason ?? '',
  );
  const reasons = [...skipped].map(([reason, verdicts]) =>
    style.faint(`  skipped: ${verdicts.map(({ id }) => id).join(', ')}\n           ${reason}`),
  );
  const isKept = failed.length === 0;
  const summary = `${isKept ? 'kept' : 'broken'}: ${countsOf(rules)} of ${rules.length} rules`;
  const parts = [`${url}, by ${interfaces}`, groups.join('\n'), ...failed, reasons.join('\n')];
  return [...parts.filter((part) => part !== ''), isKept ? style.good(summary) : style.bad(summary)].join('\n\n');
}

/** A report as JUnit XML. */
export function junitOf({ url, rules }: Report): string {
  const count = (wanted: Verdict['verdict']) => rules.filter(({ verdict }) => verdict === wanted).length;
  const cases = rules.map(({ id, level, verdict, sentence, expected, seen, reason }) => {
    const start = `  <testcase classname="${level}" name="${escaped(id)}"`;
    if (verdict === 'passed') return `${start}/>`;
    if (verdict === 'skipped') return `${start}><skipped message="${escaped(reason ?? '')}"/></testcase>`;
    const text = escaped(`${sentence}\nexpected: ${expected}\nseen: ${seen ?? ''}`);
    return `${start}><failure message="${escaped(seen?.split('\n')[0] ?? '')}">${text}</failure></testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="${escaped(url)}" tests="${rules.length}" failures="${count('failed')}" skipped="${count('skipped')}">`,
    ...cases,
    '</testsuite>',
  ].join('\n');
}

/** All rules for people, a line each. */
export function listOf(rules: readonly Rule[]): string {
  const width = Math.max(...rules.map(({ id }) => id.length)) + 2;
  return rules.map(({ id, level, sentence }) => `${id.padEnd(width)}${level.padEnd(11)}${sentence}`).join('\n');
}

function failureOf({ id, sentence, expected, seen }: Verdict, style: Style): string {
  const [first, ...exchange] = (seen ?? '').split('\n');
  return [
    `  ${style.bad('FAILED')} ${id}`,
    `  ${sentence}`,
    `  expected  ${expected}`,
    `  seen      ${first}`,
    ...exchange.map((line) => style.faint(`${INDENT}${line}`)),
  ].join('\n');
}

function countsOf(verdicts: readonly Verdict[]): string {
  return (['passed', 'failed', 'skipped'] as const)
    .map((wanted) => [verdicts.filter(({ verdict }) => verdict === wanted).length, wanted] as const)
    .filter(([count]) => count > 0)
    .map(([count, wanted]) => `${count} ${wanted}`)
    .join(', ');
}

/** Also drops what XML 1.0 forbids. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;');
}
