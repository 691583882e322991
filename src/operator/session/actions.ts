import { checkExpiry, checkName } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import {
  type ConsoleSession,
  issueToken,
  type OperatorToken,
  ROLES,
  type Role,
  revokeToken as revoke,
} from '../../catalog/operator/access.ts';
import { sessionJson, tokenJson } from '../../catalog/operator/json.ts';
import { html } from '../../http/html.ts';
import { momentOf } from '../../http/operations/query.ts';
import { type Action, action, type Noun } from '../action.ts';
import { IssuedToken, NewToken } from '../api/schema.ts';
import { foreign } from '../frame/element.ts';

/** The tokens of the operator API. */
const tokenNoun: Noun<OperatorToken> = {
  path: 'tokens',
  group: 'operators',
  title: 'Tokens',
  noun: 'token',
  secret: 'token',
  parameter: { name: 'tokenId', description: 'The id of the token', schema: { type: 'string' } },
  async find({ storage }, id) {
    const token = (await storage.tokens.list()).find((each) => each.id === id);
    if (token) return token;
    throw new CatalogError('not_found', `There is no token ${id}; the list of tokens shows them all`);
  },
  guarded: (token) => token,
  idOf: ({ id }) => id,
  nameOf: ({ name }) => name,
  json: (_context, token) => tokenJson(token),
  back: () => '/tokens',
};

/** The sessions of the console. */
const sessionNoun: Noun<ConsoleSession> = {
  path: 'sessions',
  group: 'sessions',
  title: 'Sessions',
  noun: 'session',
  parameter: { name: 'sessionId', description: 'The id of the session', schema: { type: 'string' } },
  async find({ sessions, now }, id) {
    const session = (await sessions.list(now)).find((each) => each.id === id);
    if (session) return session;
    throw new CatalogError('not_found', `There is no open session ${id}; the list of sessions shows them all`);
  },
  guarded: ({ lastSeenAt: _, ...session }) => session,
  idOf: ({ id }) => id,
  nameOf: ({ actor }) => actor,
  json: (_context, session) => sessionJson(session),
  back: () => '/sessions',
};

/** A token, for the contract. */
export const TOKEN_EXAMPLE = {
  id: 'op_VXnvMwGskigm0Sfq',
  name: 'billing',
  prefix: 'petcat_op_MJPj00',
  role: 'keys',
  issuedBy: 'alice',
  createdAt: '2026-01-01T12:00:00Z',
  expiresAt: null,
  revokedAt: null,
} as const;

const createToken = action<{ name: string; role: Role; expiresAt?: string | null }, OperatorToken>({
  name: 'operator.create',
  role: 'admin',
  of: tokenNoun,
  isNew: true,
  input: NewToken,
  words: {
    role: { hint: 'A viewer reads; keys also issues and changes keys and lifts bans; admin does everything.' },
    expiresAt: { hint: 'In UTC, such as 2030-12-31 18:00. Leave it empty for a token that does not expire.' },
  },
  checks: {
    name: (name: string) => checkName(name, 'token'),
    expiresAt: (text: string | null, now) =>
      checkExpiry(text === null ? null : momentOf(text, 'expiresAt'), now, 'token'),
  },
  async run({ storage, now, by }, _id, { name, role, expiresAt = null }) {
    const ends = expiresAt === null ? null : momentOf(expiresAt, 'expiresAt');
    const { token, secret } = await issueToken({ storage, now, by }, { name, role, expiresAt: ends });
    return { row: token, secret };
  },
  api: {
    id: 'createToken',
    route: 'POST /tokens',
    tag: 'tokens',
    summary: 'Issue a token',
    description: 'Issues a token of this API. It is in this response alone, and in that to a retry.',
    example: { name: 'billing', role: 'keys' },
    success: {
      status: 201,
      description: 'The token with its secret',
      schema: IssuedToken,
      example: { ...TOKEN_EXAMPLE, token: 'petcat_op_MJPj00000000000000000000000000000000' },
      headers: { Location: 'The address of the token' },
    },
  },
  console: {
    verb: 'new',
    title: 'New token',
    button: 'Create the token',
    options: { role: ROLES.map((role) => ({ value: role, label: role })) },
    first: () => ({ role: 'viewer' }),
    done: 'Token created',
  },
  command: { usage: 'create', about: 'Issue a token and print it, alone on stdout and only this once' },
});

/** Revokes a token for good. */
export const revokeToken = action<object, OperatorToken>({
  name: 'operator.revoke',
  role: 'admin',
  of: tokenNoun,
  async run(context, id) {
    const { storage, now, by, precondition } = context;
    precondition?.(await tokenNoun.find(context, id));
    return { row: await revoke({ storage, now, by }, id) };
  },
  runForAll: ({ storage, now, by }, name) => storage.tokens.revokeAll(name, now, by),
  api: {
    id: 'revokeToken',
    route: 'DELETE /tokens/{tokenId}',
    tag: 'tokens',
    summary: 'Revoke a token',
    description: 'Ends a token for good, at once. A second revocation changes nothing.',
    success: { status: 204, description: 'The token is revoked' },
  },
  console: {
    verb: 'revoke',
    title: 'Revoke the token?',
    button: 'Revoke',
    isDangerous: true,
    ask: (_context, { name }) =>
      html`<p class="lead">Every request with the token of <strong>${foreign(name)}</strong> will be refused. This cannot be undone.</p>`,
    done: 'The token was revoked. Requests with it are refused.',
  },
  command: { usage: 'revoke [id]', about: 'Revoke a token permanently, or all of one name and those that it issued' },
});

/** Ends a session of the console. */
export const endSession = action<object, ConsoleSession>({
  name: 'console.revoke',
  role: 'admin',
  of: sessionNoun,
  async run(context, id) {
    const { sessions, now, by, precondition } = context;
    precondition?.(await sessionNoun.find(context, id));
    const wasOpen = await sessions.revoke(id, now, by);
    return { row: undefined, ...(!wasOpen && { nothing: `There is no open session ${id}` }) };
  },
  runForAll: ({ sessions, now, by }, actor) => sessions.revokeAll(actor, now, by),
  api: {
    id: 'endSession',
    route: 'DELETE /sessions/{sessionId}',
    tag: 'sessions',
    summary: 'End a session of the console',
    description: 'Ends an open session at once.',
    success: { status: 204, description: 'The session is ended' },
  },
  console: {
    verb: 'end',
    title: 'End the session?',
    button: 'End',
    done: 'The session was ended.',
    nothing: 'That session had ended already.',
  },
  command: {
    usage: 'end [id]',
    about: 'End a session of the console, or all of one actor, with links that were not used',
  },
});

/** Every change of a token. */
export const tokenActions: readonly Action[] = [createToken, revokeToken];

/** Every change of a session of the console. */
export const sessionActions: readonly Action[] = [endSession];
