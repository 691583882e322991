import { hashSecret } from '../../catalog/api-key.ts';
import type { Role } from '../../catalog/operator/token.ts';
import type { Storage } from '../../catalog/storage.ts';
import { mintToken } from './session.ts';
import { signLogin } from './unstored.ts';

const LOGIN_SECONDS = 600;

interface OfferedLogin {
  readonly actor: string;
  readonly role: Role;
  readonly now: number;
  readonly url: string;
}

/** The same link where storage cannot take the login, for the running service whose secret this is. */
export function signedLogin(secret: string, { actor, role, now, url }: OfferedLogin): string {
  return `${url}/console/login?token=${signLogin({ endsAt: now + LOGIN_SECONDS, actor, role }, secret)}`;
}

/** Creates a login link to the console at `url`; it opens one session and expires after ten minutes. */
export async function offerLogin(storage: Storage, { actor, role, now, url }: OfferedLogin): Promise<string> {
  const token = mintToken();
  await storage.sessions.offer(hashSecret(token), { endsAt: now + LOGIN_SECONDS, actor, role });
  return `${url}/console/login?token=${token}`;
}
