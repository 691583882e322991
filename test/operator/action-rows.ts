import assert from 'node:assert/strict';
import type { AuditAction } from '../../src/catalog/audit.ts';
import { issueToken, ROLES, type Role } from '../../src/catalog/operator/access.ts';
import { storeBan } from '../kit/bans.ts';
import { type SignedIn, signIn } from '../kit/console/visitor.ts';
import { type ApiClient, apiClient, OPERATOR } from '../kit/operator.ts';
import { commandsOn } from '../kit/process.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The actions of operators, each with its input and answers at every door. A new action is a row. */

export type Fields = Record<string, string | string[]>;
export type Say = RegExp;

interface Doors {
  /** The form is sent to this path; `ID` stands for the target. */
  readonly console?: { readonly path: string; readonly form?: Fields };
  readonly api?: { readonly route: string; readonly body?: object; readonly wrong?: readonly [object, Say][] };
  readonly command?: { readonly args: string; readonly wrong?: readonly [string, Say][] };
}

export interface Row extends Doors {
  readonly action: AuditAction;
  readonly role: Role;
  /** Makes what is changed, and gives its id. */
  readonly target?: (place: Place) => Promise<string>;
  /** What the audit says was there before and after, in part. */
  readonly audited?: { readonly before?: unknown; readonly after?: unknown };
  /** A revoked key: refused, or done without an entry in the audit. */
  readonly revoked?: 'refused' | 'nothing to do';
  /** What a target that is not there is called; `nothing` where a second time is the first. */
  readonly missing?: { readonly id: string; readonly says: Say };
  /** The hidden field of the console's form by which it notices another's change. */
  readonly guard?: {
    readonly page: string;
    readonly field: string;
    readonly change: (place: Place, id: string) => Promise<unknown>;
  };
}

export interface Place extends AsyncDisposable {
  readonly service: TestService;
  readonly sessions: Readonly<Record<Role, SignedIn>>;
  readonly clients: Readonly<Record<Role, ApiClient>>;
  readonly command: ReturnType<typeof commandsOn>;
}

export async function openPlace(): Promise<Place> {
  const service = await testService();
  const byRole = async <T>(make: (role: Role) => Promise<T>) =>
    Object.fromEntries(await Promise.all(ROLES.map(async (role) => [role, await make(role)]))) as Record<Role, T>;
  const sessions = await byRole((role) => signIn(service, role));
  const clients = await byRole((role) => apiClient(service, role));
  const close = () => service[Symbol.asyncDispose]();
  return { service, sessions, clients, command: commandsOn(service), [Symbol.asyncDispose]: close };
}

export const aKey = async ({ service }: Place) => (await service.issue({ name: 'shop' })).key.id;

async function aRotatedKey(place: Place): Promise<string> {
  const id = await aKey(place);
  const { ok } = await place.clients.admin.send('POST', `/keys/${id}/rotate`, { grace: '30d' });
  assert.ok(ok);
  return id;
}

async function aPausedKey(place: Place): Promise<string> {
  const id = await aKey(place);
  await place.service.storage.keys.pause(id, place.service.clock.now().unix, OPERATOR);
  return id;
}

/** A key with two requests counted, and another of the same owner. */
async function aUsedKey({ service }: Place): Promise<string> {
  const [{ key, secret }] = [await service.issue({ owner: 'cus_9' }), await service.issue({ owner: 'cus_9' })];
  for (let request = 0; request < 2; request += 1) await service.call(secret, '/pets');
  return key.id;
}

async function aBannedKey(place: Place): Promise<string> {
  const id = await aKey(place);
  const now = place.service.clock.now().unix;
  const [startedAt, endsAt] = [now - 5, now + 600];
  await storeBan(place.service.storage, { keyId: id, startedAt, endsAt, level: 1, reason: 'refused 61 times' });
  return id;
}

export async function aCategory({ service }: Place): Promise<string> {
  const { resource } = await service.storage.categories.insert({ name: 'Dog' }, { keyId: 'k' });
  return `${resource.id}`;
}

async function aToken({ service: { storage, clock } }: Place): Promise<string> {
  const { token } = await issueToken({ storage, now: clock.now().unix, by: OPERATOR }, { name: 'old', role: 'viewer' });
  return token.id;
}

async function aSession(place: Place): Promise<string> {
  await signIn(place.service);
  const [latest] = await place.service.storage.sessions.list(place.service.clock.now().unix);
  return latest?.id ?? '';
}

const NO_KEY = { id: 'key_none', says: /There is no key key_none; the list of keys shows them all/ };
const NO_CATEGORY = { id: '999', says: /There is no category 999; the list of categories shows them all/ };
const KEY_FORM = { name: 'shop', plan: 'free', scopes: ['pets:read'] };
const PRO = { plan: 'pro', limits: { minute: 300, day: 10_000 } };
const FREE = { plan: 'free', limits: { minute: 60, day: 1_000 } };
const rename = ({ service }: Place, id: string) => service.storage.keys.update(id, { name: 'renamed' }, OPERATOR);

