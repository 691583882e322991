import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { CatalogError } from '../../catalog/error.ts';

/** The CSRF token of a session, derived one-way from the session's token, so every instance can compute it. */
export function csrfToken(token: string): string {
  return hash('sha256', `csrf ${token}`, 'base64url');
}

/**
 * Throws `insufficient_scope` for a cross-site POST. Scripts cannot set either header; if the browser sends neither,
 * the CSRF token protects alone.
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isForeign =
    site === undefined ? origin !== undefined && URL.parse(origin)?.host !== host : site !== 'same-origin';
  if (isForeign) {
    throw new CatalogError('insufficient_scope', 'This was sent by a page of another site, so nothing was changed');
  }
}

/** Throws `insufficient_scope` if the CSRF token of a form is not that of the session. */
export function checkCsrf(form: URLSearchParams, csrf: string): void {
  const sent = Buffer.from(form.get('csrf') ?? '');
  const expected = Buffer.from(csrf);
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) {
    throw new CatalogError(
      'insufficient_scope',
      'This form belongs to another session, so nothing was changed; reload it',
    );
  }
}
