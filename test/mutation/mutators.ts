import { hash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

/** A change of a file: what stands at an offset, and what takes its place. */
export interface Mutant {
  readonly at: number;
  readonly from: string;
  readonly to: string;
}

type Mutator = (code: string) => Iterable<Mutant>;

/** So many of a file are tried, evenly spread: the others would be of the same kinds. */
const OF_A_FILE_MAX = 40;
/** Comments and texts, in which nothing is changed. */
const NO_CODE = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`/g;

/** Numbers and durations: twice as much; 0 and 1 become the other. */
function* numbers(code: string): Generator<Mutant> {
  for (const { 0: from, index: at } of code.matchAll(/(?<![\w.$#\\])\d[\d_]*(?:\.\d+)?(?![\w.])/g)) {
    const value = Number(from.replaceAll('_', ''));
    yield { at, from, to: value === 0 ? '1' : value === 1 ? '0' : `${2 * value}` };
  }
}

/** Members of objects, entries of lists and arguments that stand on lines of their own are left out. */
function* members(code: string): Generator<Mutant> {
  for (const { 0: from, index: at } of code.matchAll(
    /(?<=[{[(,]\n)[ \t]+(?:\.\.\.)?[\w$]+(?:: [^\n]+|\([^\n]*\))?,\n/g,
  ))
    yield { at, from, to: '' };
}

/** Two arguments change places. */
function* callArguments(code: string): Generator<Mutant> {
  for (const { 0: from, 1: one, 2: other, index: at } of code.matchAll(/(?<=[\w$]\()([\w.]+), ([\w.]+)(?=\)(?! \{))/g))
    if (one !== other) yield { at, from, to: `${other}, ${one}` };
}

const SQL: readonly (readonly [RegExp, string])[] = [
  [/ and [\w.]+ (?:[<>=!]+|is|in) [^\n`]*?(?= and | order | group |\n|`)/g, ''],
  [/(?<= )>=(?= )/g, '>'],
  [/(?<= )<(?= )/g, '<='],
  [/\bmin(?=\()/g, 'max'],
  [/\bmax(?=\()/g, 'min'],
  [/ desc\b/g, ''],
  [/(?<=order by [\w.]+)(?=\s)/g, ' desc'],
  [/ for update\b/g, ''],
];

/** Conditions, bounds and orders within SQL. */
function* sql(code: string): Generator<Mutant> {
  for (const { 0: statement, index: start } of code.matchAll(/\bsql`[^`]*`/g))
    for (const [pattern, to] of SQL)
      for (const { 0: from, index } of statement.matchAll(pattern)) yield { at: start + index, from, to };
}

/** Each entry of a closed set of texts is left out. */
function* entries(code: string): Generator<Mutant> {
  for (const { 0: set, index: start } of code.matchAll(/\[(?:'[^'\n]*'(?:, )?){2,}\]/g))
    for (const { 0: from, index } of set.matchAll(/'[^']*'(?:, )?/g)) yield { at: start + index, from, to: '' };
}

/** Numbers, entries and members of YAML. */
function* yaml(text: string): Generator<Mutant> {
  for (const { 0: from, index: at } of text.matchAll(
    /(?<=^[^#\n]*(?:[:>*<=] ?|- )"?)\d+(?:\.\d+)?(?=\w*"?(?:[ ,}\]\n]|$))/gm,
  ))
    yield { at, from, to: Number(from) === 0 ? '1' : `${2 * Number(from)}` };
  for (const { 0: from, index: at } of text.matchAll(/^ +(?:- )?[^#\s{][^\n]*[^:|\n]\n/gm)) yield { at, from, to: '' };
  for (const { 0: from, index: at } of text.matchAll(/\b(?:true|false)\b/g))
    yield { at, from, to: from === 'true' ? 'false' : 'true' };
}

/** The mutants of a file of TypeScript or YAML: what Stryker.js never changes. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const found = file.endsWith('.ts') ? [...ofCode(text)] : [...yaml(text)];
  const step = Math.max(1, found.length / OF_A_FILE_MAX);
  return found.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function* ofCode(text: string): Generator<Mutant> {
  // Types are blanks, so that only what runs is changed.
  const code = stripTypeScriptTypes(text, { mode: 'strip' });
  const bare = code.replaceAll(NO_CODE, (part) => part.replaceAll(/[^\n]/g, ' '));
  const mutators: [Mutator, string][] = [
    [numbers, bare],
    [members, code],
    [callArguments, bare],
    [sql, code],
    [entries, code],
  ];
  for (const [mutator, from] of mutators)
    for (const mutant of mutator(from)) if (parses(changed(text, mutant))) yield mutant;
}

/** Draws some, always the same of the same with the same seed. */
export function drawn<T>(all: readonly T[], count: number, seed: string): T[] {
  const order = new Map(all.map((each) => [each, hash('sha1', `${seed} ${JSON.stringify(each)}`)]));
  return all.toSorted((a, b) => ((order.get(a) ?? '') < (order.get(b) ?? '') ? -1 : 1)).slice(0, count);
}

/** The text with the change. */
export function changed(text: string, { at, from, to }: Mutant): string {
  return text.slice(0, at) + to + text.slice(at + from.length);
}

function parses(text: string): boolean {
  try {
    stripTypeScriptTypes(text);
    return true;
  } catch {
    return false;
  }
}
