import { type Exchange, jsonOf, limitsOf, membersOf } from './exchange.ts';
import { Skipped } from './rule.ts';
import type { Trial, Wanted } from './trial.ts';

/** One more than servers that cap a list by default give. */
const LISTED_MIN = 21;
const CREATED_MIN = 8;
/** A body that is larger than any category, and would create none. */
const LARGE_BODY = `${' '.repeat(300_000)}{}`;

/** The answer to a create with a name alone. */
export const create = (trial: Trial) => trial.post({ name: trial.newName() });

/** The list of all categories, after a create if creates are answered. */
export async function list(trial: Trial): Promise<Exchange> {
  await trial.once(create).catch(() => undefined);
  return trial.send();
}

/** The answer to a create with a name and a description. */
export const createDescribed = (trial: Trial) => trial.post({ name: trial.newName(), description: 'A species' });

/** Requests without a key, and with an unknown one; a GET and a POST each. */
export const withoutKey = (trial: Trial) => listAndCreate(trial, undefined);
export const withUnknownKey = (trial: Trial) => listAndCreate(trial, `Bearer ${unknownKeyLike(trial.keys.key)}`);

/** One answer of each kind of error that a client can provoke with a good key. */
export const unknownPath = (trial: Trial) => trial.send({ path: '/conformance-nothing-is-here' });
export const unknownMethod = (trial: Trial) => trial.send({ method: 'PATCH' });
export const withoutName = (trial: Trial) => trial.post({});
export const withNumberAsName = (trial: Trial) => trial.post({ name: 1 });
export const head = (trial: Trial) => trial.send({ method: 'HEAD' });
export const largeBody = (trial: Trial) => trial.post(LARGE_BODY);
export const wrongMediaType = (trial: Trial) => trial.post({ name: trial.newName() }, { 'content-type': 'text/plain' });

/** The answer to a list that the client has already. Skipped if lists have no `ETag`. */
export async function notModified(trial: Trial): Promise<Exchange> {
  const { answer } = await trial.send();
  const etag = answer.headers.get('etag');
  if (etag === undefined) throw new Skipped('the list has no ETag');
  return trial.send({ headers: { 'if-none-match': etag } });
}

/** What was created at once, and the list before. */
export interface Crowd {
  readonly before: Exchange;
  readonly creates: readonly Exchange[];
}

/** Creates several categories at once, so many that the list has more than 20. */
export async function createCrowd(trial: Trial): Promise<Crowd> {
  const before = await trial.send();
  const count = Math.max(CREATED_MIN, LISTED_MIN - itemsOf(before).length);
  const creates = Array.from({ length: count }, (_, index) => {
    const name = trial.newName();
    const body = JSON.stringify(index % 2 === 0 ? { name } : { name, description: `The description of ${name}` });
    return trial.sendOnce({ method: 'POST', headers: { 'content-type': 'application/json' }, body }, { isAlone: true });
  });
  return { before, creates: await Promise.all(creates) };
}

/** The items of a list; none if the body is no array. */
export function itemsOf({ answer }: Exchange): readonly Readonly<Record<string, unknown>>[] {
  const value = jsonOf(answer);
  return Array.isArray(value) ? value.map(membersOf) : [];
}

/** The category of a create. Skipped if there is none, which is the matter of another rule. */
export function createdOf(exchange: Exchange): Readonly<Record<string, unknown>> {
  const category = membersOf(jsonOf(exchange.answer));
  if (exchange.answer.status >= 300 || category.id === undefined) {
    throw new Skipped(`a create was answered with ${exchange.answer.status} and no category`);
  }
  return category;
}

/** The `X-RateLimit-Reset` of an answer. Skipped unless it is a Unix time in seconds. */
export function resetOf({ answer }: Exchange): number {
  const { reset } = limitsOf(answer);
  if (reset === undefined || !isUnixTime(reset)) throw new Skipped('X-RateLimit-Reset is no Unix time');
  return reset;
}

/** Whether a number can be a Unix time in seconds: from 2001 to 2286. */
export function isUnixTime(seconds: number): boolean {
  return seconds >= 1e9 && seconds < 1e10;
}

/** A key of the same form that was never issued. */
export function unknownKeyLike(key: string): string {
  const start = key.lastIndexOf('_') + 1;
  return `${key.slice(0, start)}${'unknown'.repeat(40).slice(0, Math.max(8, key.length - start))}`;
}

async function listAndCreate(trial: Trial, authorization: string | undefined): Promise<readonly [Exchange, Exchange]> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: trial.newName() });
  const post: Wanted = { method: 'POST', headers, body, authorization };
  return [await trial.send({ authorization }), await trial.send(post)];
}
