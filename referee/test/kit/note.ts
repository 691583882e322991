import { kindOf, type Note } from '../../src/client/note.ts';

/** A request on a connection, with what differs from a GET that is answered with 200 at once. */
export function note(at: number, differs: Partial<Note> = {}): Note {
  const { method = 'GET', path = '/a', body = '' } = differs;
  const about = { method, path, kind: kindOf(method, path), call: `${method} ${path} ${body}`, body };
  const caller = { idempotencyKey: null, isConditional: false, credentials: 'a', connection: 1, connectedAt: 0 };
  const answer = { isEarly: false, status: 200, retryAfter: null, hasJson: true, hasReset: false };
  const outcome = { isDelivered: true, isDone: true };
  return { at, answeredAt: at, step: null, ...about, ...caller, ...answer, ...outcome, ...differs };
}
