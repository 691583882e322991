import { createHash } from 'node:crypto';

const HEADERS_MAX = 3;
const LETTERS = 'bcdfghjklmnpqrstvwxz';
const WORD_CHARACTERS = 6;

/** Reads and writes numbers as they stand: large ones would lose digits (ECMAScript, JSON.rawJSON). */
const EXACT = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): unknown;
  rawJSON(text: string): object;
};

/** True if a text is a JSON object, or a list with one; other APIs and defects send what is no JSON. */
export function holdsObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return [value].flat().some((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
  } catch {
    return false;
  }
}

/** A JSON text with an unknown member of any kind in every object, and their members in another order. */
export function greasedJson(text: string, seed: string): string {
  const { word, number } = unknownFrom(`members ${seed}`);
  const values = [null, { [word]: { [word]: null } }, [word, 0, { [word]: [] }], word, -1.5, true, []];
  let next = number;
  const value = EXACT.parse(text, (_, each, { source }) => {
    if (typeof each === 'number') return EXACT.rawJSON(source);
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each;
    next += 1;
    const members = [...Object.entries(each).toReversed(), [`grease_${word}`, values[next % values.length]]];
    const first = next % members.length;
    return Object.fromEntries([...members.slice(first), ...members.slice(0, first)]);
  });
  return JSON.stringify(value);
}

/** One to three unknown headers, flat. */
export function unknownHeaders(seed: string): string[] {
  const { word, number } = unknownFrom(`headers ${seed}`);
  return Array.from({ length: 1 + (number % HEADERS_MAX) }, (_, place) => [`Grease-${word}-${place}`, word]).flat();
}

/** A word and a number that follow from a text. */
function unknownFrom(seed: string): { readonly word: string; readonly number: number } {
  const digest = createHash('sha256').update(seed).digest();
  const letters = [...digest.subarray(0, WORD_CHARACTERS)].map((byte) => LETTERS[byte % LETTERS.length]);
  return { word: letters.join(''), number: digest.readUInt16LE(WORD_CHARACTERS) };
}
