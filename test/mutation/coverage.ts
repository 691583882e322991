import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The parts of a module that no test ran: begin and end of each in turn, ascending. */
type Parts = readonly number[];

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** A file of a folder of `NODE_V8_COVERAGE`. */
interface Report {
  readonly result: readonly { readonly url: string; readonly functions: readonly { readonly ranges: Range[] }[] }[];
}

/** What a test file ran of a module. */
export interface Run {
  /** Of the module's text. */
  readonly digest: string;
  readonly characters: number;
  readonly unrun: Parts;
}

/** What a test file ran. */
export interface Coverage {
  readonly test: string;
  /** Of the test file's text. */
  readonly digest: string;
  readonly ms: number;
  readonly modules: Readonly<Record<string, Run>>;
}

/** A place of a module, by its offset. */
interface Place {
  readonly file: string;
  readonly text: string;
  readonly at: number;
}

/** More would run for minutes against a mutant that lives. */
const NARROW_TESTS = 8;
const BROAD_TESTS = 8;
/** They compare what is generated from the tables of many modules with what it was before. */
const COMPARING_TESTS = ['test/contract/contract.test.ts', 'test/operator-api/contract.test.ts'];

/** The parts that did not run, by the innermost range around each place: V8 nests ranges of functions and blocks. */
export function unrunOf(ranges: readonly Range[]): Parts {
  const unrun: number[] = [];
  const around: Range[] = [];
  let from = 0;
  const endAt = (to: number) => {
    if (to > from && around.at(-1)?.count === 0) {
      if (unrun.at(-1) === from) unrun.pop();
      else unrun.push(from);
      unrun.push(to);
    }
    from = Math.max(from, to);
  };
  for (const range of ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)) {
    for (let last = around.at(-1); last && last.endOffset <= range.startOffset; last = around.at(-1)) {
      endAt(last.endOffset);
      around.pop();
    }
    endAt(range.startOffset);
    around.push(range);
  }
  for (let last = around.at(-1); last; last = around.at(-1)) {
    endAt(last.endOffset);
    around.pop();
  }
  return unrun;
}

/** The parts that ran in neither of two processes. */
export function unrunInBoth(one: Parts, other: Parts): Parts {
  const both: number[] = [];
  for (let [i, j] = [0, 0]; i < one.length && j < other.length; ) {
    const [oneEnd, otherEnd] = [one[i + 1] ?? 0, other[j + 1] ?? 0];
    const [from, to] = [Math.max(one[i] ?? 0, other[j] ?? 0), Math.min(oneEnd, otherEnd)];
    if (from < to) both.push(from, to);
    if (oneEnd <= otherEnd) i += 2;
    else j += 2;
  }
  return both;
}

/** What the processes that wrote their coverage into a folder ran of the modules below a root. */
export function runsIn(folder: string, root: string): Record<string, Run> {
  const runs: Record<string, Run> = {};
  for (const name of readdirSync(folder)) {
    for (const { url, functions } of read(join(folder, name)).result) {
      const file = url.startsWith('file:') ? relative(root, fileURLToPath(url)) : '';
      if (!/^(?:client\/)?src\/.*(?<!\.test)\.ts$/.test(file)) continue;
      const unrun = unrunOf(functions.flatMap(({ ranges }) => ranges));
      const before = runs[file];
      if (before) {
        runs[file] = { ...before, unrun: unrunInBoth(before.unrun, unrun) };
      } else {
        const text = readFileSync(join(root, file), 'utf8');
        runs[file] = { digest: digestOf(text), characters: text.length, unrun };
      }
    }
  }
  return runs;
}

/** A report, which is empty if its process was killed while it wrote. */
function read(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return { result: [] };
  }
}

/**
 * The tests that ran a place, about sixteen: first quick ones that call much of its module and folder and little else,
 * then those that run most of what these do not. A module that is not as it was then (`isStale`) has all tests that ran
 * any of it; one that was only renamed is known by its text.
 */
