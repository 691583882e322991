import { bodyOf, type Exchange, limitsOf, Skipped } from './exchange.ts';
import type { Category, Listing } from './list-reader.ts';
import { creating, type Trial } from './trial.ts';

/** One more than servers that cap a list by default give. */
const LISTED_MIN = 21;
const CREATED_MIN = 8;
/** A body that is larger than any category, and would create none. */
const LARGE_BODY = `${' '.repeat(300_000)}{}`;
/** Prefixes of keys, such as `petcat_live_`, tell whose they are. */
const PREFIX_CHARACTERS_MAX = 16;
/** Larger than any id that a service has assigned. */
export const CLIENTS_ID = 9_007_199_254_740_881;

export const create = (trial: Trial) => trial.post({ name: trial.newName() });

/** The list of all categories, after a create if creates are answered. */
export async function list(trial: Trial): Promise<Exchange> {
  await trial.once(create).catch(() => undefined);
  return trial.send();
}

export const createDescribed = (trial: Trial) => trial.post({ name: trial.newName(), description: 'A species' });

/** The answer to a create with characters that are often escaped, and with such that are not ASCII. */
export const createUnicode = (trial: Trial) =>
  trial.post({ name: `${trial.newName()} é ß 猫 🐕`, description: 'A "species"\\breed, <b>& more</b>' });

/** The answer to a create with an id and an unknown member. */
export const createWithId = (trial: Trial) => trial.post({ name: trial.newName(), id: CLIENTS_ID, extra: [] });

export const withoutKey = (trial: Trial) => trial.sendAll(listAndCreate(trial, undefined));

/** A GET and a POST with a key that was never issued, then a GET with what is nearly the key. */
export function withUnknownKey(trial: Trial): Promise<readonly Exchange[]> {
  const { key } = trial.options;
  const near = [`${key}x`, ...nearKeys(key).map(([each]) => each)];
  return trial.sendAll([
    ...listAndCreate(trial, `Bearer ${unknownKeyLike(key)}`),
    ...near.map((each) => ({ authorization: `Bearer ${each}` })),
  ]);
}

/** Keys that tell nearly all of a key without containing it, each with the word by which Bash makes it of `$KEY`. */
export function nearKeys(key: string): readonly (readonly [near: string, word: string])[] {
  const middle = Math.floor(key.length / 2);
  const other = key[middle] === 'x' ? 'y' : 'x';
  return [
    [key.slice(0, -1), `\${KEY%?}`],
    [key.slice(0, middle) + other + key.slice(middle + 1), `\${KEY:0:${middle}}${other}\${KEY:${middle + 1}}`],
  ];
}

/** One answer of each kind of error that a client can provoke with a good key. */
export const unknownPath = (trial: Trial) => trial.send({ path: '/conformance-nothing-is-here' });
export const unknownMethod = (trial: Trial) => trial.send({ method: 'PATCH' });
export const withoutName = (trial: Trial) => trial.post({});
export const withNumberAsName = (trial: Trial) => trial.post({ name: 1 });
export const head = (trial: Trial) => trial.send({ method: 'HEAD' });
export const options = (trial: Trial) => trial.send({ method: 'OPTIONS' });
export const largeBody = (trial: Trial) => trial.post(LARGE_BODY);
export const wrongMediaType = (trial: Trial) => trial.post({ name: trial.newName() }, { 'content-type': 'text/plain' });

/** Creates with values that are not of their type. */
export const invalidValues = (trial: Trial) =>
  trial.sendAll([
    ...[null, true, ['a'], { a: 'b' }].map((name) => creating({ name })),
    ...[7, ['a']].map((description) => creating({ name: trial.newName(), description })),
    ...[JSON.stringify([{ name: trial.newName() }]), 'null', '"text"'].map((body) => creating(body)),
  ]);

/** Creates with no JSON, and with nothing. */
export const badJson = (trial: Trial) =>
  trial.sendAll(['{"name":', `{"name":"${trial.newName()}"`, ''].map((body) => creating(body)));

/** The answer to a list that the client has already. Skipped if lists have no `ETag`. */
export async function notModified(trial: Trial): Promise<Exchange> {
  const etag = (await trial.send()).headers.get('etag');
  if (etag === undefined) throw new Skipped('the list has no ETag');
  return trial.send({ headers: { 'if-none-match': etag } });
}

/** Creates several categories at once, so many that the list has more than 20; `before` is the list before. */
export async function createCrowd(trial: Trial) {
  const before = await trial.send();
  const count = Math.max(CREATED_MIN, LISTED_MIN - (before.list?.count ?? 0));
  const creates = Array.from({ length: count }, (_, index) => {
    const name = trial.newName();
    const body = index % 2 === 0 ? { name } : { name, description: `The description of ${name}` };
    return trial.send(creating(body), { isAlone: true });
  });
  return { before, creates: await Promise.all(creates) };
}

/** Independent probes, which a slow server gets at once. */
export const FIRST_PROBES: readonly ((trial: Trial) => Promise<unknown>)[] = [
  list,
  createDescribed,
  createUnicode,
  createWithId,
  withoutKey,
  withUnknownKey,
  unknownPath,
  unknownMethod,
  withoutName,
  withNumberAsName,
  largeBody,
  wrongMediaType,
  invalidValues,
  badJson,
];

/** The list in an answer. Skipped if it is none, which is the matter of `list.200-array`. */
export function listOf(exchange: Exchange): Listing {
  const { list: listing, status } = exchange;
  if (listing === undefined) throw new Skipped(`a list was answered with ${status}`);
  if (listing.fault !== undefined) throw new Skipped(`${listing.fault}, which list.200-array judges`);
  return listing;
}

/** The category of a create. Skipped if there is none, which is the matter of another rule. */
export function createdOf(exchange: Exchange): Category {
  const category = bodyOf(exchange);
  if (exchange.status >= 300 || category.id === undefined) {
    throw new Skipped(`a create was answered with ${exchange.status} and no category`);
  }
  return category;
}

/** The `X-RateLimit-Reset` of an answer. Skipped unless it is a Unix time in seconds. */
export function resetOf(exchange: Exchange): number {
  const { reset } = limitsOf(exchange);
  if (reset === undefined || !isUnixTime(reset)) throw new Skipped('X-RateLimit-Reset is no Unix time');
  return reset;
}

/** True if a number can be a Unix time in seconds: from 2001 to 2286. */
export function isUnixTime(seconds: number): boolean {
  return seconds >= 1e9 && seconds < 1e10;
}

/** A key of the same form that was never issued. Reports show it, so that it has no more of the key than a prefix. */
export function unknownKeyLike(key: string): string {
  const start = key.lastIndexOf('_', PREFIX_CHARACTERS_MAX - 1) + 1;
  return `${key.slice(0, start)}${'unknown'.repeat(40).slice(0, Math.max(8, key.length - start))}`;
}

function listAndCreate(trial: Trial, authorization: string | undefined) {
  return [{ authorization }, { ...creating({ name: trial.newName() }), authorization }];
}
