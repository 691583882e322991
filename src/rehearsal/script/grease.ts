import { createHash } from 'node:crypto';
import type { Answer } from '../../http/transport/exchange.ts';

const HEADERS_MAX = 3;
const LETTERS = 'bcdfghjklmnpqrstvwxz';
const NAME_CHARACTERS = 6;

type Json = null | boolean | number | string | Json[] | { readonly [name: string]: Json };

/**
 * An answer with what may be added at any time within `/v1`: unknown members in every object, their order, unknown
 * headers, and no `ETag`. An error's body keeps its three members. The same seed and answer give the same.
 */
export function greased(answer: Answer, seed: string): Answer {
  const { body, code, cacheControl: _, ...rest } = answer;
  const text = body === undefined ? '' : textOf(body);
  const random = randomFrom(`${seed}\n${answer.status}\n${text}`);
  const headers = [...withoutEtag(answer.headers ?? []), ...unknownHeaders(random)];
  if (body === undefined) return { ...rest, headers };
  const values = unknownValues(random);
  const changed = code === undefined ? greasedValue(JSON.parse(text), random, values) : JSON.parse(text);
  return { ...rest, ...(code !== undefined && { code }), headers, body: JSON.stringify(changed) };
}

function greasedValue(value: Json, random: () => number, values: () => Json): Json {
  if (Array.isArray(value)) return value.map((each) => greasedValue(each, random, values));
  if (value === null || typeof value !== 'object') return value;
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

function unknownHeaders(random: () => number): string[] {
  const count = 1 + Math.floor(random() * HEADERS_MAX);
  return Array.from({ length: count }, () => [`Grease-${word(random)}`, word(random)]).flat();
}

function withoutEtag(headers: readonly string[]): string[] {
  return headers.filter((_, index) => headers[index - (index % 2)]?.toLowerCase() !== 'etag');
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

function textOf(body: string | readonly Uint8Array[]): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString('utf8');
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