export function testsOf({ file, text, at }: Place, map: readonly Coverage[]): { tests: Coverage[]; isStale: boolean } {
  const digest = digestOf(text);
  const found = map.flatMap((coverage) => {
    const run = Object.values(coverage.modules).find((each) => each.digest === digest) ?? coverage.modules[file];
    return run ? [{ coverage, run }] : [];
  });
  const imported = importedIn(map);
  const atImport = Math.min(...found.map(({ run }) => sizeOf(run)));
  const ran = found
    .filter(({ run }) => run.digest !== digest || !has(run.unrun, at))
    .map(({ coverage, run }) => {
      // Most tests import a module only because others do; a table of it is read by those around it.
      const [called, around] = [gainOf(coverage, imported), gainOf(coverage, imported, `${dirname(file)}/`)];
      const here = sizeOf(run) - atImport + around / 10;
      const cost = here > 0 ? (Math.sqrt(coverage.ms) * called) / here ** 2 : Number.MAX_VALUE;
      return { coverage, cost };
    })
    .sort((one, other) => one.cost - other.cost)
    .map(({ coverage }) => coverage);
  const comparing = ran.filter(({ test }) => COMPARING_TESTS.includes(test));
  return {
    tests: [...new Set([...ran.slice(0, NARROW_TESTS), ...comparing, ...broadestOf(ran)])],
    isStale: found.some(({ run }) => run.digest !== digest),
  };
}

/** Of tests those that run most, in their time, of what the first of them and one another do not. */
function broadestOf(tests: readonly Coverage[]): Coverage[] {
  const most: Record<string, number> = {};
  const add = (test: Coverage) => {
    for (const [file, run] of Object.entries(test.modules)) most[file] = Math.max(most[file] ?? 0, sizeOf(run));
  };
  for (const test of tests.slice(0, NARROW_TESTS)) add(test);
  const left = new Set(tests.slice(NARROW_TESTS));
  const broadest: Coverage[] = [];
  while (left.size > 0 && broadest.length < BROAD_TESTS) {
    const gain = (test: Coverage) => gainOf(test, most) / Math.sqrt(test.ms);
    const next = [...left].reduce((best, each) => (gain(each) > gain(best) ? each : best));
    left.delete(next);
    broadest.push(next);
    add(next);
  }
  return broadest;
}

const importedOf = new WeakMap<readonly Coverage[], Record<string, number>>();

/** How many characters of each module run at its import, which is the least that a test ran of it. */
function importedIn(map: readonly Coverage[]): Record<string, number> {
  const known = importedOf.get(map);
  if (known) return known;
  const imported: Record<string, number> = {};
  for (const { modules } of map)
    for (const [file, run] of Object.entries(modules))
      imported[file] = Math.min(imported[file] ?? Infinity, sizeOf(run));
  importedOf.set(map, imported);
  return imported;
}

/** How many characters a test file ran of each module, perhaps only of a folder, beyond the most that others did. */
function gainOf({ modules }: Coverage, most: Readonly<Record<string, number>>, folder = ''): number {
  let gain = 0;
  for (const [file, run] of Object.entries(modules))
    if (file.startsWith(folder)) gain += Math.max(0, sizeOf(run) - (most[file] ?? 0));
  return gain;
}

/** Names a text. */
export function digestOf(text: string): string {
  return hash('sha1', text);
}

function has(parts: Parts, at: number): boolean {
  // Between a begin and its end, an odd number of bounds are passed.
  return parts.filter((bound) => bound <= at).length % 2 === 1;
}

const sizes = new WeakMap<Run, number>();

/** How many characters ran. */
function sizeOf(run: Run): number {
  const known = sizes.get(run);
  if (known !== undefined) return known;
  const size = run.unrun.reduce((sum, bound, index) => sum + (index % 2 === 0 ? bound : -bound), run.characters);
  sizes.set(run, size);
  return size;
}
