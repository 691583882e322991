import assert from 'node:assert/strict';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/console/visitor.ts';
import type { RunHereOptions } from '../kit/process.ts';
import { untilBanned } from '../kit/releases/life.ts';
import { called, operated, printedBy, type Recorded } from '../kit/releases/recorded.ts';
import type { TestService } from '../kit/service.ts';

/** Later answers may say more than earlier ones; what was said stays. */
export function assertStill(present: unknown, recorded: unknown, about: string): void {
  assert.partialDeepStrictEqual(countable(present), countable(recorded), about);
}

/** A list as an object with a length, so that no item may be added to it. */
function countable(value: unknown): unknown {
  if (Array.isArray(value)) return { ...value.map(countable), length: value.length };
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, countable(member)]));
}

/** What the commands print of keys, tokens, usage, audit and categories, once the tables are upgraded. */
export async function assertPrinted(recorded: Recorded, beside: RunHereOptions): Promise<void> {
  await printedBy('migrate', beside);
  for (const [command, printed] of Object.entries(recorded.printed)) {
    // The commands of 0.2.0 had the machine's time, which was behind: they show another end of a ban.
    const [now, then] = [await printedBy(command, beside), withoutBans(printed)];
    // Ids began with the time later, lists became newest first, and usage that with most requests first.
    const isUnordered = /^(keys|operators|categories) list|^usage/.test(command);
    assertStill(isUnordered ? byId(now) : now, isUnordered ? byId(then) : then, command);
  }
}

