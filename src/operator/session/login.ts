import type { IncomingMessage } from 'node:http';
import { CatalogError } from '../../catalog/error.ts';
import { roleNamed } from '../../catalog/operator/access.ts';
import { errorAnswer, STATUS_OF } from '../../http/errors.ts';
import { html } from '../../http/html.ts';
import type { PageHandler } from '../../http/pages.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { type ConsoleContext, onPost } from '../console/frame/context.ts';
import { field, readForm } from '../console/frame/form.ts';
import { barePage } from '../console/frame/layout.ts';
import { type Signer, signerOf } from './local-trust.ts';
import type { Logins } from './logins.ts';
import { checkOrigin, noSessionCookie, openSession, wantedCookie, wantedPage } from './session.ts';

const FORM_BYTES_MAX = 4 * 1024;
const ATTEMPTS_MAX = 10;
const ATTEMPTS_SECONDS = 60;
const ADDRESSES_MAX = 1_000;

/**
 * Creates the handler of the login page. GET does not use up the link, so link previews and scanners cannot; the POST
 * of its button opens the session. A POST that a command signed makes a link.
 */
export function createLogin(options: Pick<ConsoleContext, 'logins' | 'localSecret' | 'time'>): PageHandler {
  const { logins, localSecret, time } = options;
  const attempts = new LoginAttempts();
  return async (exchange) => {
    const { request } = exchange;
    if (request.method !== 'POST') return loginPage(exchange.query.get('token') ?? '', request);
    const signer = signerOf(localSecret, request);
    if (signer) return offerLink(logins, signer).catch((error) => errorAnswer(whileUnavailable(error)));
    checkOrigin(request);
    const fields = await readForm(exchange, FORM_BYTES_MAX);
    const login = field(fields, 'token');
    const { unix: now, steady } = time.now();
    const cookie = await openSession(logins, { login, now, request }).catch((error) => {
      throw whileUnavailable(error);
    });
    if (cookie) return { status: 303, headers: ['Location', wantedPage(request), 'Set-Cookie', cookie] };
    const seconds = attempts.fail(request.socket.remoteAddress ?? '', steady);
    return seconds > 0 ? tooManyAttempts(seconds) : invalidLinkPage();
  };
}

/** Answers a command with a link that opens a session of the role it asks for. */
async function offerLink(logins: Logins, { role, ...who }: Signer): Promise<Answer> {
  const path = await logins.offer({ ...who, role: roleNamed(role ?? '') });
  return { status: 201, body: JSON.stringify({ path }) };
}

/** Adds to a failure of the database what can be used meanwhile. */
function whileUnavailable(error: unknown): unknown {
  if (!(error instanceof CatalogError) || STATUS_OF[error.code] !== 503) return error;
  const meanwhile = 'the log, `pet-catalog requests` and `pet-catalog why` work meanwhile';
  return new CatalogError(error.code, `${error.message}; ${meanwhile}`, { cause: error.cause });
}

/** Counts failed logins per address. It never refuses a valid one, or anyone could lock operators out. */
class LoginAttempts {
  readonly #failed = new BoundedMap<{ readonly endsAt: number; readonly count: number }>(ADDRESSES_MAX);

  /** Counts a failure. Returns 0, or the seconds until the count starts over. `now` is steady. */
  fail(address: string, now: number): number {
    const known = this.#failed.get(address);
    const { endsAt, count } = known && now < known.endsAt ? known : { endsAt: now + ATTEMPTS_SECONDS, count: 0 };
    this.#failed.set(address, { endsAt, count: count + 1 });
    return count < ATTEMPTS_MAX ? 0 : endsAt - now;
  }
}

function loginPage(token: string, request: IncomingMessage): Answer {
  const content = token
    ? html`<h1>Operator’s console</h1>
<p>This link works once and opens a session of twelve hours in this browser. An hour without use ends it earlier.</p>
<form method="post" action="/console/login"><input type="hidden" name="token" value="${token}">
<button class="primary">Open the console</button></form>`
    : html`<h1>You are not signed in</h1>
<p>Run this command on the machine of the service, and open the link that it prints:</p>
<pre tabindex="0"><code>pet-catalog console login</code></pre>
<p class="soft">Already signed in, and here through a link from another site? <a href="${wantedPage(request)}">Go to the console</a>.</p>`;
  return barePage({ title: token ? 'Sign in' : 'Not signed in', content });
}

function invalidLinkPage(): Answer {
  return barePage({
    title: 'The link is not valid',
    status: 403,
    content: html`<h1>The link is not valid</h1>
<p role="alert">It was already used, is older than ten minutes, or is incomplete.</p>
<p>Create a new one:</p>
<pre tabindex="0"><code>pet-catalog console login</code></pre>`,
  });
}

function tooManyAttempts(seconds: number): Answer {
  return barePage({
    title: 'Too many attempts',
    status: 429,
    headers: ['Retry-After', `${seconds}`],
    content: html`<h1>Too many attempts</h1>
<p role="alert">Several logins from your address failed, and this link is not valid either. A new link works at once; failed ones are counted again after ${seconds} s.</p>
<p>Ask for a new one:</p>
<pre tabindex="0"><code>pet-catalog console login</code></pre>`,
  });
}

/** Ends the session that is signed in. */
export const sessionRoutes = [onPost('/logout', signOut, 'viewer')];

async function signOut({ storage, session, now, caller: { by }, exchange }: ConsoleContext): Promise<Answer> {
  await storage.sessions.revoke(session.id, now, by);
  return signedOut(exchange);
}

function signedOut({ request }: Exchange): Answer {
  return { status: 303, headers: ['Location', '/console/login', 'Set-Cookie', noSessionCookie(request)] };
}

/**
 * Redirects a request without a session to the login page, which leads back. Throws `insufficient_scope` for a POST.
 */
export function notSignedIn({ request, path, query }: Exchange): Answer {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new CatalogError(
      'insufficient_scope',
      'Your session has ended, so nothing was changed; sign in and submit the form again',
    );
  }
  const page = query.size > 0 ? `${path}?${query}` : path;
  return { status: 303, headers: ['Location', '/console/login', 'Set-Cookie', wantedCookie(page, request)] };
}
