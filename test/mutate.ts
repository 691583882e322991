import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { Checkout, ROOT } from './mutation/checkout.ts';
import { testsOf } from './mutation/coverage.ts';
import { accepted, unfitting } from './mutation/known.ts';
import { mapOfTests } from './mutation/map.ts';
import { changed, drawn, type Mutant, mutantsOf } from './mutation/mutators.ts';

/**
 * Mutation tests: `npm run mutate -- [--sample N [--seed S]] [name …]`. Changes a module at one place at a time, and
 * runs the tests that run this place; a change that no test notices lives. A name is a module (`limits/window`), a
 * folder (`storage/sql`) or one of deploy/ (`deploy/prometheus`); none means all. Stryker.js changes expressions, and
 * `mutation/mutators.ts` what it never does. Writes the score of each module into docs/reliability.md as soon as it is
 * known, and lists what lives unless `mutants.md` does.
 *
 * Begins with a map of what each test file runs, which it keeps in `.mutation/`: that of all takes eight minutes on a
 * quiet machine, later only those that changed are run again.
 *
 * A whole run takes many hours. With `--sample N`, N mutants of each room are tried, drawn from all of its modules by
 * the seed, which is the day unless it is given, and the score is written into a table of rooms.
 */

const PAGE = join(ROOT, 'docs/reliability.md');
const TABLE = /(<!-- mutants -->\n)[\s\S]*(<!-- \/mutants -->)/;
const SAMPLES = /(<!-- sampled mutants -->\n)[\s\S]*(<!-- \/sampled mutants -->)/;
const HEADINGS = ['module', 'mutants', 'killed', 'by timeout', 'lived', 'score', 'run'];
const SAMPLE_HEADINGS = ['room', 'modules', 'mutants', 'tried', 'killed', 'by timeout', 'score', 'seed', 'run'];
/** A test file that hangs is stopped after three times its time and this, which leaves room on a busy machine. */
const HANGING_MS = 15_000;
/** Tests that read files of deploy/, which V8 does not see; the quickest first. */
const DEPLOY_TESTS = ['values', 'fitting', 'monitoring', 'compose', 'kubernetes', 'alerts'];

interface Found {
  readonly module: string;
  readonly mutant: Mutant;
}

type Status = 'killed' | 'timed out' | 'lived';

const { values, positionals } = parseArgs({
  options: { sample: { type: 'string' }, seed: { type: 'string' } },
  allowPositionals: true,
});
/** As the checkout was at the start, so that it may be edited while mutants are tried. */
using checkout = new Checkout();
const selected = select(positionals);
const listed = readFileSync(join(ROOT, 'test/mutants.md'), 'utf8');
/** Takes what the instrumenter would log. */
const SILENT = {
  ...{ isTraceEnabled: no, isDebugEnabled: no, isInfoEnabled: no, isWarnEnabled: no, isErrorEnabled: no },
  ...{ isFatalEnabled: no, trace: no, debug: no, info: no, warn: no, error: no, fatal: no },
};
const today = new Date().toISOString().slice(0, 10);
for (const problem of unfitting(listed, (module) => sourceOf(module))) process.stderr.write(`${problem}\n`);
const map = await mapOfTests(checkout);
const stale = new Set<string>();
if (values.sample !== undefined) {
  const rooms = Map.groupBy(selected, (module) => (module.includes('/') ? (module.split('/')[0] ?? '') : 'the top'));
  for (const [room, modules] of rooms) await sample(room, modules, Number(values.sample), values.seed ?? today);
} else {
  for (const module of selected) record(module, await statusesOf(await everyMutantOf(module)));
}

function no(): boolean {
  return false;
}

