import { createHash } from 'node:crypto';

const HEADERS_MAX = 3;
const LETTERS = 'bcdfghjklmnpqrstvwxz';
const NAME_CHARACTERS = 6;

type Json = null | boolean | number | string | Json[] | { readonly [name: string]: Json };

/** Reads and writes numbers as they stand: large ones would lose digits (ECMAScript, JSON.rawJSON). */
const EXACT = JSON as unknown as {
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): Json;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
};

/** True if a text is a JSON object, or a list with one; other APIs and defects send what is no JSON. */
export function holdsObject(text: string): boolean {
  try {
    const value: Json = JSON.parse(text);
    return [value].flat().some((each) => typeof each === 'object' && each !== null && !Array.isArray(each));
  } catch {
    return false;
  }
}

/** A JSON text with an unknown member in every object, and their members in another order. */
export function greasedJson(text: string, seed: string): string {
  const random = randomFrom(`members ${seed}`);
  const value = EXACT.parse(text, (_, each, { source }) => (typeof each === 'number' ? EXACT.rawJSON(source) : each));
  return JSON.stringify(greasedValue(value, random, unknownValues(random)));
}

function greasedValue(value: Json, random: () => number, values: () => Json): Json {
  if (Array.isArray(value)) return value.map((each) => greasedValue(each, random, values));
  if (value === null || typeof value !== 'object' || EXACT.isRawJSON(value)) return value;
  const members = Object.entries(value).map(([name, each]): [string, Json] => [
    name,
    greasedValue(each, random, values),
  ]);
  return Object.fromEntries(shuffled([...members, [`grease_${word(random)}`, values()]], random));
}

/** Cycles through values of every kind, starting at a random one. */
function unknownValues(random: () => number): () => Json {
  const values: readonly Json[] = [
    null,
    { [word(random)]: { [word(random)]: null } },
    [word(random), 0, { [word(random)]: [] }],
    word(random),
    -1.5,
    true,
    [],
  ];
  let next = Math.floor(random() * values.length);
  return () => {
    next = (next + 1) % values.length;
    return values[next] ?? null;
  };
}

/** Unknown headers, flat. */
export function unknownHeaders(seed: string): string[] {
  const random = randomFrom(`headers ${seed}`);
  const count = 1 + Math.floor(random() * HEADERS_MAX);
  return Array.from({ length: count }, () => [`Grease-${word(random)}`, word(random)]).flat();
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

function word(random: () => number): string {
  return Array.from({ length: NAME_CHARACTERS }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
}

/** Numbers from 0 to 1 that follow from a text (mulberry32). */
function randomFrom(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32LE();
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
