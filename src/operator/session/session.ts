import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashSecret } from '../../catalog/api-key.ts';
import type { ConsoleSession } from '../../catalog/operator/session.ts';
import type { Storage } from '../../catalog/storage.ts';
import { HOUR_SECONDS } from '../../stdx/duration.ts';
import { csrfToken } from './csrf.ts';
import type { UnstoredSessions } from './unstored.ts';

const COOKIE = 'pet_catalog_console';
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const SIGNED_LOGIN = /^[A-Za-z0-9_-]{1,1000}\.[A-Za-z0-9_-]{43}$/;
const SESSION_SECONDS = 12 * HOUR_SECONDS;
const SEEN_SECONDS = 60;

/** Redeems a login for a session with a new token (no session fixation), and its cookie. Undefined if it is invalid. */
export async function openSession(
  { storage, sessions }: { storage: Storage; sessions: UnstoredSessions },
  { login, now, isSecure }: { login: string; now: number; isSecure: boolean },
) {
  const isSigned = SIGNED_LOGIN.test(login);
  if (!isSigned && !TOKEN.test(login)) return undefined;
  const token = mintToken();
  const opened = { hash: hashSecret(token), now, endsAt: now + SESSION_SECONDS };
  const session = await (isSigned ? sessions.open(login, opened) : storage.sessions.open(hashSecret(login), opened));
  return session && { session, cookie: sessionCookie(token, { seconds: SESSION_SECONDS, isSecure }) };
}

/** The Set-Cookie value that deletes the session cookie. */
export function noSessionCookie(isSecure: boolean): string {
  return sessionCookie('', { seconds: 0, isSecure });
}

/**
 * The open session of a request with its CSRF token, or undefined. Records the use of the session, once a minute at
 * most. The refresh of an open page does not count, or a screen left alone would stay signed in.
 */
export async function findSession(
  sessions: UnstoredSessions,
  request: IncomingMessage,
  now: number,
): Promise<{ session: ConsoleSession; csrf: string } | undefined> {
  const token = readCookie(request.headers.cookie ?? '');
  if (!TOKEN.test(token)) return undefined;
  const session = await sessions.find(hashSecret(token), now);
  if (!session) return undefined;
  if (request.headers['x-refresh'] === undefined && session.lastSeenAt <= now - SEEN_SECONDS) {
    // A database that cannot write still serves pages; storage reports the failure itself.
    await sessions.touch(session.id, now).catch(() => {});
  }
  return { session, csrf: csrfToken(token) };
}

/** True if a proxy reports HTTPS. A client that fakes the header only loses its own cookie. */
export function isSecure(request: IncomingMessage): boolean {
  return request.headers['x-forwarded-proto'] === 'https';
}

/** A random secret, of 256 bits. */
export function mintToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function sessionCookie(token: string, { seconds, isSecure }: { seconds: number; isSecure: boolean }): string {
  const secure = isSecure ? '; Secure' : '';
  return `${COOKIE}=${token}; Path=/console; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

function readCookie(header: string): string {
  const found = header.split(/;\s*/).find((pair) => pair.startsWith(`${COOKIE}=`));
  return found?.slice(COOKIE.length + 1) ?? '';
}