/** The text of a module; undefined if there is none. */
function sourceOf(module: string): string | undefined {
  const file = join(checkout.path, fileOf(module));
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** The modules that the names stand for. */
function select(names: readonly string[]): string[] {
  const modules = globSync(['src/**/*.ts', 'client/src/*.ts', 'deploy/**/*.yaml'], {
    cwd: checkout.path,
    exclude: ['**/*.test.ts', 'src/storage/migrations/**', 'client/src/contract.ts'],
  }).map(nameOf);
  for (const name of names)
    assert.ok(
      modules.some((module) => isIn(module, name)),
      `${name} is neither a module nor a folder of modules`,
    );
  return modules.filter((module) => names.length === 0 || names.some((name) => isIn(module, name))).sort();
}

/** Tries some of the mutants of a room, and records its score. */
async function sample(room: string, modules: readonly string[], count: number, seed: string): Promise<void> {
  const all = (await Promise.all(modules.map(everyMutantOf))).flat();
  const tried = await statusesOf(drawn(all, count, seed));
  const { killed, timedOut, score } = scoreOf(tried);
  const row = [room, modules.length, all.length, tried.length, killed, timedOut, score, seed, today].map(String);
  writeRow(SAMPLES, SAMPLE_HEADINGS, row);
  process.stderr.write(`${room}: ${killed} of ${tried.length} killed, ${score}\n`);
}

/** The mutants of a module: those of Stryker.js, and our own. */
async function everyMutantOf(module: string): Promise<Found[]> {
  const [file, content] = [fileOf(module), sourceOf(module) ?? ''];
  const ours = mutantsOf(file, content);
  if (!file.endsWith('.ts')) return ours.map((mutant) => ({ module, mutant }));
  const options = { plugins: null, ignorers: [], excludedMutations: [] };
  const { mutants } = await new Instrumenter(SILENT).instrument([{ name: file, content, mutate: true }], options);
  const lines = content.split('\n');
  const offset = ({ line, column }: { line: number; column: number }) =>
    lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + column;
  const theirs = mutants.map(({ location: { start, end }, replacement }) => {
    const at = offset(start);
    return { at, from: content.slice(at, offset(end)), to: replacement };
  });
  return [...theirs, ...ours].map((mutant) => ({ module, mutant }));
}

/** Tries mutants one after the other, and lists those that live; those that may live are left out. */
async function statusesOf(mutants: readonly Found[]): Promise<Status[]> {
  const statuses: Status[] = [];
  for (const { module, mutant } of mutants) {
    const [file, text] = [fileOf(module), sourceOf(module) ?? ''];
    const status = await checkout.withFile(file, changed(text, mutant), () => statusOf(file, text, mutant));
    if (status !== 'lived' || tell(module, text, mutant)) statuses.push(status);
  }
  return statuses;
}

/** Runs the tests of a mutant one after the other until one fails. */
async function statusOf(file: string, text: string, { at }: Mutant): Promise<Status> {
  const { tests, isStale } = file.startsWith('deploy/')
    ? {
        tests: map.filter(({ test }) => DEPLOY_TESTS.some((name) => test === `test/deploy/${name}.test.ts`)),
        isStale: false,
      }
    : testsOf({ file, text, at }, map);
  if (isStale && !stale.has(file)) process.stderr.write(`${file} is not as it is in the map: all its tests run\n`);
  if (isStale) stale.add(file);
  for (const { test, ms } of tests) {
    const outcome = await checkout.test(test, HANGING_MS + 3 * ms);
    if (outcome !== 'passed') return outcome === 'hung' ? 'timed out' : 'killed';
  }
  return 'lived';
}

/** Lists a mutant that lives, unless it may; returns whether it was listed. */
function tell(module: string, source: string, mutant: Mutant): boolean {
  const start = source.lastIndexOf('\n', mutant.at) + 1;
  const end = mutant.at + mutant.from.replace(/\n$/, '').length;
  const line = source.slice(start, source.indexOf('\n', end));
  if (accepted(listed, module, line)) return false;
  const number = source.slice(0, mutant.at).split('\n').length;
  process.stderr.write(
    `lived: ${fileOf(module)}:${number}\n- ${line}\n+ ${changed(line, { ...mutant, at: mutant.at - start })}\n`,
  );
  return true;
}

/** Writes the row of a module. */
function record(module: string, statuses: readonly Status[]): void {
  if (statuses.length === 0) return;
  const { killed, timedOut, score } = scoreOf(statuses);
  const lived = statuses.length - killed;
  const row = [`\`${fileOf(module)}\``, statuses.length, killed, timedOut, lived, score, today].map(String);
  writeRow(TABLE, HEADINGS, row);
  process.stderr.write(`${module}: ${killed} of ${statuses.length} killed, ${score}\n`);
}

function scoreOf(statuses: readonly Status[]) {
  const timedOut = statuses.filter((status) => status === 'timed out').length;
  const killed = statuses.filter((status) => status === 'killed').length + timedOut;
  return { killed, timedOut, score: `${Math.floor((100 * killed) / statuses.length)} %` };
}

/** Replaces the row that begins alike in a table of the page, and leaves the others. */
function writeRow(table: RegExp, headings: readonly string[], row: readonly string[]): void {
  const page = readFileSync(PAGE, 'utf8');
  const others = (table.exec(page)?.[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .filter(([name]) => name !== row[0]);
  const rows = [headings, headings.map(() => ''), ...[...others, row].sort(([a = ''], [b = '']) => (a < b ? -1 : 1))];
  const widths = headings.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells, index) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, index === 1 ? '-' : ' ')).join(' | '),
  );
  const text = lines.map((line) => `| ${line} |\n`).join('');
  writeFileSync(
    PAGE,
    page.replace(table, (_, start, end) => `${start}\n${text}\n${end}`),
  );
}

function isIn(module: string, name: string): boolean {
  return module === name || module.startsWith(`${name}/`);
}

/** `src/limits/window.ts` is `limits/window`, `client/src/errors.ts` is `client/errors`. */
function nameOf(file: string): string {
  return file.replace(/^src\/|(?<=^client\/)src\/|\.ts$/g, '');
}

function fileOf(module: string): string {
  if (module.startsWith('deploy/')) return module;
  return `${module.replace(/^client\//, 'client/src/').replace(/^(?!client\/)/, 'src/')}.ts`;
}
