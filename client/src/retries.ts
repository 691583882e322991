import type { PetCatalogError } from './errors.ts';

export const RETRIES_MAX = 4;
const BACKOFF_MS = 500;
const BACKOFF_MS_MAX = 10_000;

/** Spreads the retries of clients that failed together. Drawn once a call, so that no wait is shorter than the last. */
export function newJitter(): number {
  return 0.5 + Math.random() / 2;
}

/** The wait before the next attempt, in milliseconds; undefined if there should be none. */
export function waitMsAfter(failure: PetCatalogError, attempt: number, jitter: number): number | undefined {
  const { status = 503, retryAfter = 0, code } = failure;
  if (code === 'key_banned') return undefined;
  if (status === 429 && code) return retryAfter * 1_000;
  const backoffMs = jitter * Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (attempt - 1));
  const isTransient = status === 408 || status === 429 || (status >= 500 && status !== 501 && status !== 505);
  return isTransient ? retryAfter * 1_000 + backoffMs : undefined;
}

/** True if the service may have done what a failed attempt asked for. */
export function mayBeDone({ status = 500, code }: PetCatalogError): boolean {
  return status >= 500 && code !== 'unavailable';
}
