import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { hashSecret, newId } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { CatalogError } from '../../catalog/error.ts';
import {
  type ConsoleSession,
  type NewSession,
  type Role,
  SESSION_IDLE_SECONDS,
  type SessionStorage,
} from '../../catalog/operator/access.ts';
import type { Storage } from '../../catalog/storage.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { HOUR_SECONDS } from '../../stdx/duration.ts';

/** Logins, sessions and their cookies, and the checks of what a session sends. */

/** The name of releases before 0.3.0, whose sessions stay open; now the port follows. */
const COOKIE = 'pet_catalog_console';
/** Where a request without a session was going. */
const WANTED = 'pet_catalog_wanted';
/** A page of the console, with its query. */
const PAGE = /^\/console(?:[/?][\w/?&=.~%+-]*)?$/;
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const SIGNED_LOGIN = /^[A-Za-z0-9_-]{1,1000}\.[A-Za-z0-9_-]{43}$/;
const LOGIN_SECONDS = 600;
const SESSION_SECONDS = 12 * HOUR_SECONDS;
const SEEN_SECONDS = 60;
/** Sessions and used links in memory. */
const KEPT_MAX = 1_000;
const STORE_AGAIN_SECONDS = 60;

interface Login {
  readonly endsAt: number;
  readonly actor: string;
  readonly role: Role;
}

interface OfferedLogin extends Omit<Login, 'endsAt'> {
  /** The system's user, where the actor is a name that was given. */
  readonly user?: string;
  readonly now: number;
  readonly url: string;
}

/** Creates a login link to the console at `url`; it opens one session and expires after ten minutes. */
export async function offerLogin(storage: Storage, { now, url, ...login }: OfferedLogin): Promise<string> {
  const token = mintToken();
  await storage.sessions.offer(hashSecret(token), { endsAt: now + LOGIN_SECONDS, ...login });
  return `${url}/console/login?token=${token}`;
}

/**
 * The same link where storage cannot take the login: signed with the secret that the running service noted beside its
 * database.
 */
export function signedLogin(secret: string, { actor, role, now, url }: OfferedLogin): string {
  const login: Login = { endsAt: now + LOGIN_SECONDS, actor, role };
  const nonce = randomBytes(16).toString('hex');
  const text = Buffer.from(JSON.stringify({ ...login, nonce })).toString('base64url');
  return `${url}/console/login?token=${text}.${signature(text, secret)}`;
}

/** The cookie of the session that a login opens, with a new token (no session fixation). Undefined if it is invalid. */
export async function openSession(
  sessions: UnstoredSessions,
  { login, now, request }: { login: string; now: number; request: IncomingMessage },
): Promise<string | undefined> {
  const token = mintToken();
  const opened = await sessions.open(login, { hash: hashSecret(token), now, endsAt: now + SESSION_SECONDS });
  return opened && sessionCookie(token, SESSION_SECONDS, request);
}

/** The Set-Cookie value that deletes the session cookie. */
export function noSessionCookie(request: IncomingMessage): string {
  return sessionCookie('', 0, request);
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
  const token = readCookie(request, cookieOf(request)) || readCookie(request, COOKIE);
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
  if (isSame(form.get('csrf') ?? '', csrf)) return;
  throw new CatalogError(
    'insufficient_scope',
    'This form belongs to another session, so nothing was changed; reload it',
  );
}

/**
 * The console's sessions, those included that storage could not take, such as on a full disk: they are opened by signed
 * logins, are known to this instance, and are stored as soon as that can be done.
 */
export class UnstoredSessions implements Pick<SessionStorage, 'find' | 'touch' | 'list' | 'revoke'> {
  readonly #stored: SessionStorage;
  readonly #secret: string;
  readonly #used = new BoundedMap<true>(KEPT_MAX);
  readonly #kept = new BoundedMap<ConsoleSession & { triedAt: number }>(KEPT_MAX);

  constructor(stored: SessionStorage, secret: string) {
    this.#stored = stored;
    this.#secret = secret;
  }

  /** Opens the session of a login, stored or signed; undefined if the login is wrong, expired or used. */
  async open(login: string, { hash, now, endsAt }: NewSession): Promise<ConsoleSession | undefined> {
    if (TOKEN.test(login)) return this.#stored.open(hashSecret(login), { hash, now, endsAt });
    if (!SIGNED_LOGIN.test(login)) return undefined;
    const [text = '', signed = ''] = login.split('.');
    if (!isSame(signed, signature(text, this.#secret)) || this.#used.has(text)) return undefined;
    const { actor, role, ...offered }: Login = JSON.parse(`${Buffer.from(text, 'base64url')}`);
    if (offered.endsAt <= now) return undefined;
    this.#used.set(text, true);
    const session = { id: newId('session_'), actor, role, openedAt: now, endsAt, lastSeenAt: now };
    this.#kept.set(hash, { ...session, triedAt: 0 });
    return this.find(hash, now);
  }

  async find(hash: string, now: number): Promise<ConsoleSession | undefined> {
    const kept = this.#kept.get(hash);
    if (!kept) return this.#stored.find(hash, now);
    const { triedAt, ...session } = kept;
    if (session.endsAt <= now || session.lastSeenAt <= now - SESSION_IDLE_SECONDS) {
      this.#kept.delete(hash);
      return undefined;
    }
    if (triedAt > now - STORE_AGAIN_SECONDS) return session;
    kept.triedAt = now;
    return (await this.#store(hash, session, now)) ?? session;
  }

  /** Stores a session as that of a login; undefined if that cannot be done now. Storage reports the failure itself. */
  async #store(hash: string, { actor, role, endsAt }: ConsoleSession, now: number) {
    const login = hashSecret(mintToken());
    try {
      await this.#stored.offer(login, { endsAt, actor, role });
      const session = await this.#stored.open(login, { hash, now, endsAt });
      this.#kept.delete(hash);
      return session;
    } catch {
      return undefined;
    }
  }

  async touch(id: string, now: number): Promise<void> {
    const found = this.#entry(id);
    if (!found) return this.#stored.touch(id, now);
    const [hash, session] = found;
    this.#kept.set(hash, { ...session, lastSeenAt: now });
  }

  async list(now: number): Promise<ConsoleSession[]> {
    const unstored = [...this.#kept.values()].map(({ triedAt: _, ...session }) => session);
    return [...unstored, ...(await this.#stored.list(now))];
  }

  async revoke(id: string, now: number, by: Operator): Promise<boolean> {
    const found = this.#entry(id);
    return found ? this.#kept.delete(found[0]) : this.#stored.revoke(id, now, by);
  }

  #entry(id: string) {
    return this.#kept.entries().find(([, session]) => session.id === id);
  }
}

function signature(text: string, secret: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

/** Compares secrets in a time that tells nothing of them. */
function isSame(sent: string, expected: string): boolean {
  const [one, other] = [Buffer.from(sent), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** A random secret, of 256 bits. */
function mintToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

function sessionCookie(token: string, seconds: number, request: IncomingMessage): string {
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
  return `${WANTED}=${value}; Path=/console/login; Max-Age=${LOGIN_SECONDS}; HttpOnly; SameSite=Lax${secure(request)}`;
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
