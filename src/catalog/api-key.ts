import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { DAY_SECONDS } from '../stdx/duration.ts';
import type { Time } from '../stdx/time.ts';
import type { Operator } from './audit.ts';
import type { Ban, RunningBan } from './ban.ts';
import { invalid } from './error.ts';
import { type Limits, PLANS, type PlanName } from './plan.ts';
import type { Place, Precondition } from './resource.ts';
import { NEVER_RESET, type Resets, type ResetWindow } from './window-counts.ts';

export const SCOPES = [
  'categories:read',
  'categories:write',
  'pets:read',
  'pets:write',
  'store:read',
  'store:write',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ENVIRONMENTS = ['production', 'staging'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_PREFIXES: Readonly<Record<Environment, string>> = { production: 'petcat_live_', staging: 'petcat_test_' };
const RANDOM_CHARACTERS = 30;
const CHECKSUM_CHARACTERS = 6;
/** The part of a secret that is stored and shown. */
export const SECRET_PREFIX_CHARACTERS = 16;
const NAME_CHARACTERS_MAX = 100;
const OWNER_CHARACTERS_MAX = 255;

/** As much of a secret, of a key or a token, as is stored. */
const SECRET_PREFIX = /petcat_(?:(?:live|test)_\w{4}|op_\w{6})/;

/** The published form of a key; both environments are the same length. */
export const KEY_PATTERN = /^petcat_(live|test)_[0-9A-Za-z]{36}$/;

const LIFE_MAX_SECONDS = 100 * 366 * DAY_SECONDS;

/** The longest grace that a rotation can give the old secret, in seconds: 30 days. */
export const ROTATION_GRACE_MAX_SECONDS = 30 * DAY_SECONDS;

/** A client's key as stored, without its secret. Moments are Unix seconds. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The visible beginning of the newest secret. */
  readonly prefix: string;
  readonly environment: Environment;
  readonly plan: PlanName;
  readonly limits: Limits;
  readonly scopes: readonly Scope[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Since when it is not accepted, until it is resumed; null if it is not paused. */
  readonly pausedAt: number | null;
  /** The customer's own id, if the operator noted one. */
  readonly owner: string | null;
  /** The last ban that no operator lifted, running or over. */
  readonly ban: RunningBan | null;
  /**
   * The number of times that an operator lifted the bans of the key, or reset its minute: refusals that were counted
   * and bans that were decided before the last time are void.
   */
  readonly banGeneration: number;
  /** The last resets of its windows by operators. */
  readonly resets: Resets;
}

/** The stored part of a secret: enough to recognise it, too little to use it. */
export interface SecretRecord {
  readonly hash: string;
  readonly prefix: string;
}

/** A key found by one of its secrets; `endsAt` is the end of that secret's grace if it was rotated. */
export interface FoundKey {
  readonly key: ApiKey;
  readonly endsAt: number | null;
}

export interface NewApiKey
  extends Pick<ApiKey, 'name' | 'environment' | 'plan'>,
    Partial<Pick<ApiKey, 'limits' | 'scopes' | 'expiresAt' | 'owner'>> {}

/** Makes a key and its first secret, which exists nowhere else. Throws `validation_failed` by its rules. */
export function newApiKey(wanted: NewApiKey, now: number): { key: ApiKey; secret: string } {
  checkName(wanted.name, 'key');
  checkOwner(wanted.owner);
  checkExpiry(wanted.expiresAt, now, 'key');
  const secret = mintSecret(wanted.environment);
  const key: ApiKey = {
    id: newId('key_'),
    name: wanted.name,
    prefix: secret.slice(0, SECRET_PREFIX_CHARACTERS),
    environment: wanted.environment,
    plan: wanted.plan,
    limits: planLimits(wanted.plan, wanted.limits),
    scopes: inOrder(wanted.scopes ?? SCOPES),
    createdAt: now,
    expiresAt: wanted.expiresAt ?? null,
    revokedAt: null,
    pausedAt: null,
    owner: wanted.owner ?? null,
    ban: null,
    banGeneration: 0,
    resets: NEVER_RESET,
  };
  return { key, secret };
}

/** Validates a change by the rules for a new key, and adds the limits of its plan. Throws `validation_failed`. */
export function checkedChanges(key: ApiKey, wanted: KeyChanges, now: number): KeyChanges {
  if (wanted.name !== undefined) checkName(wanted.name, 'key');
  checkOwner(wanted.owner);
  if (wanted.expiresAt !== key.expiresAt) checkExpiry(wanted.expiresAt, now, 'key');
  const changes = wanted.scopes ? { ...wanted, scopes: inOrder(wanted.scopes) } : wanted;
  if (wanted.plan === undefined && wanted.limits === undefined) return changes;
  const plan = wanted.plan ?? key.plan;
  const agreed = plan === 'enterprise' && key.plan === plan ? key.limits : undefined;
  return { ...changes, plan, limits: planLimits(plan, wanted.limits ?? agreed) };
}

/** The scopes in their usual order, each once. */
function inOrder(scopes: readonly Scope[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** Throws `validation_failed` unless a key, a token or an operator may have the name. */
export function checkName(name: string, kind: 'key' | 'token' | 'operator'): void {
  if (name.trim() && [...name].length <= NAME_CHARACTERS_MAX && !/[\p{Cc}\p{Cs}]/u.test(name)) return;
  throw invalid(
    `The name of ${kind === 'operator' ? 'an' : 'a'} ${kind} is 1 to ${NAME_CHARACTERS_MAX} visible characters`,
  );
}

/** Throws `validation_failed` unless a key may have the owner. */
export function checkOwner(owner: string | null | undefined): void {
  if (owner === null || owner === undefined) return;
  if (owner.trim() && [...owner].length <= OWNER_CHARACTERS_MAX && !/[\p{Cc}\p{Cs}]/u.test(owner)) return;
  throw invalid(`The owner of a key is 1 to ${OWNER_CHARACTERS_MAX} visible characters, or none`);
}

/** Throws `validation_failed` unless a key or a token may end at this moment. */
export function checkExpiry(expiresAt: number | null | undefined, now: number, kind: 'key' | 'token'): void {
  if (expiresAt === null || expiresAt === undefined) return;
  if (expiresAt > now && expiresAt <= now + LIFE_MAX_SECONDS) return;
  throw invalid(`The expiry of a ${kind} must be in the future and within 100 years`);
}

/** The limits of a plan; enterprise takes those agreed for the key. Throws `validation_failed` on a mismatch. */
function planLimits(plan: PlanName, agreed?: Limits): Limits {
  if (plan !== 'enterprise') {
    if (agreed) throw invalid(`The ${plan} plan has fixed limits; only enterprise takes its own`);
    return PLANS[plan];
  }
  if (!agreed) throw invalid('The enterprise plan needs limits per minute and per day');
  return agreed;
}

/** Mints a secret: a prefix that names the environment, 178 random bits and a checksum. */
export function mintSecret(environment: Environment): string {
  return mint(SECRET_PREFIXES[environment]);
}

/** A prefix and a secret: 178 random bits and a checksum. */
export function mint(prefix: string): string {
  const body = prefix + randomCharacters(RANDOM_CHARACTERS);
  return body + checksum(body);
}

/** True if a secret of the right form ends in its checksum. */
export function hasChecksum(secret: string): boolean {
  return checksum(secret.slice(0, -CHECKSUM_CHARACTERS)) === secret.slice(-CHECKSUM_CHARACTERS);
}

/** Reduces a secret to its stored record. */
export function secretRecord(secret: string): SecretRecord {
  return { hash: hashSecret(secret), prefix: secret.slice(0, SECRET_PREFIX_CHARACTERS) };
}

/** A text that is searched for: of a pasted secret its prefix alone. */
export function withoutSecret(text: string): string {
  return SECRET_PREFIX.exec(text)?.[0] ?? text;
}

/** Hashes a secret for storage. A fast hash suffices: 178 random bits cannot be guessed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** True if a token could have been issued for this environment; rejects typos without a look-up. */
export function couldBeSecret(token: string, environment: Environment): boolean {
  return KEY_PATTERN.test(token) && token.startsWith(SECRET_PREFIXES[environment]) && hasChecksum(token);
}

/** True if a found key is valid now in this environment. */
export function isUsable(found: FoundKey, environment: Environment, time: Pick<Time, 'now'>): boolean {
  const { key, endsAt } = found;
  if (key.revokedAt !== null || key.environment !== environment) return false;
  // Fast path: most keys have no end and need no clock.
  if (key.expiresAt === null && endsAt === null) return true;
  const now = time.now().unix;
  return (key.expiresAt === null || now < key.expiresAt) && (endsAt === null || now < endsAt);
}

/** The end or the pause of a key, and its moment; undefined for a key in use. */
export function endOf(key: ApiKey, now: number): { what: string; at: number } | undefined {
  const { revokedAt, expiresAt, pausedAt } = key;
  if (revokedAt !== null) return { what: 'Revoked', at: revokedAt };
  if (expiresAt !== null && expiresAt <= now) return { what: 'Expired', at: expiresAt };
  return pausedAt === null ? undefined : { what: 'Paused', at: pausedAt };
}

/**
 * A new id. Ids ascend with the machine's microseconds, so that they order what was made within a second; in one case,
 * because some collations ignore it.
 */
export function newId(prefix: string): string {
  const micros = Math.floor((performance.timeOrigin + performance.now()) * 1_000);
  return `${prefix}${micros.toString(36).padStart(10, '0')}${randomCharacters(6)}`;
}

function randomCharacters(count: number): string {
  return Array.from({ length: count }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < CHECKSUM_CHARACTERS) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

export interface KeyStorage {
  insert(key: ApiKey, secret: SecretRecord, by: Operator): Promise<void>;
  /** The key that owns a secret, whether or not it is still usable; the secret of a paused one has ended. */
  findBySecret(secretHash: string): Promise<FoundKey | undefined>;
  find(id: string): Promise<ApiKey | undefined>;
  /** The rotated secrets of each of these keys that still work, and until when, the last to end first. */
  graces(ids: readonly string[], now: number): Promise<Map<string, Grace[]>>;
  /** Ends the graces of a key now; undefined if the id is unknown. A revoked key stays as it is. */
  endGraces(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined>;
  /** The number of keys that a filter selects. */
  count(filter: KeyFilter): Promise<number>;
  /** A page of the keys that a filter selects. Pages have no gap, even where their keys change meanwhile. */
  list(query: KeyQuery): Promise<KeyPage>;
  /**
   * This and the next three return the updated key, or undefined if the id is unknown. A revoked key stays as it is.
   * Every change throws what `unless` throws.
   */
  update(id: string, changes: KeyChanges, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined>;
  /** Adds a secret; earlier ones end at `oldEndAt` at the latest. Returns a revoked key unchanged. */
  rotate(
    id: string,
    secret: SecretRecord,
    rotation: Rotation,
    unless?: Precondition<ApiKey>,
  ): Promise<ApiKey | undefined>;
  /** Pauses a key from a moment on, or resumes it with null; a paused one keeps its first moment. */
  pause(id: string, at: number | null, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined>;
  /** Revokes permanently; a repeat keeps the first moment. */
  revoke(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined>;
  /**
   * Imposes a ban, unless one of the key's bans runs meanwhile: then that one stands. With `isAnswered` it is stored as
   * it is, because a client was answered with it; else storage gives it end and level. Undefined if the key's bans were
   * lifted since the generation in which it was decided, or if there is no such key. Made again with the same start, it
   * returns the ban of the first time.
   */
  impose(
    id: string,
    ban: Ban,
    decided: { readonly banGeneration: number; readonly isAnswered: boolean },
  ): Promise<{ ban: RunningBan; isNew: boolean } | undefined>;
  /**
   * Ends the running ban, so that it does not lengthen later ones, and begins the next generation; with `isReset`
   * resets both windows as well, as `reset` does. False without a running ban: the generation begins all the same,
   * which ends one that is still to be stored, and the windows stay as they are.
   */
  lift(id: string, now: number, by: Operator, unless?: Precondition<ApiKey>, isReset?: boolean): Promise<boolean>;
  /**
   * Makes what the present windows have counted 0; their ends stay. With the minute the refusals are forgotten that
   * count towards a ban; a running ban stays. The audit has what was used before, as it was last saved (half a second).
   * Returns the key, a revoked one unchanged; undefined if the id is unknown.
   */
  reset(id: string, window: ResetWindow, by: Operator, unless?: Precondition<ApiKey>): Promise<ApiKey | undefined>;
  /** The running bans of keys that are neither revoked nor expired, the latest first, with the id of the key. */
  bans(now: number): Promise<(Ban & { keyId: string })[]>;
  /** The bans of a key, running, over or lifted, newest first. */
  banHistory(id: string, limit: number): Promise<(Ban & { liftedAt: number | null })[]>;
}

export const KEY_STATES = ['active', 'expired', 'revoked', 'paused', 'banned'] as const;
/** The first that applies of revoked, expired, paused, banned. */
type KeyState = (typeof KEY_STATES)[number];

/** Selects keys; absent members select all. Moments are Unix seconds. */
export interface KeyFilter {
  /**
   * Part of a name, an owner, an id or a prefix, regardless of case. Keys of which it is the whole come first in every
   * order.
   */
  readonly text?: string | undefined;
  readonly owner?: string | undefined;
  readonly plan?: PlanName | undefined;
  readonly state?: KeyState | undefined;
  readonly expiresBefore?: number | undefined;
  /** At least this many percent of the day's limit were used today. */
  readonly near?: number | undefined;
  /** Not used for so many seconds, or never. */
  readonly unused?: number | undefined;
  /** The moment of the states. */
  readonly now: number;
}

/**
 * Sort orders of keys; those without a last use, or without an expiry, come last. `unused` has those that were never
 * used first, then the longest unused; `use` the greatest share of the day's limit used today.
 */
export const KEY_SORTS = ['newest', 'oldest', 'name', 'last-used', 'unused', 'use', 'expiry'] as const;
export type KeySort = (typeof KEY_SORTS)[number];

export interface KeyQuery extends KeyFilter {
  /** `newest` if absent. */
  readonly sort?: KeySort | undefined;
  /** Only keys after this place, the `last` of the page before with the same filter and order. */
  readonly behind?: Place | undefined;
  readonly limit: number;
}

/** A page of keys; `last` is the place of its last one if there are more. */
export interface KeyPage {
  readonly keys: ApiKey[];
  readonly last: Place | undefined;
}

/** A rotated secret that still works. */
export interface Grace {
  readonly prefix: string;
  readonly endsAt: number;
}

/** The members of a key that an operator may change; absent members stay. */
export type KeyChanges = Partial<Pick<ApiKey, 'name' | 'plan' | 'limits' | 'scopes' | 'expiresAt' | 'owner'>>;

/** Moments in Unix seconds. */
export interface Rotation {
  readonly now: number;
  readonly oldEndAt: number;
  readonly by: Operator;
}
