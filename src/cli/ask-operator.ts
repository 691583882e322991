import type { Operator } from '../catalog/audit.ts';
import type { Role } from '../catalog/operator/access.ts';
import { sign } from '../operator/session/local-trust.ts';
import { UsageError } from './invocation.ts';
import { findOperator, type Noted } from './operator-note.ts';

/** Sends requests to the service that runs here, signed by who runs the command. Throws `UsageError` without one. */
export async function askOperator(config: Noted, { via: _, ...by }: Operator, role?: Role) {
  const note = await findOperator(config);
  const noService = new UsageError(
    'No service runs here that could be asked; run this on its machine or in its container, as its user, in its folder or with its DATABASE_URL. Its log has a line with the request id for a 5xx, and for every request where ACCESS_LOG is all',
    1,
  );
  if (!note) throw noService;
  const ask = async (method: 'GET' | 'POST', address: string): Promise<{ json: unknown; headers: Headers }> => {
    const { href, pathname, search } = new URL(address, note.url);
    const request = { method, path: `${pathname}${search}` };
    const authorization = sign(note.secret, request, { ...by, ...(role && { role }) });
    const answer = await fetch(href, { method, headers: { authorization, connection: 'close' } }).catch((error) => {
      throw new UsageError(`The service at ${note.url} does not answer: ${error.cause?.message ?? error.message}`, 1);
    });
    // Something else has the port of a service that was killed, whose note stayed.
    if (answer.status === 401 || !answer.headers.has('x-request-id')) throw noService;
    const json = await answer.json();
    if (!answer.ok) throw new UsageError((json as { message: string }).message, 1);
    return { json, headers: answer.headers };
  };
  return { url: note.url, ask };
}
