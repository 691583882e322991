import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashSecret } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { ConsoleSession, SessionStorage } from '../../catalog/operator/access.ts';
import { HOUR_SECONDS } from '../../stdx/duration.ts';
import type { Logins } from './logins.ts';
import { isSame, mintSecret } from './secret.ts';

/** The console's sessions and their cookies, and the checks of what a session sends. */

const COOKIE = 'pet_catalog_console';
/** Where a request without a session was going. */
const WANTED = 'pet_catalog_wanted';
const WANTED_SECONDS = 600;
/** A page of the console, with its query. */
const PAGE = /^\/console(?:[/?][\w/?&=.~%+-]*)?$/;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const SESSION_SECONDS = 12 * HOUR_SECONDS;
const SEEN_SECONDS = 60;

/** The cookie of the session that a login opens, with a new token (no session fixation). Undefined if it is invalid. */
export async function openSession(
  logins: Logins,
  { login, now, request }: { login: string; now: number; request: IncomingMessage },
): Promise<string | undefined> {
  const token = mintSecret();
  const opened = await logins.open(login, { hash: hashSecret(token), now, endsAt: now + SESSION_SECONDS });
  return opened && sessionCookie(token, SESSION_SECONDS, request);
}

/**
 * The open session of a request with its CSRF token, or undefined. Records the use of the session, once a minute at
 * most. The refresh of an open page does not count, or a screen left alone would stay signed in.
 */
export async function findSession(
  sessions: Pick<SessionStorage, 'find' | 'touch'>,
  request: IncomingMessage,
  now: number,
): Promise<{ session: ConsoleSession; csrf: string } | undefined> {
  const token = readCookie(request, cookieOf(request));
  if (!TOKEN.test(token)) return undefined;
  const session = await sessions.find(hashSecret(token), now);
  if (!session) return undefined;
  if (request.headers['x-refresh'] === undefined && session.lastSeenAt <= now - SEEN_SECONDS) {
    // A database that cannot write still serves pages; storage reports the failure itself.
    await sessions.touch(session.id, now).catch(() => {});
  }
  // Derived one-way from the session's token, so every instance can compute it.
  return { session, csrf: hash('sha256', `csrf ${token}`, 'base64url') };
}

/**
 * Throws `insufficient_scope` for a cross-site POST. Scripts cannot set either header; if the browser sends neither,
 * the CSRF token protects alone, or without a session nothing does: then both must be sent.
 */
export function checkOrigin({ headers }: IncomingMessage, { mustBeSent = false } = {}): void {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isOwn = origin !== undefined && URL.parse(origin)?.host === host;
  if (mustBeSent && (site === undefined || !isOwn)) {
    const message = 'The browser must say that a page of the console sent this: use HTTPS, and pass on Host and Origin';
    throw new CatalogError('insufficient_scope', message);
  }
  if (site === undefined ? origin !== undefined && !isOwn : site !== 'same-origin') {
    throw new CatalogError('insufficient_scope', 'This was sent by a page of another site, so nothing was changed');
  }
}

/** Throws `insufficient_scope` if the CSRF token of a form is not that of the session. */
export function checkCsrf(form: URLSearchParams, csrf: string): void {
  if (isSame(form.get('csrf') ?? '', csrf)) return;
  throw new CatalogError(
    'insufficient_scope',
    'This form belongs to another session, so nothing was changed; reload it',
  );
}

/** The Set-Cookie value of a session's token; with 0 seconds it deletes the cookie. */
export function sessionCookie(token: string, seconds: number, request: IncomingMessage): string {
  return `${cookieOf(request)}=${token}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure(request)}`;
}

/** Named after the port: browsers send cookies to every port of a host, and two instances would end each other's. */
function cookieOf({ socket }: IncomingMessage): string {
  return `${COOKIE}_${socket.localPort}`;
}

/** A proxy reports HTTPS. A client that fakes the header only loses its own cookie. */
function secure({ headers }: IncomingMessage): string {
  return headers['x-forwarded-proto'] === 'https' ? '; Secure' : '';
}

/** The Set-Cookie value by which the login leads on to the page of a request. */
export function wantedCookie(page: string, request: IncomingMessage): string {
  const value = PAGE.test(page) ? encodeURIComponent(page) : '';
  // Lax, because the link to the page may be in a mail or another site.
  return `${WANTED}=${value}; Path=/console/login; Max-Age=${WANTED_SECONDS}; HttpOnly; SameSite=Lax${secure(request)}`;
}

/** True if the browser came by a link of another site; it then sends no cookie that is `SameSite=Strict`. */
export function comesFromElsewhere({ headers }: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, referer, host } = headers;
  if (site !== undefined) return site === 'cross-site' || site === 'same-site';
  return referer !== undefined && URL.parse(referer)?.host !== host;
}

/** The page that was wanted before the login; the overview unless one was. */
export function wantedPage(request: IncomingMessage): string {
  try {
    const page = decodeURIComponent(readCookie(request, WANTED));
    return PAGE.test(page) ? page : '/console';
  } catch {
    return '/console';
  }
}

function readCookie({ headers: { cookie = '' } }: IncomingMessage, name: string): string {
  const found = cookie.split(/;\s*/).find((pair) => pair.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? '';
}