export const ROWS: readonly Row[] = [
  {
    action: 'key.create',
    role: 'keys',
    audited: {
      before: null,
      after: {
        name: 'shop',
        plan: 'enterprise',
        limits: { minute: 7, day: 70 },
        scopes: ['pets:read'],
        owner: 'cus_1',
      },
    },
    console: {
      path: '/keys/new',
      form: { ...KEY_FORM, plan: 'enterprise', 'limits.minute': '7', 'limits.day': '70', owner: 'cus_1' },
    },
    api: {
      route: 'POST /keys',
      body: { name: 'shop', plan: 'enterprise', limits: { minute: 7, day: 70 }, scopes: ['pets:read'], owner: 'cus_1' },
      wrong: [
        [{ plan: 'free' }, /^name is missing/],
        [{ name: 'x' }, /^plan is missing/],
        [{ name: ' ', plan: 'free' }, /^The name of a key/],
        [{ name: 'x', plan: 'free', limits: { minute: 1, day: 2 } }, /^The free plan has fixed limits/],
        [{ name: 'x', plan: 'enterprise', limits: { minute: 0, day: 2 } }, /^limits.minute is 0/],
        [{ name: 'x', plan: 'free', scopes: [] }, /^scopes has 0 items; send at least 1$/],
        [{ name: 'x', plan: 'free', scopes: Array(7).fill('pets:read') }, /^scopes has 7 items; send at most 6$/],
        [{ name: 'x', plan: 'free', scope: ['pets:read'] }, /"scope" is no member of the body; did you mean scopes\?/],
        [{ name: 'x', plan: 'free', expiresAt: '2026-02-30T00:00:00Z' }, /^expiresAt is "2026-02-30/],
        [{ name: 'x', plan: 'free', expiresAt: '2001-01-01T00:00:00Z' }, /^The expiry of a key/],
        [{ name: 'x', plan: 'free', owner: '' }, /^The owner of a key/],
        [{ name: 'x', plan: 'free', owner: 7 }, /^owner is 7/],
      ],
    },
    command: {
      args: 'keys create --name shop --plan enterprise --per-minute 7 --per-day 70 --scopes pets:read --owner cus_1',
      wrong: [
        ['keys create --plan pro', /required option '--name <name>' not specified/],
        ['keys create --name x --plan enterprise --per-minute 7', /--per-minute and --per-day go together/],
        ['keys create --name x --per-minute 7.5 --per-day 8', /--per-minute is "7.5"; send a whole number/],
        ['keys create --name x --expires soon', /--expires is "soon"; send a date and time such as/],
      ],
    },
  },
  {
    action: 'key.update',
    role: 'keys',
    target: aKey,
    audited: { before: FREE, after: PRO },
    revoked: 'refused',
    missing: NO_KEY,
    guard: { page: '/keys/ID/edit', field: 'seen', change: rename },
    console: {
      path: '/keys/ID/edit',
      form: {
        name: 'shop',
        plan: 'pro',
        scopes: ['categories:read', 'categories:write', 'pets:read', 'pets:write', 'store:read', 'store:write'],
      },
    },
    api: {
      route: 'PATCH /keys/ID',
      body: { plan: 'pro' },
      wrong: [
        [{ name: ' ' }, /^The name of a key/],
        [{ plan: 'enterprise' }, /^The enterprise plan needs limits/],
        [{ expiresAt: '1970-01-01T00:00:00Z' }, /^The expiry of a key/],
        [{ plna: 'pro' }, /"plna" is no member of the body; did you mean plan\?/],
      ],
    },
    command: {
      args: 'keys update ID --plan pro',
      wrong: [['keys set-plan ID golden', /plan is "golden"; send one of/]],
    },
  },
  {
    action: 'key.rotate',
    role: 'keys',
    target: aKey,
    revoked: 'refused',
    missing: NO_KEY,
    console: { path: '/keys/ID/rotate', form: { grace: '1h' } },
    api: {
      route: 'POST /keys/ID/rotate',
      body: { grace: '1h' },
      wrong: [
        [{ grace: '31d' }, /^The grace is 2678400 s; at most 30d are possible/],
        [{ grace: 'soon' }, /^grace is "soon"; send a duration such as 0, 90s, 24h or 30d/],
        [{ grace: 5 }, /^grace is 5; send a string such as 24h/],
      ],
    },
    command: { args: 'keys rotate ID --grace 1h' },
  },
  {
    action: 'key.end-graces',
    role: 'keys',
    target: aRotatedKey,
    audited: { after: [] },
    revoked: 'refused',
    missing: NO_KEY,
    console: { path: '/keys/ID/end-graces' },
    api: { route: 'DELETE /keys/ID/graces' },
    command: { args: 'keys end-graces ID' },
  },
  {
    action: 'key.revoke',
    role: 'keys',
    target: aKey,
    audited: { before: { revokedAt: null } },
    revoked: 'nothing to do',
    missing: NO_KEY,
    console: { path: '/keys/ID/revoke' },
    api: { route: 'POST /keys/ID/revoke', wrong: [[{ why: 'x' }, /"why" is no member of the body/]] },
    command: { args: 'keys revoke ID' },
  },
  {
    action: 'key.pause',
    role: 'keys',
    target: aKey,
    audited: { before: { pausedAt: null } },
    revoked: 'refused',
    missing: NO_KEY,
    console: { path: '/keys/ID/pause' },
    api: { route: 'POST /keys/ID/pause' },
    command: { args: 'keys pause ID' },
  },
  {
    action: 'key.resume',
    role: 'keys',
    target: aPausedKey,
    audited: { after: { pausedAt: null } },
    revoked: 'refused',
    missing: NO_KEY,
    console: { path: '/keys/ID/resume' },
    api: { route: 'POST /keys/ID/resume' },
    command: { args: 'keys resume ID' },
  },
  {
    action: 'key.reset',
    role: 'keys',
    target: aUsedKey,
    revoked: 'refused',
    missing: NO_KEY,
    console: { path: '/keys/ID/reset', form: { window: 'minute' } },
    api: {
      route: 'POST /keys/ID/reset',
      body: { window: 'day' },
      wrong: [[{ window: 'hour' }, /^window is "hour"; send one of both, minute, day/]],
    },
    command: { args: 'keys reset ID', wrong: [['keys reset ID --window hour', /--window is "hour"; send one of/]] },
  },
  {
    action: 'ban.lift',
    role: 'keys',
    target: aBannedKey,
    audited: { before: { banned: true }, after: { banned: false } },
    missing: NO_KEY,
    console: { path: '/keys/ID/lift-ban' },
    api: { route: 'DELETE /keys/ID/ban' },
    command: { args: 'keys lift-ban ID' },
  },
  {
    action: 'category.rename',
    role: 'admin',
    target: aCategory,
    audited: { before: { name: 'Dog' }, after: { name: ' Cat ' } },
    missing: NO_CATEGORY,
    console: { path: '/categories/ID/rename', form: { name: ' Cat ' } },
    api: {
      route: 'PATCH /categories/ID',
      body: { name: ' Cat ' },
      wrong: [
        [{ name: ' ' }, /^name is " "; send at least one character/],
        [{}, /^name is missing/],
        [{ name: 'x', id: 7 }, /"id" is no member of the body/],
      ],
    },
    command: { args: "categories rename ID ' Cat '" },
  },
  {
    action: 'category.delete',
    role: 'admin',
    target: aCategory,
    audited: { before: { name: 'Dog' }, after: null },
    missing: NO_CATEGORY,
    console: { path: '/categories/ID/delete' },
    api: { route: 'DELETE /categories/ID' },
    command: { args: 'categories delete ID' },
  },
  {
    action: 'operator.create',
    role: 'admin',
    audited: { before: null, after: { name: 'billing', role: 'keys', expiresAt: null } },
    console: { path: '/tokens/new', form: { name: 'billing', role: 'keys' } },
    api: {
      route: 'POST /tokens',
      body: { name: 'billing', role: 'keys' },
      wrong: [
        [{ name: 'x' }, /^role is missing/],
        [{ name: ' ', role: 'keys' }, /^The name of a token/],
        [{ name: 'x', role: 'root' }, /^role is "root"; send one of viewer, keys, admin/],
        [{ name: 'x', role: 'keys', expiresAt: '2001-01-01T00:00:00Z' }, /^The expiry of a token/],
      ],
    },
    command: {
      args: 'operators create --name billing --role keys',
      wrong: [
        ['operators create --name x', /required option '--role <role>' not specified/],
        ['operators create --name x --role root', /--role is "root"; send one of/],
        ['operators create --name x --role keys --expires 0', /The expiry of a token/],
      ],
    },
  },
  {
    action: 'operator.revoke',
    role: 'admin',
    target: aToken,
    audited: { before: { revokedAt: null } },
    missing: { id: 'op_none', says: /There is no token op_none/ },
    console: { path: '/tokens/ID/revoke' },
    api: { route: 'DELETE /tokens/ID' },
    command: { args: 'operators revoke ID' },
  },
  {
    action: 'console.revoke',
    role: 'admin',
    target: aSession,
    audited: { before: { actor: 'operator' } },
    console: { path: '/sessions/ID/end' },
    api: { route: 'DELETE /sessions/ID' },
    command: { args: 'sessions end ID' },
  },
];
