import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { accepted, unfitting } from './mutation/known.ts';
import { changed, type Mutant, mutantsOf } from './mutation/mutators.ts';

/**
 * Mutation tests: `npm run mutate -- [--force | --sample N] [name …]`. Changes a module by one expression at a time,
 * and runs the tests that belong to it; a change that no test notices lives. A name is a module (`limits/window`), a
 * folder (`storage/sql`) or one of deploy/ (`deploy/prometheus`); none means all. Stryker.js changes expressions, and
 * `mutation/mutators.ts` what it never does. Writes the score of each module into docs/reliability.md as soon as it is
 * known, and lists what lives unless `mutants.md` does.
 *
 * A stopped run resumes with the next module. A mutant that a test noticed is not run again until its module or that
 * test changes, unless `--force` is given: give it after a change of another module that these tests use.
 *
 * A whole run takes many hours. With `--sample N`, N mutants of each room are tried, drawn anew each day from all of
 * its modules, and its score is written into a table of rooms.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = join(ROOT, 'docs/reliability.md');
const TABLE = /(<!-- mutants -->\n)[\s\S]*(<!-- \/mutants -->)/;
/** Results and copies of the source; ignored by git. */
const CACHE = '.mutation';
const SAMPLES = /(<!-- sampled mutants -->\n)[\s\S]*(<!-- \/sampled mutants -->)/;
const HEADINGS = ['module', 'mutants', 'killed', 'by timeout', 'lived', 'score', 'run'];
const SAMPLE_HEADINGS = ['room', 'modules', 'mutants', 'tried', 'killed', 'by timeout', 'score', 'run'];
/** A mutant that hangs is stopped after twice the time of its tests and this, which leaves room on a busy machine. */
const HANGING_MS = 15_000;
/** A run of one test file against a mutant of our own. */
const OWN_MS_MAX = 60_000;

/**
 * Tests of a module in place of the file beside it, or of all modules of a folder that have no tests of their own. Only
 * tests that run the module in their own process: Stryker.js does not see what a child process covers. The quickest
 * first, as a mutant's run ends with the first test that fails; without those that take most of the time.
 */
