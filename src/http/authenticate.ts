import type { IncomingMessage } from 'node:http';
import {
  type ApiKey,
  couldBeSecret,
  type Environment,
  type FoundKey,
  hashSecret,
  isUsable,
} from '../catalog/api-key.ts';
import type { Storage } from '../catalog/storage.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Clock } from '../stdx/clock.ts';
import { refusal } from './errors.ts';
import type { Answer } from './transport/exchange.ts';

const REALM = 'Bearer realm="pet-catalog"';
/** RFC 6750, section 2.1: the scheme in any case, one or more spaces, the token. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const BEARER_SCHEME = /^bearer( |$)/i;
/** Keys cached at once; when full, the oldest is evicted. */
const FOUND_KEYS_MAX = 131_072;

/**
 * The key of a request, or the 401 that refuses it. A `FoundKey` fits this type, so a cached key needs no new object.
 */
export type Authentication =
  | { readonly key: ApiKey; readonly refused?: undefined }
  | { readonly key?: undefined; readonly refused: Answer };

const MISSING_KEY: Authentication = {
  refused: refusal('missing_api_key', 'No API key was sent; send it as `Authorization: Bearer <API_KEY>`', [
    'WWW-Authenticate',
    REALM,
  ]),
};
const INVALID_KEY: Authentication = {
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
  readonly #clock: Clock;
  #found = new BoundedMap<FoundKey>(FOUND_KEYS_MAX);
  /** Look-ups in flight, by hash: concurrent requests with the same key are coalesced into one query. */
  #finding = new Map<string, Promise<FoundKey | undefined>>();

  constructor(storage: Storage, { environment, clock }: { environment: Environment; clock: Clock }) {
    this.#storage = storage;
    this.#environment = environment;
    this.#clock = clock;
  }

  /**
   * Returns the key of a request, synchronously if it is cached, or a 401 that does not reveal why the key is invalid.
   * Rejects with `unavailable` if storage cannot be read.
   */
  authenticate(request: IncomingMessage): Authentication | Promise<Authentication> {
    const { authorization = '' } = request.headers;
    const token = bearerToken(authorization);
    if (token === undefined) return usesBearer(authorization) ? INVALID_KEY : MISSING_KEY;
    const hash = hashSecret(token);
    const found = this.#found.get(hash);
    if (found) return this.#open(found);
    if (!couldBeSecret(token, this.#environment)) return INVALID_KEY;
    return this.#findOnce(hash).then((late) => this.#open(late));
  }

  /** Empties the cache after keys changed. The result of a look-up in flight is neither cached nor shared. */
  forget(): void {
    this.#found = new BoundedMap(FOUND_KEYS_MAX);
    this.#finding = new Map();
  }

  #open(found: FoundKey | undefined): Authentication {
    return found && isUsable(found, this.#environment, this.#clock) ? found : INVALID_KEY;
  }

  #findOnce(hash: string): Promise<FoundKey | undefined> {
    const finding = this.#finding;
    const inFlight = finding.get(hash);
    if (inFlight) return inFlight;
    const found = this.#find(hash).finally(() => finding.delete(hash));
    finding.set(hash, found);
    return found;
  }

  async #find(hash: string): Promise<FoundKey | undefined> {
    const cache = this.#found;
    const found = await this.#storage.keys.findBySecret(hash);
    if (found) cache.set(hash, found);
    return found;
  }
}

/** The token in an Authorization header; undefined if it has none. */
export function bearerToken(authorization: string): string | undefined {
  // Fast path for the usual spelling: skip the pattern.
  return authorization.startsWith('Bearer p') ? authorization.slice(7) : BEARER.exec(authorization)?.[1];
}

/** Whether an Authorization header names the scheme of tokens, though it may hold none. */
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
