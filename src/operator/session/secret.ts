import { randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET_BYTES = 32;

/** A random secret, of 256 bits. */
export function mintSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Compares secrets in a time that does not depend on where they differ. */
export function isSame(sent: string, expected: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
