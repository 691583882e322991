import { createCipheriv, createDecipheriv, createHash, hash, randomBytes } from 'node:crypto';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { invalid } from './error.ts';
import { quote } from './validate.ts';

/** The time that the outcome of work is kept for repeats of it. */
export const IDEMPOTENCY_SECONDS = DAY_SECONDS;
/** Printable ASCII. The IETF draft quotes the key, most clients do not; `"k"` and `k` are the same key. */
export const IDEMPOTENCY_KEY = /^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The mark by which a repeat of work is recognised. Without `idempotency` there is none. */
export interface OnceId {
  /** The API key or operator token that asks for the work. */
  readonly keyId: string;
  readonly idempotency?: {
    /** The Idempotency-Key, unique within the API key or token. */
    readonly key: string;
    /** A hash of everything that a repeat must be equal in. */
    readonly fingerprint: string;
  };
}

/** The outcome of work that is done once; `isReplay` if it was done before, and this is what was kept of it. */
export interface Once<T> {
  readonly resource: T;
  readonly isReplay: boolean;
}

/** A request that asks for work, with everything that a repeat must be equal in. */
interface IdempotentRequest {
  readonly request: {
    readonly method?: string | undefined;
    readonly headers: NodeJS.Dict<string | string[]>;
    readonly headersDistinct: NodeJS.Dict<string[]>;
  };
  readonly path: string;
  readonly bodyBytes: Uint8Array;
}

/**
 * The key or token that a change comes from, and its `Idempotency-Key` if it has one. A retry must repeat method, path
 * and body byte for byte. Throws `validation_failed`.
 */
export function onceIdOf({ request, path, bodyBytes }: IdempotentRequest, keyId: string): OnceId {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return { keyId };
  if ((request.headersDistinct['idempotency-key']?.length ?? 0) > 1) {
    throw invalid('There are several Idempotency-Key headers; send one');
  }
  if (!IDEMPOTENCY_KEY.test(String(header))) {
    throw invalid(`Idempotency-Key is ${quote(header)}; send 1 to 255 printable ASCII characters, quoted or not`);
  }
  const idempotencyKey = String(header).replace(/^"(.*)"$/, '$1');
  const fingerprint = createHash('sha256').update(`${request.method} ${path}\n`).update(bodyBytes).digest('base64url');
  return { keyId, idempotency: { key: idempotencyKey, fingerprint } };
}

/** Seals the secret of an outcome that is kept with that of the token that asked for it, which is stored nowhere. */
export function seal(text: string, secret: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, cipherKey(secret), iv);
  const bytes = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), bytes]).toString('base64url');
}

/** The text that was sealed with a secret. */
export function unseal(sealed: string, secret: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, cipherKey(secret), bytes.subarray(0, IV_BYTES));
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}

/** Not the hash that is stored of the token. */
function cipherKey(secret: string): Buffer {
  return hash('sha256', `seal ${secret}`, 'buffer');
}
