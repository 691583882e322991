import { type ConsoleSession, isTokenUsable, type OperatorToken } from '../../catalog/operator/access.ts';
import { sessionJson, tokenJson } from '../../catalog/operator/json.ts';
import { type Html, html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import { Session, OperatorToken as Token } from '../api/schema.ts';
import { actionButton } from '../doors/console-actions.ts';
import { may } from '../frame/context.ts';
import { empty, foreign, moment } from '../frame/element.ts';
import { pageOfAll, resource } from '../resource.ts';
import { endSession, revokeToken, TOKEN_EXAMPLE } from './actions.ts';

type TokenJson = ReturnType<typeof tokenJson>;

export const tokens = resource({
  path: 'tokens',
  title: 'Tokens',
  noun: ['token', 'tokens'],
  filters: {},
  apiRole: 'admin',
  async page({ storage }, page) {
    const placeOf = ({ createdAt, id }: OperatorToken) => ({ number: createdAt, id });
    return pageOfAll(await storage.tokens.list(), placeOf, page);
  },
  json: (_context, rows) => rows.map(tokenJson),
  columns: [
    { label: 'Id', member: 'id' },
    { label: 'Name', member: 'name', cell: ({ name }: OperatorToken) => foreign(name) },
    { label: 'State', cell: (token, _related, { now }) => stateOf(token, now) },
    {
      label: 'Token',
      text: ({ prefix }: TokenJson) => `${prefix}…`,
      cell: ({ prefix }) => html`<code>${prefix}…</code>`,
    },
    { label: 'Role', member: 'role', cell: ({ role }) => html`${role}` },
    {
      label: 'Issued by',
      member: 'issuedBy',
      cell: ({ issuedBy }) => (issuedBy === null ? html`` : foreign(issuedBy)),
    },
    { label: 'Created', member: 'createdAt', cell: ({ createdAt }) => moment(createdAt) },
    { label: 'State', text: stateText },
    {
      label: 'Action',
      cell: ({ id, name, revokedAt }, _related, context) =>
        revokedAt !== null || !may(context, 'admin')
          ? html``
          : actionButton(context, revokeToken, { id, about: `Revoke ${name}` }),
    },
  ],
  api: {
    id: 'listTokens',
    tag: 'tokens',
    summary: 'List the tokens of this API',
    description: 'A page of the tokens, newest first, without their secrets.',
    schema: Token,
    example: TOKEN_EXAMPLE,
  },
  command: {
    usage: 'list',
    about: 'List the tokens',
    none: 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one',
  },
  console: {
    head: (context) =>
      may(context, 'admin') ? html`<a class="button primary" href="/console/tokens/new">New token</a>` : html``,
    lead: () =>
      html`<p class="lead">Programs use the operator API with a token. The audit names it for each change.</p>`,
    none: () => empty('There is no token yet.', html`A program that uses the operator API needs one.`),
  },
});

export const sessions = resource({
  path: 'sessions',
  title: 'Sessions',
  noun: ['open session', 'open sessions'],
  filters: {},
  apiRole: 'admin',
  async page({ sessions: stored, now }, page) {
    const placeOf = ({ openedAt, id }: ConsoleSession) => ({ number: openedAt, id });
    return pageOfAll(await stored.list(now), placeOf, page);
  },
  json: (_context, rows) => rows.map(sessionJson),
  columns: [
    { label: 'Id', member: 'id' },
    {
      label: 'Opened by',
      member: 'actor',
      cell: ({ actor, id }: ConsoleSession, _related, { session }) =>
        html`${foreign(actor)}${id === session.id ? html` <span class="badge">this one</span>` : ''}`,
    },
    { label: 'Role', member: 'role', cell: ({ role }) => html`${role}` },
    { label: 'Opened', member: 'openedAt', cell: ({ openedAt }) => moment(openedAt) },
    { label: 'Last used', member: 'lastSeenAt', cell: ({ lastSeenAt }) => moment(lastSeenAt) },
    { label: 'Ends', member: 'endsAt', cell: ({ endsAt }) => moment(endsAt) },
    {
      label: 'Action',
      cell: ({ id, actor }, _related, context) =>
        may(context, 'admin') && id !== context.session.id
          ? actionButton(context, endSession, { id, about: `End the session of ${actor}` })
          : html`<span class="soft">none</span>`,
    },
  ],
  api: {
    id: 'listSessions',
    tag: 'sessions',
    summary: 'List the sessions of the console',
    description: 'A page of the open sessions, newest first.',
    schema: Session,
    example: {
      id: 'session_VXnvMwGskigm0Sfq',
      actor: 'alice',
      role: 'admin',
      openedAt: '2026-01-01T12:00:00Z',
      lastSeenAt: '2026-01-01T12:05:00Z',
      endsAt: '2026-01-02T00:00:00Z',
    },
  },
  command: { usage: 'list', about: 'List the open sessions of the console', none: 'No session is open' },
  console: {
    lead: () =>
      html`<p class="lead">A session ends after twelve hours, after an hour without use, or when you end it here. A page that updates by itself does not count as use. Programs have <a href="/console/tokens">tokens</a>.</p>`,
    none: () => html``,
    foot: () =>
      empty(
        'Another operator needs the console?',
        html`<code>pet-catalog console login --as NAME</code> prints a link that opens another session; with <code>--role viewer</code> one that can only look.`,
      ),
  },
});

function stateOf(token: OperatorToken, now: number): Html {
  if (token.revokedAt !== null) return html`<span class="badge">revoked</span>`;
  if (!isTokenUsable(token, now)) return html`<span class="badge">expired</span>`;
  const end = token.expiresAt === null ? '' : html`<span class="under soft">until ${moment(token.expiresAt)}</span>`;
  return html`<span class="badge good">active</span>${end}`;
}

function stateText({ revokedAt, expiresAt }: TokenJson, now: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return 'active';
  return expiresAt <= utc(now) ? `expired ${expiresAt}` : `active until ${expiresAt}`;
}
