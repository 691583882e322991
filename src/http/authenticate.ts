import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import {
  type ApiKey,
  couldBeSecret,
  type Environment,
  endOf,
  type FoundKey,
  hashSecret,
  isUsable,
} from '../catalog/api-key.ts';
import type { Storage } from '../catalog/storage.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import { type Time, utc } from '../stdx/time.ts';
import { refusal } from './errors.ts';
import type { Answer } from './transport/exchange.ts';

const REALM = 'Bearer realm="pet-catalog"';
const KEY_IN_ADDRESS = /[?&](?:api[-_]?key|key|access_token|token|authorization)=|petcat_/i;
/** RFC 6750, section 2.1: the scheme in any case, one or more spaces, the token. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const BEARER_SCHEME = /^bearer( |$)/i;
/** Keys cached at once; when full, the oldest is evicted. */
const FOUND_KEYS_MAX = 131_072;

/**
 * The key of a request, or the answer that refuses it. A `FoundKey` fits this type, so that a cached key needs no new
 * object.
 */
export type Authentication =
  | { readonly key: ApiKey; readonly refused?: undefined }
  | { readonly key?: undefined; readonly refused: Answer };

const NO_KEY = missingKey('No API key was sent');
const SEVERAL_HEADERS = missingKey('There are several Authorization headers, of which none counts');
const BARE_KEY = missingKey('The Authorization header has a key without the word Bearer before it');
const OTHER_SCHEME = missingKey('The Authorization header has another scheme than Bearer');
const ELSEWHERE = missingKey('A key in the address or in X-API-Key is not read, and may be in logs by now');
const INVALID_KEY = {
  refused: refusal('invalid_api_key', 'The API key is not valid; check it, or ask the operator for another', [
    'WWW-Authenticate',
    `${REALM}, error="invalid_token"`,
  ]),
};

/**
 * Authenticates requests by API key through a cache of keys found in storage. Only keys that exist are cached, so
 * guesses cost no memory.
 */
export class Authenticator {
  readonly #storage: Storage;
  readonly #environment: Environment;
  readonly #time: Time;
  #found = new BoundedMap<FoundKey>(FOUND_KEYS_MAX);
  /** The last header with a key on each connection and its hash, which costs more than the look-up. */
  readonly #lastValid = new WeakMap<Socket, { readonly authorization: string; readonly hash: string }>();
  /** The hashes of the cached secrets by the id of their key; it stays as long as one of them is cached. */
  #hashes = new BoundedMap<readonly string[]>(FOUND_KEYS_MAX, (id) => !this.#isCached(id));
  /** Look-ups in flight, by hash: concurrent requests with the same key are coalesced into one query. */
  readonly #finding = new Map<string, Promise<FoundKey | undefined>>();
  /** For each look-up in flight the keys that changed since it began; undefined: any may have changed. */
  readonly #changed = new Set<{ ids: Set<string> | undefined }>();

  constructor(storage: Storage, { environment, time }: { environment: Environment; time: Time }) {
    this.#storage = storage;
    this.#environment = environment;
    this.#time = time;
  }

