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
/** Keys remembered at once; further ones push out the oldest, to be found in storage again. */
const FOUND_KEYS_MAX = 131_072;

/** The key of a request, or the 401 that refuses it. A `FoundKey` is one, so that a known key needs no new object. */
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
 * Tells whose key a request carries, asking storage only for keys that it has not seen lately. Only good keys are
 * remembered, so that guesses cost no memory.
 */
export class Authenticator {
  readonly #storage: Storage;
  readonly #environment: Environment;
  readonly #clock: Clock;
  #found = new BoundedMap<FoundKey>(FOUND_KEYS_MAX);
  /** Look-ups under way, by hash: however many requests bring a key at once, storage is asked once. */
  #finding = new Map<string, Promise<FoundKey | undefined>>();

  constructor(storage: Storage, { environment, clock }: { environment: Environment; clock: Clock }) {
    this.#storage = storage;
    this.#environment = environment;
    this.#clock = clock;
  }

  /**
   * The key of a request, at once if it is remembered, or a 401, which is the same for every reason why a key does not
   * open. Rejects with `unavailable` if storage cannot be asked.
   */
  authenticate(request: IncomingMessage): Authentication | Promise<Authentication> {
    const { authorization = '' } = request.headers;
    // As nearly everybody writes it; what follows need not be looked at before it is looked up.
    const token = authorization.startsWith('Bearer p') ? authorization.slice(7) : BEARER.exec(authorization)?.[1];
    if (token === undefined) return BEARER_SCHEME.test(authorization) ? INVALID_KEY : MISSING_KEY;
    const hash = hashSecret(token);
    const found = this.#found.get(hash);
    if (found) return this.#open(found);
    if (!couldBeSecret(token, this.#environment)) return INVALID_KEY;
    return this.#findOnce(hash).then((late) => this.#open(late));
  }

  /** Forgets all keys, after some were changed. A look-up that is under way will be neither remembered nor shared. */
  forget(): void {
    this.#found = new BoundedMap(FOUND_KEYS_MAX);
    this.#finding = new Map();
  }

  #open(found: FoundKey | undefined): Authentication {
    return found && isUsable(found, this.#environment, this.#clock) ? found : INVALID_KEY;
  }

  #findOnce(hash: string): Promise<FoundKey | undefined> {
    const finding = this.#finding;
    const underWay = finding.get(hash);
    if (underWay) return underWay;
    const found = this.#find(hash).finally(() => finding.delete(hash));
    finding.set(hash, found);
    return found;
  }

  async #find(hash: string): Promise<FoundKey | undefined> {
    const remembered = this.#found;
    const found = await this.#storage.keys.findBySecret(hash);
    if (found) remembered.set(hash, found);
    return found;
  }
}

/** The refusal for a good key that lacks the scope of an operation (RFC 6750, section 3.1). */
export function insufficientScope(scope: string): Answer {
  return refusal('insufficient_scope', `The API key lacks the scope ${scope}; ask the operator for a key that has it`, [
    'WWW-Authenticate',
    `${REALM}, error="insufficient_scope", scope="${scope}"`,
  ]);
}