const TESTS_ELSEWHERE: Record<string, readonly string[]> = {
  catalog: ['test/shop.test.ts', 'test/operator-api/keys.test.ts', 'test/interface.test.ts'],
  cli: [
    'test/words.test.ts',
    'test/commands.test.ts',
    'test/operator-api/commands.test.ts',
    'test/console/command.test.ts',
    'test/secret-settings.test.ts',
    'test/journeys.test.ts',
  ],
  'cli/conformance': ['test/conformance/command.test.ts', 'test/words.test.ts', 'test/conformance/makes.test.ts'],
  'cli/rehearsal': ['test/rehearsal/commands.test.ts', 'test/words.test.ts', 'test/rehearsal/run.test.ts'],
  'cli/demo': ['test/words.test.ts', 'test/journeys.test.ts'],
  'cli/repair': ['test/commands.test.ts', 'test/faults/damaged-rows.test.ts', 'test/faults/damaged-log.test.ts'],
  'cli/doctor': ['test/doctor.test.ts', 'test/commands.test.ts'],
  deploy: ['test/deploy/fitting.test.ts', 'test/deploy/values.test.ts'],
  'deploy/kubernetes': ['test/deploy/fitting.test.ts', 'test/deploy/values.test.ts', 'test/deploy/kubernetes.test.ts'],
  'deploy/prometheus': ['test/deploy/fitting.test.ts', 'test/deploy/alerts.test.ts', 'test/deploy/monitoring.test.ts'],
  client: [
    'test/client/retries.test.ts',
    'test/client/transport.test.ts',
    'test/client/throttle.test.ts',
    'test/client/calls.test.ts',
    'test/client/responses.test.ts',
  ],
  'client/throttle': ['test/client/throttle.test.ts', 'test/client/retries.test.ts'],
  conformance: [
    'test/conformance/makes.test.ts',
    'test/conformance/bounds.test.ts',
    'test/conformance/requests.test.ts',
    'test/conformance/words.test.ts',
    'test/conformance/strangers.test.ts',
  ],
  'conformance/client': ['src/conformance/client.test.ts', 'test/conformance/makes.test.ts'],
  'conformance/referee': ['src/conformance/referee.test.ts', 'test/conformance/makes.test.ts'],
  'conformance/trial': ['src/conformance/trial.test.ts', 'test/conformance/makes.test.ts'],
  http: ['test/interface.test.ts', 'test/conformance.test.ts'],
  'http/docs': ['test/docs/rendered.test.ts', 'test/pages.test.ts', 'test/contract/contract.test.ts'],
  'http/operations': [
    'test/contract/contract.test.ts',
    'test/shop.test.ts',
    'test/resources.test.ts',
    'test/conditional.test.ts',
  ],
  'http/operations/categories': [
    'test/contract/contract.test.ts',
    'test/conditional.test.ts',
    'test/idempotency.test.ts',
    'test/interface.test.ts',
  ],
  'http/transport': [
    'test/edge/malformed.test.ts',
    'test/edge/framing.test.ts',
    'test/edge/bodies.test.ts',
    'test/edge/pipelines.test.ts',
    'test/edge/unread.test.ts',
    'test/edge/turns.test.ts',
    'test/edge/slow.test.ts',
  ],
  'http/operations/paging': ['src/http/operations/paging.test.ts', 'test/contract/contract.test.ts'],
  'http/routing': [
    'src/http/routing.test.ts',
    'test/edge/defects.test.ts',
    'test/edge/framing.test.ts',
    'test/interface.test.ts',
  ],
  'http/transport/body': ['src/http/transport/body.test.ts', 'test/edge/bodies.test.ts'],
  'http/transport/connection': ['src/http/transport/connection.test.ts', 'src/http/transport/connection-end.test.ts'],
  'http/app': ['src/http/app.test.ts', 'test/interface.test.ts', 'test/conformance.test.ts'],
  'http/cors': ['test/edge/cors.test.ts'],
  'http/operations/deprecation': ['src/http/app.test.ts'],
  'http/operations/rate-limit': ['src/http/app.test.ts', 'test/interface.test.ts', 'test/conformance.test.ts'],
  'http/transport/exchange': [
    'src/http/transport/exchange.test.ts',
    'test/edge/late.test.ts',
    'test/edge/framing.test.ts',
  ],
  limits: ['src/limits/local-limiter.test.ts'],
  'limits/local-limiter': ['src/limits/local-limiter-storage.test.ts', 'src/limits/local-limiter.test.ts'],
  'limits/redis': ['src/limits/redis/limiter.test.ts'],
  'limits/redis/doctor': ['test/doctor.test.ts'],
  'limits/redis/link': ['src/limits/redis/link.test.ts', 'test/limits/redis-faults.test.ts'],
  'limits/redis/counts': ['src/limits/redis/counts-answers.test.ts', 'src/limits/redis/counts.test.ts'],
  'limits/redis/limiter': [
    'src/limits/redis/limiter-storage.test.ts',
    'src/limits/redis/limiter-merging.test.ts',
    'test/simulator/scenarios.test.ts',
  ],
  operator: [
    'test/console/numbers.test.ts',
    'test/console/lists.test.ts',
    'test/console/change.test.ts',
    'test/console/requests.test.ts',
    'test/console/overview.test.ts',
    'test/console/access.test.ts',
  ],
  'operator/api': [
    'test/operator-api/bounds.test.ts',
    'test/operator-api/usage.test.ts',
    'test/operator-api/keys.test.ts',
    'test/operator-api/contract.test.ts',
    'test/operator-api/roles.test.ts',
  ],
  'operator/overview': ['test/console/rates.test.ts', 'test/console/numbers.test.ts', 'test/console/overview.test.ts'],
  rehearsal: ['test/rehearsal/scripts.test.ts', 'test/rehearsal/timeline.test.ts'],
  'rehearsal/script': ['src/rehearsal/script/script.test.ts', 'test/rehearsal/scripts.test.ts'],
  'rehearsal/verdict': [
    'src/rehearsal/verdict/judge.test.ts',
    'src/rehearsal/verdict/report.test.ts',
    'test/rehearsal/timeline.test.ts',
  ],
  'rehearsal/verdict/tries': ['src/rehearsal/verdict/judge.test.ts'],
  storage: ['src/storage/sqlite/engine.test.ts'],
  'storage/doctor': ['test/doctor.test.ts', 'test/commands.test.ts'],
  'storage/postgres': ['src/storage/postgres/engine.test.ts', 'test/faults/postgres.test.ts'],
  'storage/sql': ['src/storage/sqlite/engine.test.ts'],
  'storage/sql/categories': [
    'src/storage/sql/categories.test.ts',
    'src/storage/sql/once.test.ts',
    'src/storage/sqlite/engine.test.ts',
  ],
  'storage/sql/keys': ['src/storage/sql/keys.test.ts', 'src/storage/sqlite/engine.test.ts'],
  'storage/sql/limits': [
    'src/storage/sql/limits.test.ts',
    'src/storage/sql/lock-order.test.ts',
    'src/storage/sqlite/engine.test.ts',
  ],
  'storage/sql/orders': ['src/storage/sql/pets.test.ts', 'src/storage/sql/filters.test.ts'],
  'storage/sql/pets': ['src/storage/sql/pets.test.ts', 'src/storage/sql/filters.test.ts'],
  'storage/sql/usage': ['src/storage/sql/usage.test.ts', 'src/storage/sql/lock-order.test.ts'],
  'storage/sqlite': ['src/storage/sqlite/engine.test.ts', 'test/faults/storage.test.ts'],
  telemetry: ['src/telemetry/events.test.ts', 'src/telemetry/request-metrics.test.ts'],
  'telemetry/tracing': ['src/telemetry/tracing.test.ts', 'src/http/transport/exchange.test.ts'],
};