  /**
   * Returns the key of a request, synchronously if it is cached, or a 401 that does not reveal why the key is invalid.
   * However many are looked up at once, the storage asks for them in a few queries. Rejects with `unavailable` if it
   * cannot be read.
   */
  authenticate(request: IncomingMessage): Authentication | Promise<Authentication> {
    const { authorization = '' } = request.headers;
    const last = this.#lastValid.get(request.socket);
    const known = last?.authorization === authorization ? this.#found.get(last.hash) : undefined;
    if (known) return this.#open(known);
    const token = bearerToken(authorization);
    if (token === undefined) return withoutToken(request);
    const hash = hashSecret(token);
    const found = this.#found.get(hash);
    if (found) {
      this.#lastValid.set(request.socket, { authorization, hash });
      return this.#open(found);
    }
    if (!couldBeSecret(token, this.#environment)) return withoutToken(request);
    return this.#findOnce(hash).then((late) => this.#open(late));
  }

  /**
   * Drops keys from the cache after they changed, all of them if they are not named: the next request reads them anew.
   * A look-up in flight that finds one of them, or nothing, is made again.
   */
  forget(keyIds?: readonly string[]): void {
    for (const changed of this.#changed) {
      if (!keyIds) changed.ids = undefined;
      for (const id of keyIds ?? []) changed.ids?.add(id);
    }
    if (!keyIds) {
      this.#found.clear();
      this.#hashes.clear();
    }
    for (const id of keyIds ?? []) {
      for (const hash of this.#hashes.get(id) ?? []) this.#found.delete(hash);
      this.#hashes.delete(id);
    }
  }

  #open(found: FoundKey | undefined): Authentication {
    if (found && isUsable(found, this.#environment, this.#time)) return found;
    if (!found) return INVALID_KEY;
    const end = endOf(found.key, this.#time.now().unix);
    const reason = end ? `${end.what.toLowerCase()} at ${utc(end.at)}` : 'its secret was rotated';
    return { refused: { ...INVALID_KEY.refused, ended: { keyId: found.key.id, reason } } };
  }

  #findOnce(hash: string): Promise<FoundKey | undefined> {
    const inFlight = this.#finding.get(hash);
    if (inFlight) return inFlight;
    const found = this.#find(hash).finally(() => this.#finding.delete(hash));
    this.#finding.set(hash, found);
    return found;
  }

  async #find(hash: string): Promise<FoundKey | undefined> {
    for (;;) {
      const changed: { ids: Set<string> | undefined } = { ids: new Set() };
      this.#changed.add(changed);
      const found = await this.#storage.keys.findBySecret(hash).finally(() => this.#changed.delete(changed));
      const isCurrent = found ? changed.ids?.has(found.key.id) === false : changed.ids?.size === 0;
      if (found && isCurrent) this.#cache(hash, found);
      if (isCurrent) return found;
    }
  }

  #cache(hash: string, found: FoundKey): void {
    const { id } = found.key;
    const others = (this.#hashes.get(id) ?? []).filter((other) => other !== hash && this.#found.has(other));
    this.#found.set(hash, found);
    this.#hashes.set(id, [...others, hash]);
  }

  #isCached(id: string): boolean {
    return this.#hashes.get(id)?.some((hash) => this.#found.has(hash)) === true;
  }
}

/** Refuses a request whose token cannot be a key, and says what it has if there is no token at all; never quotes it. */
function withoutToken({ headers, headersDistinct, url = '' }: IncomingMessage): Authentication {
  const { authorization = '' } = headers;
  // Node joins several headers with commas, so only a comma makes them worth counting.
  if (authorization.includes(',') && (headersDistinct.authorization?.length ?? 0) > 1) return SEVERAL_HEADERS;
  if (usesBearer(authorization)) return authorization.trim().length === 'Bearer'.length ? NO_KEY : INVALID_KEY;
  if (authorization.startsWith('petcat_')) return BARE_KEY;
  if (authorization !== '') return OTHER_SCHEME;
  return headers['x-api-key'] !== undefined || KEY_IN_ADDRESS.test(url) ? ELSEWHERE : NO_KEY;
}

function missingKey(found: string): Authentication {
  const message = `${found}; send one header \`Authorization: Bearer <API_KEY>\``;
  return { refused: refusal('missing_api_key', message, ['WWW-Authenticate', REALM]) };
}

/** The token in an Authorization header; undefined if it has none. */
export function bearerToken(authorization: string): string | undefined {
  // Fast path for the usual spelling: skip the pattern.
  return authorization.startsWith('Bearer p') ? authorization.slice(7) : BEARER.exec(authorization)?.[1];
}

/** True if an Authorization header names the scheme of tokens, though it may hold none. */
export function usesBearer(authorization: string): boolean {
  return BEARER_SCHEME.test(authorization);
}

/** The 403 for a valid key that lacks the scope of an operation (RFC 6750, section 3.1). */
export function insufficientScope(scope: string): Answer {
  return refusal('insufficient_scope', `The API key lacks the scope ${scope}; ask the operator for a key that has it`, [
    'WWW-Authenticate',
    `${REALM}, error="insufficient_scope", scope="${scope}"`,
  ]);
}
