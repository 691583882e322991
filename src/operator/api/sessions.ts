import { CatalogError } from '../../catalog/error.ts';
import type { ConsoleSession } from '../../catalog/operator/access.ts';
import { sessionJson } from '../../catalog/operator/json.ts';
import { byText, pageOfAll } from './filters.ts';
import { type Caller, operate } from './operation.ts';
import { Session } from './schema.ts';

/** The operations on the sessions of the console. */

const OF_A_SESSION = { permission: 'admin', tagged } as const;

export const listSessions = operate('session.list', 'listSessions', 'GET /sessions', {
  ...OF_A_SESSION,
  summary: 'List the sessions of the console',
  description: 'A page of the open sessions, newest first.',
  list: {
    noun: ['open session', 'open sessions'],
    schema: Session,
    columns: [
      { member: 'id', label: 'Id' },
      { member: 'actor', label: 'Opened by' },
      { member: 'role', label: 'Role' },
      { member: 'openedAt', label: 'Opened' },
      { member: 'lastSeenAt', label: 'Last used' },
      { member: 'endsAt', label: 'Ends' },
    ],
  },
  async handle({ storage, now }, page) {
    const placeOf = ({ openedAt, id }: ConsoleSession) => ({ number: openedAt, id });
    return pageOfAll(await storage.sessions.list(now), { placeOf, json: sessionJson }, page);
  },
});

export const getSession = operate('session.show', 'getSession', 'GET /sessions/{sessionId}', {
  ...OF_A_SESSION,
  summary: 'Get a session of the console',
  description: 'One open session by its id.',
  success: {
    status: 200,
    description: 'The session',
    schema: Session,
    headers: { ETag: 'The validator of the session for If-Match: of its members but lastSeenAt' },
  },
  async handle(caller, { id }) {
    const session = await findSession(caller, id);
    return { row: session, json: sessionJson(session) };
  },
});

export const endSession = operate('session.end', 'endSession', 'DELETE /sessions/{sessionId}', {
  ...OF_A_SESSION,
  summary: 'End a session of the console',
  description: 'Ends an open session at once.',
  success: { status: 204, description: 'The session is ended' },
  async handle(caller, { id, precondition }) {
    const { storage, now, by } = caller;
    const session = await findSession(caller, id);
    precondition?.(session);
    await storage.sessions.revoke(id, now, by);
    return { row: session };
  },
});

export const endSessions = operate('session.end-all', 'endSessions', 'DELETE /sessions', {
  ...OF_A_SESSION,
  summary: 'End all sessions of one actor',
  description:
    'Ends every open session of this actor at once, and the login links that were not used; answers with those that it ended.',
  filters: { actor: byText('Who opened the sessions; required', { isRequired: true }) },
  success: {
    status: 200,
    description: 'The sessions that were ended',
    schema: { type: 'array', items: Session },
  },
  async handle({ storage, now, by }, { query: { actor = '' } }) {
    const all = await storage.sessions.revokeAll(actor, now, by);
    return {
      json: all.map(sessionJson),
      note: `${all.length} of ${actor}: ${all.map(({ id }) => id).join(', ') || 'none'}`,
    };
  },
});

async function findSession({ storage, now }: Caller, id: string): Promise<ConsoleSession> {
  const session = (await storage.sessions.list(now)).find((each) => each.id === id);
  if (session) return session;
  throw new CatalogError('not_found', `There is no open session ${id}; the list of sessions shows them all`);
}

function tagged({ lastSeenAt: _, ...session }: ConsoleSession): object {
  return session;
}
