import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
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
interface Run {
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
const TESTS_MAX = 16;

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
 * The tests that ran a place, those first that are quick and run little beside its module. A module that is not as it
 * was then (`isStale`) has all tests that ran any of it; one that was only renamed is known by its text.
 */
export function testsOf({ file, text, at }: Place, map: readonly Coverage[]): { tests: Coverage[]; isStale: boolean } {
  const digest = digestOf(text);
  const found = map.flatMap((coverage) => {
    const run = coverage.modules[file] ?? Object.values(coverage.modules).find((each) => each.digest === digest);
    return run ? [{ coverage, run }] : [];
  });
  const ran = found.filter(({ run }) => run.digest !== digest || !has(run.unrun, at));
  const order = ({ coverage, run }: (typeof ran)[number]) =>
    (Math.sqrt(coverage.ms) * sizeOf(coverage)) / sizeOfRun(run);
  return {
    tests: ran
      .toSorted((a, b) => order(a) - order(b))
      .slice(0, TESTS_MAX)
      .map(({ coverage }) => coverage),
    isStale: found.some(({ run }) => run.digest !== digest),
  };
}

/** Names a text. */
export function digestOf(text: string): string {
  return hash('sha1', text);
}

function has(parts: Parts, at: number): boolean {
  // Between a begin and its end, an odd number of bounds are passed.
  return parts.filter((bound) => bound <= at).length % 2 === 1;
}

/** How much a test file ran, in characters. */
function sizeOf({ modules }: Coverage): number {
  return Object.values(modules).reduce((sum, run) => sum + sizeOfRun(run), 0);
}

function sizeOfRun({ characters, unrun }: Run): number {
  return unrun.reduce((sum, bound, index) => sum + (index % 2 === 0 ? bound : -bound), characters);
}
