import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DEFECTS } from '../../../src/rehearsal/defects/defects.ts';
import type { Score } from './score.ts';

export const PAGE = fileURLToPath(new URL('../../../docs/conformance.md', import.meta.url));
export const SCORES = new URL('./scores.json', import.meta.url);
const [BEGIN, END] = ['<!-- testers -->', '<!-- /testers -->'];
/** The referee of this project catches all; it has no column. */
const OURS = 'conformance';

type Scores = Readonly<Record<string, Score>>;

/** The scores as they were measured. */
export function scores(): Scores {
  return JSON.parse(readFileSync(SCORES, 'utf8')) as Scores;
}

/** A page with the tables of these scores. */
export function withTables(page: string, measured: Scores): string {
  const [before, after] = [page.slice(0, page.indexOf(BEGIN)), page.slice(page.indexOf(END))];
  return `${before}${BEGIN}\n\n${summary(measured)}\n\n${rows(measured)}\n\n${after}`;
}

function summary(measured: Scores): string {
  const lines = Object.entries(measured).map(([name, { version, caught, missed, untried, falseAlarms, command }]) => {
    const tried = caught.length + missed.length;
    const left = untried.length > 0 ? ` (${untried.length} not tried)` : '';
    return [name, version, `${caught.length} of ${tried}${left}`, `${falseAlarms}`, `\`${command}\``];
  });
  return table(['tester', 'version', 'caught', 'reports without a defect', 'command'], lines);
}

/** The defects that any other tester catches. */
function rows(measured: Scores): string {
  const others = Object.entries(measured).filter(([name]) => name !== OURS);
  const lines = DEFECTS.map(({ name, rule }) => [
    name,
    rule,
    ...others.map(([, { caught, untried }]) => (caught.includes(name) ? 'yes' : untried.includes(name) ? '?' : '')),
  ]);
  const heads = ['defect', 'rule', ...others.map(([name]) => name)];
  return table(
    heads,
    lines.filter((line) => line.includes('yes')),
  );
}

function table(heads: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) =>
    Math.max(...[head, ...lines.map((line) => line[column] ?? '')].map((cell) => cell.length)),
  );
  const row = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [row(heads), row(widths.map((width) => '-'.repeat(width))), ...lines.map(row)].join('\n');
}
