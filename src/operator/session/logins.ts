import { hashSecret } from '../../catalog/api-key.ts';
import type { ConsoleSession, NewSession } from '../../catalog/operator/access.ts';
import type { Storage } from '../../catalog/storage.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { mintSecret } from './secret.ts';

const LOGIN_SECONDS = 600;
const LOGINS_MAX = 1_000;

type Login = Pick<NewSession, 'actor' | 'role' | 'user'>;

/**
 * The login links of this instance that were not used yet, in memory: each opens one session within ten minutes, unless
 * the sessions of its actor were ended since.
 */
export class Logins {
  readonly #storage: Pick<Storage, 'audit' | 'sessions'>;
  readonly #offered = new BoundedMap<Login & { readonly endsAt: number; readonly offeredAfter: number }>(LOGINS_MAX);

  constructor(storage: Pick<Storage, 'audit' | 'sessions'>) {
    this.#storage = storage;
  }

  /** Makes a link; gives its path. Throws `unavailable` while the database cannot be read. */
  async offer(login: Login, now: number): Promise<string> {
    const token = mintSecret();
    const [newest] = await this.#storage.audit.list({ since: 0, limit: 1 });
    const offered = { ...login, offeredAfter: Number(newest?.id ?? 0) };
    this.#offered.set(hashSecret(token), { ...offered, endsAt: now + LOGIN_SECONDS });
    return `/console/login?token=${token}`;
  }

  /**
   * Uses up a login and opens its session; undefined if the login is unknown, expired, used or ended. Throws
   * `unavailable` while the database cannot be written, and the link can be used later.
   */
  async open(token: string, session: Pick<NewSession, 'hash' | 'now' | 'endsAt'>): Promise<ConsoleSession | undefined> {
    const hash = hashSecret(token);
    const login = this.#offered.get(hash);
    // At once, so that of two requests with one link one opens a session.
    this.#offered.delete(hash);
    if (!login || login.endsAt <= session.now) return undefined;
    const { endsAt: _, ...offered } = login;
    try {
      return await this.#storage.sessions.open({ ...offered, ...session });
    } catch (error) {
      this.#offered.set(hash, login);
      throw error;
    }
  }
}
