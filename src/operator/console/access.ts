import type { sessionJson, tokenJson } from '../../catalog/operator/json.ts';
import { html } from '../../http/html.ts';
import { stateText } from '../api/keys.ts';
import { endSession, getSession, listSessions } from '../api/sessions.ts';
import { createToken, getToken, listTokens, revokeToken } from '../api/tokens.ts';
import { formPages } from './form-pages.ts';
import { may } from './frame/context.ts';
import { empty, foreign } from './frame/element.ts';
import { listPages, stateCell } from './list-pages.ts';

/** The pages of who may operate: sessions of the console, tokens of the API. */

type Token = ReturnType<typeof tokenJson>;
type Session = ReturnType<typeof sessionJson>;

const newToken = formPages(createToken, {
  path: '/tokens',
  verb: 'new',
  title: 'New token',
  button: 'Create the token',
  hints: { role: 'A viewer reads; keys also issues and changes keys and lifts bans; admin does everything.' },
  first: () => ({ role: 'viewer' }),
  done: 'Token created',
});

const tokenRevocation = formPages(revokeToken, {
  path: '/tokens',
  of: getToken,
  title: 'Revoke the token?',
  button: 'Revoke',
  isDangerous: true,
  done: 'The token was revoked. Requests with it are refused.',
});

const sessionEnd = formPages(endSession, {
  path: '/sessions',
  of: getSession,
  title: 'End the session?',
  button: 'End',
  done: 'The session was ended.',
});

export const accessForms = [newToken, tokenRevocation, sessionEnd];

export const accessRoutes = [
  ...listPages(listTokens, {
    path: '/tokens',
    title: 'Tokens',
    columns: [
      'name',
      'state',
      'prefix',
      'role',
      'issuedBy',
      'createdAt',
      {
        label: 'Action',
        cell: ({ id, name, revokedAt }: Token, context) =>
          revokedAt === null ? tokenRevocation.button(context, { id, about: `Revoke ${name}` }) : html``,
      },
    ],
    cells: {
      state: (token: Token, { now }) => stateCell(stateText(token, now)),
    },
    head: () => html`<a class="button primary" href="/console/tokens/new">New token</a>`,
    lead: () =>
      html`<p class="lead">Programs use the operator API with a token. The audit names it for each change.</p>`,
    none: () => empty('There is no token yet.', html`A program that uses the operator API needs one.`),
  }),
  ...listPages(listSessions, {
    path: '/sessions',
    title: 'Sessions',
    columns: [
      'actor',
      'role',
      'openedAt',
      'lastSeenAt',
      'endsAt',
      {
        label: 'Action',
        cell: ({ id, actor }: Session, context) =>
          may(context, 'admin') && id !== context.session.id
            ? sessionEnd.button(context, { id, about: `End the session of ${actor}` })
            : html`<span class="soft">none</span>`,
      },
    ],
    cells: {
      actor: ({ actor, id }: Session, { session }) =>
        html`${foreign(actor)}${id === session.id ? html` <span class="badge">this one</span>` : ''}`,
    },
    lead: () =>
      html`<p class="lead">A session ends after twelve hours, after an hour without use, or when you end it here. A page that updates by itself does not count as use. Programs have <a href="/console/tokens">tokens</a>; <code>pet-catalog console login --as NAME</code> prints a link for another operator.</p>`,
    none: () => html``,
  }),
];
