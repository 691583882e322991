import {
  type ApiKey,
  checkedChanges,
  type Environment,
  type KeyChanges,
  keyRevoked,
  mintSecret,
  type NewApiKey,
  newApiKey,
  ROTATION_GRACE_MAX_SECONDS,
  secretRecord,
} from '../api-key.ts';
import type { Operator } from '../audit.ts';
import { type Category, newCategory } from '../category.ts';
import { CatalogError, invalid } from '../error.ts';
import type { Precondition } from '../resource.ts';
import type { Storage } from '../storage.ts';

/** Changes of operators: one function for each, called by the commands, the console and the API. */

/** Who changes keys, and when (Unix seconds). */
export interface ChangeContext {
  readonly storage: Pick<Storage, 'keys'>;
  readonly environment: Environment;
  readonly now: number;
  readonly by: Operator;
  /** The condition on a key under which it is changed. */
  readonly precondition?: Precondition<ApiKey> | undefined;
}

/** A key with its new secret, which exists nowhere else. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** Issues a key. Throws `validation_failed`. */
export async function issueKey(
  { storage, environment, now, by }: ChangeContext,
  wanted: Omit<NewApiKey, 'environment'>,
): Promise<IssuedKey> {
  const { key, secret } = newApiKey({ ...wanted, environment }, now);
  await storage.keys.insert(key, secretRecord(secret), by);
  return { key, secret };
}

/** The key with this id. Throws `not_found`. */
export async function keyWithId({ storage }: Pick<ChangeContext, 'storage'>, id: string): Promise<ApiKey> {
  return found(await storage.keys.find(id), id);
}

/** Changes a key. Throws `validation_failed`, `not_found`, `key_revoked` or `precondition_failed`. */
export async function changeKey(context: ChangeContext, id: string, wanted: KeyChanges): Promise<ApiKey> {
  const { storage, now, by, precondition } = context;
  const changes = checkedChanges(await keyWithId(context, id), wanted, now);
  return usable(await storage.keys.update(id, changes, by, precondition), id);
}

/**
 * Gives a key a new secret; earlier ones end after the grace. Throws `validation_failed`, `not_found` or `key_revoked`.
 */
export async function rotateKey(context: ChangeContext, id: string, graceSeconds: number): Promise<IssuedKey> {
  const { storage, environment, now, by, precondition } = context;
  if (graceSeconds > ROTATION_GRACE_MAX_SECONDS) {
    throw invalid(`The grace is ${graceSeconds} s; at most 30d are possible`);
  }
  const { environment: own } = await keyWithId(context, id);
  if (own !== environment) throw invalid(`The key ${id} belongs to ${own}; rotate it where ENVIRONMENT is ${own}`);
  const secret = mintSecret(environment);
  const rotation = { now, oldEndAt: now + graceSeconds, by };
  // A revoked key stays as it was, so the new secret is useless.
  return { key: usable(await storage.keys.rotate(id, secretRecord(secret), rotation, precondition), id), secret };
}

/** Ends the old secrets of a key that are in their grace. Throws `not_found` or `key_revoked`. */
export async function endGraces({ storage, now, by, precondition }: ChangeContext, id: string): Promise<void> {
  usable(await storage.keys.endGraces(id, now, by, precondition), id);
}

/** Revokes a key permanently; a second time changes nothing. Throws `not_found`. */
export async function revokeKey({ storage, now, by, precondition }: ChangeContext, id: string): Promise<ApiKey> {
  return found(await storage.keys.revoke(id, now, by, precondition), id);
}

/** Lifts the ban of a key; false without one. Throws `not_found`. */
export async function liftBan(context: ChangeContext, id: string): Promise<boolean> {
  await keyWithId(context, id);
  return context.storage.keys.lift(id, context.now, context.by, context.precondition);
}

function usable(key: ApiKey | undefined, id: string): ApiKey {
  const { revokedAt } = found(key, id);
  if (revokedAt !== null) throw keyRevoked(id);
  return found(key, id);
}

function found(key: ApiKey | undefined, id: string): ApiKey {
  if (!key) throw new CatalogError('not_found', `There is no key ${id}; the list of keys shows them all`);
  return key;
}

/** Who changes categories. */
interface CategoryChangeContext {
  readonly storage: Pick<Storage, 'categories'>;
  readonly by: Operator;
  readonly precondition?: Precondition<Category> | undefined;
}

/** Renames a category. Throws `validation_failed`, `not_found` or `catalog_full`. */
export async function renameCategory(
  { storage, by, precondition }: CategoryChangeContext,
  id: number,
  name: unknown,
): Promise<Category> {
  const renamed = await storage.categories.rename(id, newCategory({ name }).name, by, precondition);
  if (!renamed) throw noCategory(id);
  return renamed;
}

/** Deletes a category for good. Throws `not_found`, or `category_in_use` if a pet belongs to it. */
export async function deleteCategory({ storage, by, precondition }: CategoryChangeContext, id: number): Promise<void> {
  const outcome = await storage.categories.delete(id, by, precondition);
  if (outcome === 'not found') throw noCategory(id);
  if (outcome === 'in use') {
    throw new CatalogError('category_in_use', `The category ${id} has pets, so it was not deleted`);
  }
}

function noCategory(id: number): CatalogError {
  return new CatalogError('not_found', `There is no category ${id}; the list of categories shows them all`);
}
