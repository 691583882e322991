import { CatalogError } from '../../catalog/error.ts';
import { html } from '../../http/docs/html.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { type ConsoleOptions, type ConsoleRoute, field, seeOther } from '../frame/context.ts';
import { count, empty, foreign, moment, post, table } from '../frame/element.ts';
import { readForm } from '../frame/form.ts';
import { barePage, page } from '../frame/layout.ts';
import { checkOrigin, isSecure, LoginAttempts, noSessionCookie, openSession } from './session.ts';

const FORM_BYTES_MAX = 4 * 1024;

/**
 * The two halves of a login. Looking at the page spends nothing, so that link previews and scanners leave the link
 * whole; its button opens the session.
 */
export function createLogin({ storage, clock }: ConsoleOptions): (exchange: Exchange) => Promise<Answer> {
  const attempts = new LoginAttempts();
  return async (exchange) => {
    if (exchange.request.method !== 'POST') return loginPage(exchange.query.get('token') ?? '');
    checkOrigin(exchange.request);
    const login = field(await readForm(exchange, FORM_BYTES_MAX), 'token');
    const { unix: now, steady } = clock();
    const seconds = attempts.waitSeconds(steady);
    if (seconds > 0) return tooManyAttempts(seconds);
    const secure = isSecure(exchange.request);
    const opened = await openSession(storage, { login, now, isSecure: secure });
    if (opened) return { ...seeOther(''), headers: ['Location', '/console', 'Set-Cookie', opened.cookie] };
    attempts.fail(steady);
    return spentPage();
  };
}

function loginPage(token: string): Answer {
  const content = token
    ? html`<h1>Operator’s console</h1>
<p>This link opens one session of twelve hours in this browser.</p>
<form method="post" action="/console/login"><input type="hidden" name="token" value="${token}">
<button class="primary">Open the console</button></form>`
    : html`<h1>You are not signed in</h1>
<p>Run this on the machine of the service, and open the link that it prints:</p>
<pre tabindex="0"><code>npx pet-catalog console login</code></pre>
<p class="soft">Signed in already, and led here by a link from elsewhere? <a href="/console">Go to the console</a>.</p>`;
  return barePage({ title: token ? 'Sign in' : 'Not signed in', content });
}

function spentPage(): Answer {
  return barePage({
    title: 'The link opens nothing',
    status: 403,
    content: html`<h1>The link opens nothing</h1>
<p role="alert">It was used already, is older than ten minutes, or is not whole.</p>
<p>Ask for another one:</p>
<pre tabindex="0"><code>npx pet-catalog console login</code></pre>`,
  });
}

function tooManyAttempts(seconds: number): Answer {
  return barePage({
    title: 'Too many attempts',
    status: 429,
    headers: ['Retry-After', `${seconds}`],
    content: html`<h1>Too many attempts</h1>
<p role="alert">Several logins failed one after the other. Wait ${seconds} s, then go back and press the button again: the link is not spent.</p>`,
  });
}

/** The sessions that are open, and how they end. */
export const sessionRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/sessions',
    async handle(context) {
      const { storage, now, session: own } = context;
      const sessions = await storage.sessions.list(now);
      const rows = sessions.map(
        ({
          id,
          actor,
          openedAt,
          endsAt,
        }) => html`<tr><th scope="row">${foreign(actor)}${id === own.id ? html` <span class="badge">this one</span>` : ''}</th>
<td>${moment(openedAt)}</td><td>${moment(endsAt)}</td>
<td>${post(context, `/sessions/${id}/end`, html`<button aria-label="End the session of ${actor}">End</button>`)}</td></tr>\n`,
      );
      const columns = [{ name: 'Opened by' }, { name: 'Opened' }, { name: 'Ends' }, { name: 'Action' }];
      const content = html`<h1>Sessions</h1>
<p class="lead">Who is signed in to the console: ${count(sessions.length)}. A session ends after twelve hours, or here.</p>
${table('Sessions', columns, rows)}
${empty('Somebody else needs the console?', html`<code>npx pet-catalog console login</code> prints a link that opens one more session.`)}`;
      return page(context, { title: 'Sessions', content });
    },
  },
  {
    method: 'POST',
    path: '/sessions/:id/end',
    async handle(context) {
      const { storage, now, by, session, exchange } = context;
      const id = exchange.params.id ?? '';
      const wasOpen = await storage.sessions.revoke(id, now, by);
      return id === session.id ? signedOut(exchange) : seeOther('/sessions', wasOpen ? 'ended' : 'not-open');
    },
  },
  {
    method: 'POST',
    path: '/logout',
    async handle({ storage, session, now, by, exchange }) {
      await storage.sessions.revoke(session.id, now, by);
      return signedOut(exchange);
    },
  },
];

function signedOut({ request }: Exchange): Answer {
  const headers = ['Location', '/console/login', 'Set-Cookie', noSessionCookie(isSecure(request))];
  return { status: 303, headers };
}

/** Leads somebody without a session to where one is had; what was sent is refused. */
export function notSignedIn({ request }: Exchange): Answer {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    throw new CatalogError(
      'insufficient_scope',
      'Your session has ended, so nothing was done; sign in and send it again',
    );
  }
  return seeOther('/login');
}
