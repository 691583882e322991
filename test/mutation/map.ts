import {
  appendFileSync,
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Checkout, ROOT } from './checkout.ts';
import { type Coverage, digestOf, type Run, runsIn } from './coverage.ts';

/** A line of JSON for each test file, the last of which is right; so a run that is stopped loses nothing. */
const MAP = join(ROOT, '.mutation/map.jsonl');
/** As in `npm test`. */
const TEST_MS_MAX = 300_000;
const AT_ONCE = 2;

/**
 * What every test file of `npm test` runs. Those that changed since the last time are run again, and so are those that
 * ran a module that is gone: what took its place would seem to have no tests.
 */
export async function mapOfTests(checkout: Checkout): Promise<Coverage[]> {
  const lines = existsSync(MAP) ? readFileSync(MAP, 'utf8').split('\n').filter(Boolean) : [];
  const known = new Map(lines.map((line) => JSON.parse(line) as Coverage).map((each) => [each.test, each]));
  const tests = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: checkout.path }).sort();
  const digest = (file: string) => digestOf(readFileSync(join(checkout.path, file), 'utf8'));
  const digests = new Map(tests.map((test) => [test, digest(test)]));
  const modules = globSync(['src/**/*.ts', 'client/src/*.ts'], { cwd: checkout.path });
  const texts = new Set(modules.map(digest));
  const isThere = ([file, run]: [string, Run]) => modules.includes(file) || texts.has(run.digest);
  for (const each of known.values()) {
    if (digests.get(each.test) === each.digest && Object.entries(each.modules).every(isThere)) continue;
    known.delete(each.test);
  }
  mkdirSync(join(ROOT, '.mutation'), { recursive: true });
  writeFileSync(MAP, [...known.values()].map((each) => `${JSON.stringify(each)}\n`).join(''));
  const missing = tests.filter((test) => !known.has(test));
  if (missing.length > 0) process.stderr.write(`${missing.length} of ${tests.length} test files are new or changed\n`);
  const runAll = async () => {
    for (let test = missing.shift(); test !== undefined; test = missing.shift()) {
      const coverage = await coverageOf(test, digests.get(test) ?? '', checkout);
      if (!coverage) continue;
      known.set(test, coverage);
      appendFileSync(MAP, `${JSON.stringify(coverage)}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runAll));
  return [...known.values()];
}

/** What a test file runs; undefined if it fails, as it would fail with every mutant. */
async function coverageOf(test: string, digest: string, checkout: Checkout): Promise<Coverage | undefined> {
  using folder = mkdtempDisposableSync(`${checkout.path}-coverage-`);
  // Some tests start processes of another user.
  chmodSync(folder.path, 0o777);
  // Code from the cache has no ranges for its blocks.
  const env = { NODE_V8_COVERAGE: folder.path, NODE_DISABLE_COMPILE_CACHE: '1' };
  const start = performance.now();
  if ((await checkout.test(test, TEST_MS_MAX, env)) !== 'passed') {
    process.stderr.write(`${test} fails without a mutant, and is left out\n`);
    return undefined;
  }
  const ms = Math.round(performance.now() - start);
  return { test, digest, ms, modules: runsIn(folder.path, checkout.path) };
}
