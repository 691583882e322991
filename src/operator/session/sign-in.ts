import type { Operator } from '../../catalog/audit.ts';
import type { ConsoleSession, SessionStorage } from '../../catalog/operator/access.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type IdentitySettings, identityBy } from './identity.ts';
import { notSignedIn } from './login.ts';
import { checkCsrf, checkOrigin, findSession } from './session.ts';

/** Who is signed in to the console: by a session, or by the proxy in front without one. */
interface SignedIn {
  readonly session: ConsoleSession;
  /** The token of its forms; empty without a session. */
  readonly csrf: string;
  readonly by: Operator;
}

/** Creates the check of requests: by the header of a proxy, where that is set and sent, else by a session's cookie. */
export function createSignIn(sessions: SessionStorage, identity: IdentitySettings | undefined) {
  const identify = identity ? identityBy(identity) : () => undefined;
  return {
    identify,
    /** Finds who sends a request; else the answer that leads to the login. */
    async find(exchange: Exchange, now: number): Promise<SignedIn | Answer> {
      const known = identify(exchange.request);
      if (known) {
        const session = { ...known, id: '', openedAt: now, endsAt: now, lastSeenAt: now };
        return { session, csrf: '', by: { actor: known.actor, via: 'proxy' } };
      }
      const found = await findSession(sessions, exchange.request, now);
      return found ? { ...found, by: { actor: found.session.actor, via: 'console' } } : notSignedIn(exchange);
    },
    /** Throws `insufficient_scope` for a form that a page of another site or session sent. */
    checkForm(
      { request }: Exchange,
      { csrf, caller: { by } }: { csrf: string; caller: Pick<SignedIn, 'by'> },
      form: URLSearchParams,
    ): void {
      checkOrigin(request, { mustBeSent: by.via === 'proxy' });
      checkCsrf(form, csrf);
    },
  };
}