const { values, positionals } = parseArgs({
  options: { force: { type: 'boolean' }, sample: { type: 'string' } },
  allowPositionals: true,
});
const selected = select(positionals);
const listed = readFileSync(join(ROOT, 'test/mutants.md'), 'utf8');
/** Takes what the instrumenter would log. */
const SILENT = {
  ...{ isTraceEnabled: no, isDebugEnabled: no, isInfoEnabled: no, isWarnEnabled: no, isErrorEnabled: no },
  ...{ isFatalEnabled: no, trace: no, debug: no, info: no, warn: no, error: no, fatal: no },
};
const today = new Date().toISOString().slice(0, 10);
for (const problem of unfitting(listed, (module) => sourceOf(module))) process.stderr.write(`${problem}\n`);
if (values.sample !== undefined) {
  const rooms = Map.groupBy(selected, (module) => (module.includes('/') ? (module.split('/')[0] ?? '') : 'the top'));
  for (const [room, modules] of rooms) await sample(room, modules, Number(values.sample));
} else {
  for (const module of selected) {
    const expressions = fileOf(module).endsWith('.ts') ? await mutate(module) : [];
    const mutants = [...expressions, ...(await mutateOurselves(module))];
    if (mutants.length > 0) record(module, mutants);
  }
}

function no(): boolean {
  return false;
}