function byId(printed: unknown): unknown {
  return (printed as { id: string }[]).toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

function withoutBans(printed: unknown): unknown {
  return JSON.parse(JSON.stringify(printed), (name, value) => (name === 'ban' ? undefined : value));
}

/** All that is read: catalog, limits, usage, bans, audit. Nothing has happened yet since the release was left. */
export async function assertRead(service: TestService, recorded: Recorded): Promise<void> {
  const { keys, tokens } = recorded;
  for (const [path, before] of Object.entries(recorded.operatorAnswers))
    assertStill(await operated(service, tokens.viewer ?? '', path), before, path);
  for (const [name, before] of Object.entries(recorded.limits))
    assertStill((await called(service, keys[name]?.secret ?? '', '/rate_limit')).body, before, `limits of ${name}`);
  for (const [path, before] of Object.entries(recorded.answers))
    assertStill((await called(service, keys.business?.secret ?? '', path)).body, before, path);
}

/** Each key in its state, until the end of the grace. */
export async function assertKeys(service: TestService, { keys }: Recorded): Promise<void> {
  const secretOf = (name: string) => keys[name]?.secret ?? '';
  const list = (secret: string, status: number) => called(service, secret, '/categories', { status });
  for (const name of ['free', 'pro', 'business', 'enterprise', 'reader', 'ending', 'rotated', 'leaked'])
    await list(secretOf(name), 200);
  for (const name of ['ended', 'revoked', 'staging']) await list(secretOf(name), 401);
  await list(keys.leaked?.before ?? '', 401);
  await called(service, secretOf('reader'), '/pets', { status: 403 });
  await list(keys.rotated?.before ?? '', 200);
}

/** The grace of the old secret has 24 hours; a minute was spent. */
export async function assertGraceEnds(service: TestService, { keys }: Recorded): Promise<void> {
  const list = (secret = '', status = 200) => called(service, secret, '/categories', { status });
  service.clock.advance(23 * 3_600);
  await list(keys.rotated?.before, 200);
  service.clock.advance(3_600);
  await list(keys.rotated?.before, 401);
  await list(keys.rotated?.secret, 200);
}

/** The window goes on from its count; the ban has its time left, and the next is as long as it must be. */
export async function assertLimits(service: TestService, { keys, limits }: Recorded): Promise<void> {
  const { clock } = service;
  const secretOf = (name: string) => keys[name]?.secret ?? '';
  const stateOf = (name: string) => limits[name] as LimitState;
  const counting = await called(service, secretOf('counting'), '/categories');
  assert.equal(Number(counting.headers.get('x-ratelimit-remaining')), stateOf('counting').minute.remaining - 1);
  assert.equal(Number(counting.headers.get('x-ratelimit-reset')), stateOf('counting').minute.reset);

  const left = { banned: stateOf('banned').ban?.until ?? 0, spent: stateOf('spent').minute.reset };
  const refused = async (name: keyof typeof left, code: string) => {
    const { body, headers } = await called(service, secretOf(name), '/categories', { status: 429 });
    assert.equal((body as { code: string }).code, code);
    assert.equal(Number(headers.get('retry-after')), left[name] - clock.now().unix);
  };
  await refused('spent', 'rate_limit_exceeded');
  await refused('banned', 'key_banned');
  assert.ok(left.banned < left.spent + 60);
  clock.advance(left.banned - clock.now().unix - 1);
  await refused('banned', 'key_banned');
  clock.advance(1);
  await called(service, secretOf('banned'), '/categories');
  clock.advance(60);
  await called(service, secretOf('spent'), '/categories');

  for (const [name, seconds] of [
    ['unbanned', 60],
    ['bannedOnce', 300],
    ['banned', 300],
  ] as const) {
    await untilBanned(service, secretOf(name));
    const { headers } = await called(service, secretOf(name), '/categories', { status: 429 });
    assert.equal(Number(headers.get('retry-after')), seconds, name);
  }
}

interface LimitState {
  readonly minute: { readonly remaining: number; readonly reset: number };
  readonly ban: { readonly until: number } | null;
}

/** A retry gives the same answer, and no id is given twice. */
export async function assertCreates(service: TestService, recorded: Recorded): Promise<void> {
  const { creates, forgotten, keys, lastIds } = recorded;
  const secret = keys.business?.secret ?? '';
  const post = (path: string, body: object, headers = {}) =>
    called(service, secret, path, { method: 'POST', status: 201, body, headers });
  for (const { path, body, idempotencyKey, answer } of creates) {
    const replay = await post(path, body, { 'idempotency-key': idempotencyKey });
    assert.equal(replay.headers.get('idempotency-replayed'), 'true');
    assertStill(replay.body, answer, path);
  }
  const { path, body, idempotencyKey, answer } = forgotten;
  const anew = (await post(path, body, { 'idempotency-key': idempotencyKey })).body as { id: number };
  assert.notEqual(anew.id, (answer as { id: number }).id);
  const category = (await post('/categories', { name: 'Ant' })).body as { id: number };
  const order = (await post('/store/orders', { petId: 1, quantity: 1 })).body as { id: number };
  assert.deepEqual([anew.id, category.id], [lastIds['/categories'] + 1, lastIds['/categories'] + 2]);
  assert.equal(order.id, lastIds['/store/orders'] + 1);
  const stock = recorded.answers['/inventory?limit=100'] as { petId: number; quantity: number }[];
  const left = (await called(service, secret, '/inventory/1')).body as { quantity: number };
  assert.equal(left.quantity, (stock.find(({ petId }) => petId === 1)?.quantity ?? 0) - 1);
  await called(service, secret, '/pets/1', { method: 'PATCH', body: { status: 'pending' } });
}

/** Tokens and sessions in their state, and a command that the service follows. */
export async function assertOperators(service: TestService, recorded: Recorded, beside: RunHereOptions): Promise<void> {
  const { tokens, cookies, keys } = recorded;
  for (const [name, status] of [
    ['viewer', 403],
    ['keys', 204],
    ['ended', 401],
    ['revoked', 401],
  ] as const)
    await operated(service, tokens[name] ?? '', `/keys/${keys.banned?.id}/ban`, { method: 'DELETE', status });
  // Since 0.3.0 a cookie is named after the port.
  const cookieOf = (name: string) => cookies[name]?.replace(/(_\d+)?=/, `_${new URL(service.operatorUrl).port}=`) ?? '';
  const page = (name: string) => send(service, '/keys', { headers: { cookie: cookieOf(name) } });
  for (const [name, status] of [
    ['admin', 200],
    ['viewer', 200],
    ['left', 303],
  ] as const)
    assert.equal((await page(name)).status, status, name);
  const mayChange = async (name: string) => /href="\/console\/keys\/new"/.test(await (await page(name)).text());
  assert.deepEqual([await mayChange('admin'), await mayChange('viewer')], [true, false]);

  await printedBy('categories rename 1 Dogs', beside);
  const list = async () => (await called(service, keys.business?.secret ?? '', '/categories')).body;
  await untilTrue(async () => JSON.stringify(await list()).includes('"Dogs"'), 'the rename');
  await printedBy(`keys revoke ${keys.pro?.id} --json`, beside);
  const status = async () => (await service.call(keys.pro?.secret ?? '', '/categories')).status;
  await untilEqual(() => status(), 401);
}
