import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { DAY_SECONDS } from '../stdx/duration.ts';

/** The time that the outcome of work is kept for repeats of it. */
export const IDEMPOTENCY_SECONDS = DAY_SECONDS;
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The mark by which a repeat of work is recognised. Without `idempotency` there is none. */
export interface OnceId {
  /** The API key or operator token that asks for the work. */
  readonly keyId: string;
  /** The request that asks for it; absent for work without one. */
  readonly requestId?: string;
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
  /** The resource as JSON, where that was made already. */
  readonly json?: string;
  readonly isReplay: boolean;
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