/** The text of a module; undefined if there is none. */
function sourceOf(module: string): string | undefined {
  const file = join(ROOT, fileOf(module));
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** The modules that the names stand for. */
function select(names: readonly string[]): string[] {
  const modules = globSync(['src/**/*.ts', 'client/src/*.ts', 'deploy/**/*.yaml'], {
    cwd: ROOT,
    exclude: ['**/*.test.ts', 'src/storage/migrations/**', 'client/src/contract.ts'],
  }).map(nameOf);
  for (const [name, files] of Object.entries(TESTS_ELSEWHERE)) {
    assert.ok(
      modules.some((module) => isIn(module, name)),
      `TESTS_ELSEWHERE names ${name}, which has no module`,
    );
    for (const file of files)
      assert.ok(existsSync(join(ROOT, file)), `TESTS_ELSEWHERE names ${file}, which is missing`);
  }
  for (const name of names)
    assert.ok(
      modules.some((module) => isIn(module, name)),
      `${name} is neither a module nor a folder of modules`,
    );
  return modules.filter((module) => names.length === 0 || names.some((name) => isIn(module, name))).sort();
}

async function mutate(module: string) {
  const testFiles = testsOf(module);
  process.stderr.write(`\n${module}: ${testFiles.join(', ') || 'no tests'}\n`);
  const incrementalFile = `${CACHE}/${module}.json`;
  forgetThoseThatLived(join(ROOT, incrementalFile));
  const stryker = new Stryker({
    mutate: [fileOf(module)],
    testRunner: 'tap',
    tap: { testFiles, nodeArgs: ['--import', './test/preload.js', '--test-reporter=tap', '{{testFile}}'] },
    coverageAnalysis: 'perTest',
    checkers: [],
    disableTypeChecks: false,
    // Stryker.js edits what it finds there with an interface that TypeScript 7 does not have.
    tsconfigFile: 'none',
    incremental: true,
    incrementalFile,
    force: values.force ?? false,
    // Beside another mutant a slow one would seem to hang.
    concurrency: 1,
    tempDirName: `${CACHE}/sandbox`,
    ignorePatterns: [CACHE, 'bench', 'collections', 'deploy'],
    timeoutMS: HANGING_MS,
    timeoutFactor: 2,
    reporters: ['progress-append-only', 'clear-text'],
    clearTextReporter: { reportTests: false, reportScoreTable: false },
  });
  return stryker.runMutationTest();
}

/** Tries the mutants of our own mutators in a copy of the checkout, and lists those that live. */
async function mutateOurselves(module: string): Promise<{ status: string }[]> {
  const [file, tests] = [fileOf(module), testsOf(module)];
  const source = sourceOf(module) ?? '';
  using folder = mkdtempDisposableSync(join(tmpdir(), 'mutants-'));
  const copy = copyInto(folder.path);
  if (tests.length === 0 || (await statusOf(copy, tests)) !== 'Survived') {
    process.stderr.write(`${module}: its tests fail without a change, or there are none\n`);
    return [];
  }
  const tried: { status: string }[] = [];
  for (const mutant of mutantsOf(file, source)) {
    writeFileSync(join(copy, file), changed(source, mutant));
    const status = await statusOf(copy, tests);
    tried.push({ status });
    if (status === 'Survived') tell(module, source, mutant);
  }
  return tried;
}

/** Copies the checkout, to change it there. */
function copyInto(folder: string): string {
  const isCopied = (path: string) => !/\/(?:node_modules|\.git|\.mutation|dist)$/.test(path);
  cpSync(ROOT, folder, { recursive: true, filter: isCopied });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Tries some of the mutants of a room, lists those that live, and records its score. */
async function sample(room: string, modules: readonly string[], count: number): Promise<void> {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'mutants-'));
  const copy = copyInto(folder.path);
  const all = (await Promise.all(modules.map(everyMutantOf))).flat();
  const order = ({ module, mutant }: Sampled) => hash('sha1', `${today} ${module} ${JSON.stringify(mutant)}`);
  const drawn = all.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)).slice(0, count);
  const tried: { status: string }[] = [];
  for (const { module, mutant } of drawn) {
    const source = sourceOf(module) ?? '';
    const file = join(copy, fileOf(module));
    writeFileSync(file, changed(source, mutant));
    const status = await statusOf(copy, testsOf(module));
    writeFileSync(file, source);
    if (status !== 'Survived' || tell(module, source, mutant)) tried.push({ status });
  }
  const { killed, timedOut, score } = scoreOf(tried);
  const row = [room, modules.length, all.length, tried.length, killed, timedOut, score, today].map(String);
  writeRow(SAMPLES, SAMPLE_HEADINGS, row);
  process.stderr.write(`${room}: ${killed} of ${tried.length} killed, ${score}\n`);
}

