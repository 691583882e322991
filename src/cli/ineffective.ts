import { type ConfigSources, findValue, SETTINGS } from '../config.ts';

/** Settings of earlier releases: since when they have no effect, and what to do instead. */
export const FORMER_SETTINGS = { THREADS: { since: '0.2.0', instead: 'start more instances' } } as const;
/** The number of letters that a name in `.env` may be from a setting's to be taken for a slip of the pen. */
const SLIP_LETTERS_MAX = 2;

/** A name that is set and has no effect, in a sentence, and what `doctor` advises. */
export interface IneffectiveSetting {
  readonly finding: string;
  readonly advice: string;
}

/** Lists the former settings that are still set, and the names in `.env` that are nearly those of settings. */
export function findIneffective(sources: ConfigSources): IneffectiveSetting[] {
  const former = Object.entries(FORMER_SETTINGS).flatMap(([name, { since, instead }]) => {
    const found = findValue(name, sources, []);
    if (!found) return [];
    return [{ finding: `${name} has no effect since ${since}; ${instead} (from ${found.from})`, advice: 'remove it' }];
  });
  const known = new Set(
    [...Object.keys(SETTINGS), ...Object.keys(FORMER_SETTINGS)].flatMap((name) => [name, `${name}_FILE`]),
  );
  const slips = Object.keys(sources.file).flatMap((name) => {
    if (known.has(name)) return [];
    const meant = [...known].find((setting) => lettersApart(name.toUpperCase(), setting) <= SLIP_LETTERS_MAX);
    if (!meant) return [];
    const finding = `${name} is no setting; is ${meant} meant? (from .env)`;
    return [{ finding, advice: `rename it to ${meant}, or remove it` }];
  });
  return [...former, ...slips];
}

/** Counts the letters to insert, delete or replace in one name to make it the other (Levenshtein). */
function lettersApart(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    for (let to = 0; to < other.length; to += 1) {
      const replaced = (row[to] ?? 0) + (one[at] === other[to] ? 0 : 1);
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
