import assert from 'node:assert/strict';
import type { Role } from '../../../src/catalog/operator/access.ts';
import type { TestService } from '../service.ts';

export const ACTOR = 'operator';

/** An operator with an open session, as a browser without scripts would be: it keeps the cookie and fills in forms. */
export interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
  get(path: string): Promise<Response>;
  page(path: string): Promise<string>;
  post(path: string, fields?: Record<string, string | string[]>, headers?: Record<string, string>): Promise<Response>;
}

/** A link that opens a session, and the token in it. */
export async function loginLink(service: TestService, role: Role = 'admin'): Promise<{ link: string; token: string }> {
  const link = service.operatorUrl + (await service.logins.offer({ actor: ACTOR, role }, service.clock.now().unix));
  return { link, token: new URL(link).searchParams.get('token') ?? '' };
}

/** Opens a session the way the button on the login page does. */
export async function signIn(service: TestService, role?: Role): Promise<SignedIn> {
  const { token } = await loginLink(service, role);
  const opened = await send(service, '/login', { body: new URLSearchParams({ token }) });
  assert.deepEqual([opened.status, opened.headers.get('location')], [303, '/console']);
  const named = opened.headers.get('set-cookie')?.split(';')[0] ?? '';
  // The cookie is named after the port, which a test that restarts the service has anew.
  const cookieNow = () => named.replace(/_\d+=/, `_${new URL(service.operatorUrl).port}=`);
  const get = (path: string) => send(service, path, { headers: { cookie: cookieNow() } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await get('')).text())?.[1] ?? '';
  assert.ok(csrf);
  return {
    get cookie() {
      return cookieNow();
    },
    csrf,
    get,
    async page(path) {
      const response = await get(path);
      const text = await response.text();
      assert.equal(response.status, 200, `${path}: ${text}`);
      return text;
    },
    post(path, fields = {}, headers = {}) {
      const body = new URLSearchParams({ csrf });
      for (const [name, values] of Object.entries(fields)) {
        body.delete(name);
        for (const value of [values].flat()) body.append(name, value);
      }
      return send(service, path, { body, headers: { cookie: cookieNow(), ...headers } });
    },
  };
}

/** A request to the console, redirects not followed; a POST if there is a body. */
export function send(service: TestService, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${service.operatorUrl}/console${path}`, {
    redirect: 'manual',
    ...(init.body && { method: 'POST' }),
    ...init,
    headers: { connection: 'close', ...(init.headers as object) },
  });
}
