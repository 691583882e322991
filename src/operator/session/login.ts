import { CatalogError } from '../../catalog/error.ts';
import { roleNamed } from '../../catalog/operator/access.ts';
import { errorAnswer, STATUS_OF } from '../../http/errors.ts';
import { html } from '../../http/html.ts';
import type { PageHandler } from '../../http/pages.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type ConsoleContext, onPost } from '../console/frame/context.ts';
import { field, readForm } from '../console/frame/form.ts';
import { barePage } from '../console/frame/layout.ts';
import { type Signer, signerOf } from './local-trust.ts';
import type { Logins } from './logins.ts';
import { checkOrigin, comesFromElsewhere, openSession, sessionCookie, wantedCookie, wantedPage } from './session.ts';

const FORM_BYTES_MAX = 4 * 1024;
const HOW_TO_LOG_IN = html`<p>Run this command on the machine of the service, and open the link that it prints:</p>
<pre tabindex="0"><code>pet-catalog console login</code></pre>`;

/**
 * Creates the handler of the login page. GET does not use up the link, so link previews and scanners cannot; the POST
 * of its button opens the session. A POST that a command signed makes a link.
 */
export function createLogin(options: Pick<ConsoleContext, 'logins' | 'localSecret' | 'time'>): PageHandler {
  const { logins, localSecret, time } = options;
  return async (exchange) => {
    const { request } = exchange;
    if (request.method !== 'POST') return loginPage(exchange.query.get('token') ?? '');
    const signer = signerOf(localSecret, request);
    if (signer)
      return offerLink(logins, signer, time.now().unix).catch((error) => errorAnswer(whileUnavailable(error)));
    checkOrigin(request);
    const fields = await readForm(exchange, FORM_BYTES_MAX);
    const login = field(fields, 'token');
    const { unix: now } = time.now();
    const cookie = await openSession(logins, { login, now, request }).catch((error) => {
      throw whileUnavailable(error);
    });
    if (cookie) return { status: 303, headers: ['Location', wantedPage(request), 'Set-Cookie', cookie] };
    const content = html`<h1>The link is not valid</h1>
<p role="alert">It was already used, is older than ten minutes, or is incomplete.</p>
${HOW_TO_LOG_IN}`;
    return barePage({ title: 'The link is not valid', status: 403, content });
  };
}

/** Answers a command with a link that opens a session of the role it asks for. */
async function offerLink(logins: Logins, { role, ...who }: Signer, now: number): Promise<Answer> {
  const path = await logins.offer({ ...who, role: roleNamed(role ?? '') }, now);
  return { status: 201, body: JSON.stringify({ path }) };
}

/** Adds to a failure of the database what can be used meanwhile. */
function whileUnavailable(error: unknown): unknown {
  if (!(error instanceof CatalogError) || STATUS_OF[error.code] !== 503) return error;
  const meanwhile = 'the log, `pet-catalog requests` and `pet-catalog why` work meanwhile';
  return new CatalogError(error.code, `${error.message}; ${meanwhile}`, { cause: error.cause });
}

function loginPage(token: string): Answer {
  const content = token
    ? html`<h1>Operator’s console</h1>
<p>This link works once and opens a session of twelve hours in this browser. An hour without use ends it earlier.</p>
<form method="post" action="/console/login"><input type="hidden" name="token" value="${token}">
<button class="primary">Open the console</button></form>`
    : html`<h1>You are not signed in</h1>
${HOW_TO_LOG_IN}`;
  return barePage({ title: token ? 'Sign in' : 'Not signed in', content });
}

/** Ends the session that is signed in. */
export const sessionRoutes = [onPost('/logout', signOut, 'viewer')];

async function signOut({ storage, session, now, caller: { by }, exchange }: ConsoleContext): Promise<Answer> {
  await storage.sessions.revoke(session.id, now, by);
  return { status: 303, headers: ['Location', '/console/login', 'Set-Cookie', sessionCookie('', 0, exchange.request)] };
}

/**
 * Redirects a request without a session to the login page, which leads back. Answers a link of another site by a page
 * that asks for the same address anew: browsers send the session's cookie with a request of our own page. Throws
 * `insufficient_scope` for a POST.
 */
export function notSignedIn({ request, path, query }: Exchange): Answer {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new CatalogError(
      'insufficient_scope',
      'Your session has ended, so nothing was changed; sign in and submit the form again',
    );
  }
  const page = query.size > 0 ? `${path}?${query}` : path;
  if (comesFromElsewhere(request)) {
    const content = html`<meta http-equiv="refresh" content="0; url=${page}"><a href="${page}">Go on to the console</a>`;
    return barePage({ title: 'One moment', content });
  }
  return { status: 303, headers: ['Location', '/console/login', 'Set-Cookie', wantedCookie(page, request)] };
}
