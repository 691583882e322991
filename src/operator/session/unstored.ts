import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hashSecret, newId } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import {
  type ConsoleSession,
  type NewSession,
  SESSION_IDLE_SECONDS,
  type SessionStorage,
} from '../../catalog/operator/session.ts';
import type { Role } from '../../catalog/operator/token.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';

/** Sessions and used links in memory. */
const KEPT_MAX = 1_000;
const STORE_AGAIN_SECONDS = 60;

interface Login {
  readonly endsAt: number;
  readonly actor: string;
  readonly role: Role;
}

/** A login that needs no storage: signed with the secret that the running service noted beside its database. */
export function signLogin(login: Login, secret: string): string {
  const text = Buffer.from(JSON.stringify({ ...login, nonce: randomBytes(16).toString('hex') })).toString('base64url');
  return `${text}.${signature(text, secret)}`;
}

/**
 * The console's sessions, those included that storage could not take, such as on a full disk: they are opened by signed
 * logins, are known to this instance, and are stored as soon as that can be done.
 */
export class UnstoredSessions implements Pick<SessionStorage, 'find' | 'touch' | 'revoke'> {
  readonly #stored: SessionStorage;
  readonly #secret: string;
  readonly #used = new BoundedMap<true>(KEPT_MAX);
  readonly #kept = new BoundedMap<ConsoleSession & { triedAt: number }>(KEPT_MAX);

  constructor(stored: SessionStorage, secret: string) {
    this.#stored = stored;
    this.#secret = secret;
  }

  /** Opens the session of a signed login; undefined if the login is wrong, expired or used. */
  async open(login: string, { hash, now, endsAt }: NewSession): Promise<ConsoleSession | undefined> {
    const [text = '', signed = ''] = login.split('.');
    const [sent, expected] = [Buffer.from(signed), Buffer.from(signature(text, this.#secret))];
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected) || this.#used.has(text)) return undefined;
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
    const login = hashSecret(randomBytes(32).toString('base64url'));
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
