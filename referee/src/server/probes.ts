import { bodyOf, type Exchange, Skipped } from '../trial/exchange.ts';
import type { Category, Listing } from '../trial/list-reader.ts';
import { creating, type Trial } from '../trial/trial.ts';
import { limitsOf, NOWHERE } from './catalog-limit.ts';

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

const REFILL_SECONDS = 1.1;
const COUNTING_TRIES = 2;
const UNICODE = ' É ß 猫 🐕';
const MARKUP = ' <b>&amp; & more</b>';

/** The answer to a create with characters that are often escaped, and with such that are not ASCII. */
export const createUnicode = (trial: Trial) =>
  trial.post({ name: `${trial.newName()}${UNICODE}`, description: 'A "species"\\breed, <b>& more</b>' });

/** The answer to a create with an id and an unknown member. */
export const createWithId = (trial: Trial) => trial.post({ name: trial.newName(), id: CLIENTS_ID, extra: [] });

export const withoutKey = (trial: Trial) => trial.sendAll(listAndCreate(trial, undefined));

/** A GET and creates with a key that was never issued, then a GET with what is nearly the key. */
export function withUnknownKey(trial: Trial): Promise<readonly Exchange[]> {
  const { key = '' } = trial.options;
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
  const turned = [...key]
    .map((each) => (each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase()))
    .join('');
  const near = [
    [key.slice(0, -1), `\${KEY%?}`],
    [key.slice(0, middle), `\${KEY:0:${middle}}`],
    [key.slice(0, middle) + other + key.slice(middle + 1), `\${KEY:0:${middle}}${other}\${KEY:${middle + 1}}`],
    [turned, `\${KEY~~}`],
  ] as const;
  // Of a key of one character nothing is left, and one of digits has no case.
  return near.filter(([each]) => each !== '' && each !== key);
}

/** One answer of each kind of error that a client can provoke with a good key. */
export const unknownPath = (trial: Trial) => trial.send({ path: NOWHERE });
export const unknownMethod = (trial: Trial) => trial.send({ method: 'PATCH' });
export const withoutName = (trial: Trial) => trial.post({});
export const withNumberAsName = (trial: Trial) => trial.post({ name: 1 });
export const head = (trial: Trial) => trial.send({ method: 'HEAD' });
export const options = (trial: Trial) => trial.send({ method: 'OPTIONS' });
export const largeBody = (trial: Trial) => trial.post(LARGE_BODY);
export const wrongMediaType = (trial: Trial) => trial.post({ name: trial.newName() }, { 'content-type': 'text/plain' });

/** Creates with values of every JSON type that is not that of their field. */
export const invalidValues = (trial: Trial) =>
  trial.sendAll([
    ...[null, true, ['a'], { a: 'b' }].map((name) => creating({ name })),
    ...[7, true, ['a'], { a: 'b' }].map((description) => creating({ name: trial.newName(), description })),
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
    const { [index % CROWD.length]: [ending, description] = ['', undefined] } = CROWD;
    const body = { name: `${name}${ending}`, ...(description !== undefined && { description }) };
    return trial.send(creating(body), { isAlone: true });
  });
  return { before, creates: await Promise.all(creates) };
}

/** Endings of names, and descriptions: what servers fold, escape or leave out. */
const CROWD: readonly (readonly [ending: string, description: string | undefined])[] = [
  ['', undefined],
  ['', 'The description of a category'],
  [UNICODE, undefined],
  [MARKUP, 'The <i>description</i> & more'],
  ['', ''],
];

/** True if a name or a description has characters that a server may refuse. */
export function isUnusual({ sent }: Exchange): boolean {
  return /[^ -~]|[<&]|"description":""/.test(sent.body ?? '');
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

/** A key of the same form that was never issued. Reports show it, so that it has no more of the key than a prefix. */
export function unknownKeyLike(key: string): string {
  const start = key.lastIndexOf('_', PREFIX_CHARACTERS_MAX - 1) + 1;
  return `${key.slice(0, start)}${'unknown'.repeat(40).slice(0, Math.max(8, key.length - start))}`;
}

/** A list, and creates that are valid, invalid and no JSON: the key is judged first. */
function listAndCreate(trial: Trial, authorization: string | undefined) {
  const creates = [{ name: trial.newName() }, { name: 1 }, '{"name":'].map((body) => ({
    ...creating(body),
    authorization,
  }));
  return [{ authorization }, ...creates];
}

/** Requests that count like a list, by name, each between two lists. Skipped if requests come back meanwhile. */
export async function countedTogether(trial: Trial): Promise<Readonly<Record<string, Between>>> {
  const first = await trial.send();
  // A bucket gives back several requests in this time, and a window none.
  await trial.wait(REFILL_SECONDS, 'requests that come back');
  const second = await trial.send();
  if (takenBetween(first, second) !== 1) throw new Skipped('requests come back all the time');
  return {
    'a create': await between(trial, () => create(trial)),
    'an unknown path': await between(trial, () => trial.send({ path: NOWHERE })),
  };
}

export type Between = readonly [before: Exchange, after: Exchange];

/** Two lists around a request; others if it seems not to count, as a request may have come back just then. */
async function between(trial: Trial, ask: () => Promise<Exchange>): Promise<Between> {
  for (let tries = 1; ; tries += 1) {
    const before = await trial.send();
    await ask();
    const after = await trial.send();
    if (tries === COUNTING_TRIES || takenBetween(before, after) >= 2) return [before, after];
  }
}

/** The requests that were counted from one answer to another of one window. Skipped if that cannot be told. */
export function takenBetween(before: Exchange, after: Exchange): number {
  const [then, now] = [limitsOf(before), limitsOf(after)];
  if (then.remaining === undefined || now.remaining === undefined) throw new Skipped('a header is missing');
  if (then.reset !== now.reset) throw new Skipped('the window ended meanwhile');
  return then.remaining - now.remaining;
}

/** Two creates of one name. */
export async function createTwice(trial: Trial): Promise<readonly [Exchange, Exchange]> {
  const body = { name: trial.newName() };
  return [await trial.post(body), await trial.post(body)];
}
