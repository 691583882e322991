import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashSecret } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { ConsoleSession } from '../../catalog/session.ts';
import type { Storage } from '../../catalog/storage.ts';
import { HOUR_SECONDS } from '../../stdx/duration.ts';

const COOKIE = 'pet_catalog_console';
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const LOGIN_SECONDS = 600;
const SESSION_SECONDS = 12 * HOUR_SECONDS;
const ATTEMPTS_MAX = 10;
const ATTEMPTS_SECONDS = 60;

/** Offers a login to the console at this address: a link that opens one session, within ten minutes. */
export async function offerLogin(
  storage: Storage,
  { actor, now, url }: { actor: string; now: number; url: string },
): Promise<string> {
  const token = mintToken();
  await storage.sessions.offer(hashSecret(token), { endsAt: now + LOGIN_SECONDS, actor });
  return `${url}/console/login?token=${token}`;
}

/** A session just opened: the cookie that keeps it. */
export interface OpenedSession {
  readonly session: ConsoleSession;
  readonly cookie: string;
}

/** Spends a login. The session's token is always a new one, whatever the browser brought along. Undefined if there is no such login. */
export async function openSession(
  storage: Storage,
  { login, now, isSecure }: { login: string; now: number; isSecure: boolean },
): Promise<OpenedSession | undefined> {
  if (!TOKEN.test(login)) return undefined;
  const token = mintToken();
  const opened = { hash: hashSecret(token), now, endsAt: now + SESSION_SECONDS };
  const session = await storage.sessions.open(hashSecret(login), opened);
  return session && { session, cookie: sessionCookie(token, { seconds: SESSION_SECONDS, isSecure }) };
}

/** The cookie that takes a session's cookie away. */
export function noSessionCookie(isSecure: boolean): string {
  return sessionCookie('', { seconds: 0, isSecure });
}

/** The session that a request belongs to and its CSRF token, or undefined. */
export async function findSession(
  storage: Storage,
  request: IncomingMessage,
  now: number,
): Promise<{ session: ConsoleSession; csrf: string } | undefined> {
  const token = readCookie(request.headers.cookie ?? '');
  if (!TOKEN.test(token)) return undefined;
  const session = await storage.sessions.find(hashSecret(token), now);
  return session && { session, csrf: csrfToken(token) };
}

/** Whether the caller came by HTTPS to a proxy that says so; who lies about it only loses the cookie. */
export function isSecure(request: IncomingMessage): boolean {
  return request.headers['x-forwarded-proto'] === 'https';
}

/**
 * Throws `insufficient_scope` for a POST that another site's page sends. Both headers are the browser's own; where it
 * sends neither, the session's token has to do.
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const { origin, host, 'sec-fetch-site': site } = headers;
  const isForeign =
    site === undefined ? origin !== undefined && URL.parse(origin)?.host !== host : site !== 'same-origin';
  if (isForeign) {
    throw new CatalogError('insufficient_scope', 'This was sent by a page of another site, so nothing was done');
  }
}

/** Throws `insufficient_scope` if a form was not made for this session. */
export function checkCsrf(form: FormData, csrf: string): void {
  const sent = Buffer.from(String(form.get('csrf') ?? ''));
  const wanted = Buffer.from(csrf);
  if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) {
    throw new CatalogError(
      'insufficient_scope',
      'This form belongs to another session, so nothing was done; reload it',
    );
  }
}

/** Counts the logins that failed, so that they are not tried without end. */
export class LoginAttempts {
  #endsAt = 0;
  #failed = 0;

  /** Seconds to wait before the next try, 0 for none. `now` is steady. */
  waitSeconds(now: number): number {
    return now < this.#endsAt && this.#failed >= ATTEMPTS_MAX ? this.#endsAt - now : 0;
  }

  fail(now: number): void {
    if (now >= this.#endsAt) {
      this.#endsAt = now + ATTEMPTS_SECONDS;
      this.#failed = 0;
    }
    this.#failed += 1;
  }
}

function mintToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Follows from the session's token, so that any instance knows it, and does not lead back to it. */
function csrfToken(token: string): string {
  return hash('sha256', `csrf ${token}`, 'base64url');
}

function sessionCookie(token: string, { seconds, isSecure }: { seconds: number; isSecure: boolean }): string {
  const secure = isSecure ? '; Secure' : '';
  return `${COOKIE}=${token}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

function readCookie(header: string): string {
  const found = header.split(/;\s*/).find((pair) => pair.startsWith(`${COOKIE}=`));
  return found?.slice(COOKIE.length + 1) ?? '';
}