interface Sampled {
  readonly module: string;
  readonly mutant: Mutant;
}

/** The mutants of a module: those of Stryker.js, and our own. */
async function everyMutantOf(module: string): Promise<Sampled[]> {
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

/** Runs tests one after the other until one fails. */
async function statusOf(cwd: string, tests: readonly string[]): Promise<'Killed' | 'Timeout' | 'Survived'> {
  for (const file of tests) {
    const args = ['--import', './test/preload.js', '--test', file];
    const child = spawn(process.execPath, args, { cwd, stdio: 'ignore', timeout: OWN_MS_MAX, killSignal: 'SIGKILL' });
    const [code] = await once(child, 'exit');
    if (code !== 0) return code === null ? 'Timeout' : 'Killed';
  }
  return 'Survived';
}

/** Lists a mutant that lives, unless it may; returns whether it was listed. */
function tell(module: string, source: string, mutant: Mutant): boolean {
  const start = source.lastIndexOf('\n', mutant.at) + 1;
  const line = source.slice(start, source.indexOf('\n', mutant.at + mutant.from.length));
  if (accepted(listed, module, line)) return false;
  const number = source.slice(0, mutant.at).split('\n').length;
  process.stderr.write(
    `lived: ${fileOf(module)}:${number}\n- ${line}\n+ ${changed(line, { ...mutant, at: mutant.at - start })}\n`,
  );
  return true;
}

/** Has them run again: the test that notices one may be in a suite that the test file only imports. */
function forgetThoseThatLived(incrementalFile: string): void {
  if (!existsSync(incrementalFile)) return;
  const last = JSON.parse(readFileSync(incrementalFile, 'utf8'));
  for (const file of Object.values<{ mutants: { status: string }[] }>(last.files)) {
    file.mutants = file.mutants.filter(({ status }) => status === 'Killed' || status === 'Timeout');
  }
  writeFileSync(incrementalFile, JSON.stringify(last));
}

/** Writes the row of a module. */
function record(module: string, mutants: readonly { status: string }[]): void {
  const { killed, timedOut, lived, score } = scoreOf(mutants);
  const row = [`\`${fileOf(module)}\``, killed + lived, killed, timedOut, lived, score, today].map(String);
  writeRow(TABLE, HEADINGS, row);
  process.stderr.write(`${module}: ${killed} of ${killed + lived} killed, ${score}\n`);
}

function scoreOf(mutants: readonly { status: string }[]) {
  const count = (...statuses: string[]) => mutants.filter(({ status }) => statuses.includes(status)).length;
  const [killed, timedOut, lived] = [count('Killed', 'Timeout'), count('Timeout'), count('Survived', 'NoCoverage')];
  return { killed, timedOut, lived, score: `${Math.floor((100 * killed) / (killed + lived))} %` };
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

function testsOf(module: string): string[] {
  const beside = fileOf(module).replace(/\.ts$/, '.test.ts');
  const own = existsSync(join(ROOT, beside)) ? [beside] : [];
  for (let name = module; name !== '.'; name = dirname(name)) {
    const elsewhere = TESTS_ELSEWHERE[name];
    if (elsewhere && (name === module || own.length === 0)) return [...elsewhere];
  }
  return own;
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
