import assert from 'node:assert/strict';
import { untilTrue } from '../clock.ts';
import { signIn } from '../console/visitor.ts';
import { type ApiClient, apiClient } from '../operator.ts';
import type { RunHereOptions } from '../process.ts';
import type { TestService } from '../service.ts';
import {
  called,
  issued,
  OPERATOR_PATHS,
  operated,
  PUBLIC_PATHS,
  printedBy,
  type Recorded,
  type RecordedCreate,
  type RecordedKey,
} from './recorded.ts';

const HOUR_SECONDS = 3_600;
/** How long a life lasts, and a little more: outcomes of its first hour are forgotten. */
export const LIFE_SECONDS = 26 * HOUR_SECONDS;
const RESTLESS = { plan: 'enterprise', limits: { minute: 2, day: 100 } };
const SHIP_DATE = '2099-12-31T12:00:00Z';

/** Lives through two days of a service in production, by whose clock commands run beside it: rows in each state. */
export async function liveThrough(service: TestService, beside: RunHereOptions): Promise<Omit<Recorded, 'printed'>> {
  const { clock } = service;
  const admin = await apiClient(service, 'admin', 'billing');
  const viewer = await apiClient(service, 'viewer', 'dashboards');
  const keys = await issueKeys(admin, clock.now().unix);
  const secretOf = (name: string) => keys[name]?.secret ?? '';
  const forgotten = await fillCatalog(service, secretOf('business'));
  await callNow(service, secretOf);
  clock.advance(LIFE_SECONDS - 2 * HOUR_SECONDS);
  await untilBanned(service, secretOf('bannedOnce'));
  await service.restart();
  clock.advance(2 * HOUR_SECONDS);

  const tokens = { admin: admin.secret, viewer: viewer.secret, ...(await changeTokens(beside)) };
  await changeKeys(keys, beside);
  clock.advance(60);
  const creates = await createTwice(service, secretOf('business'));
  const lastIds = await giveLastIds(service, secretOf('business'), beside);
  const cookies = await openSessions(service);
  await untilBanned(service, secretOf('unbanned'));
  await operated(service, admin.secret, `/keys/${keys.unbanned?.id}/ban`, { method: 'DELETE', status: 204 });
  await untilBanned(service, secretOf('banned'));
  for (const status of [200, 200, 429]) await called(service, secretOf('spent'), '/categories', { status });
  for (let call = 0; call < 3; call += 1) await called(service, secretOf('counting'), '/categories');
  clock.advance(5);
  const answers: Record<string, unknown> = {};
  for (const path of PUBLIC_PATHS) answers[path] = (await called(service, secretOf('business'), path)).body;
  const limits: Record<string, unknown> = {};
  for (const name of ['counting', 'spent', 'banned', 'unbanned', 'bannedOnce', 'free'])
    limits[name] = (await called(service, secretOf(name), '/rate_limit')).body;
  // Writes what it counted, so that it is in the answers below.
  await service.restart();
  const operatorAnswers: Record<string, unknown> = {};
  for (const path of OPERATOR_PATHS) operatorAnswers[path] = await operated(service, viewer.secret, path);
  const held = { leftAt: clock.now().unix, keys, tokens, cookies, creates, forgotten, lastIds };
  return { ...held, answers, limits, operatorAnswers };
}

async function issueKeys(admin: ApiClient, now: number): Promise<Record<string, RecordedKey>> {
  const soon = new Date((now + HOUR_SECONDS) * 1_000).toISOString().replace('.000', '');
  const wanted: Record<string, object> = {
    free: { plan: 'free' },
    pro: { plan: 'pro', owner: 'cus_42' },
    business: { plan: 'business', owner: 'cus_42' },
    enterprise: { plan: 'enterprise', limits: { minute: 500, day: 5_000 } },
    reader: { plan: 'pro', scopes: ['categories:read'] },
    ending: { plan: 'pro', expiresAt: '2099-12-31T12:00:00Z' },
    ended: { plan: 'pro', expiresAt: soon },
    revoked: { plan: 'pro' },
    rotated: { plan: 'pro' },
    leaked: { plan: 'pro' },
    counting: { plan: 'free' },
    spent: RESTLESS,
    banned: RESTLESS,
    unbanned: RESTLESS,
    bannedOnce: RESTLESS,
  };
  const keys: Record<string, RecordedKey> = {};
  for (const [name, body] of Object.entries(wanted)) keys[name] = await issued(admin, { name, ...body });
  return keys;
}

async function fillCatalog(service: TestService, secret: string): Promise<RecordedCreate> {
  const post = (path: string, body: object, headers = {}) =>
    called(service, secret, path, { method: 'POST', status: 201, body, headers });
  for (const name of ['Dog', 'Cat', 'Häschen 🐇', 'Parrot']) await post('/categories', { name });
  for (const [name, status] of [['Rex'], ['Minka', 'pending'], ['Bella', 'sold']])
    await post('/pets', { name, categoryId: name === 'Minka' ? 2 : 1, ...(status && { status }) });
  const [path, body, idempotencyKey] = ['/categories', { name: 'Fish', description: 'quiet' }, 'yesterday-1'];
  const { body: answer } = await post(path, body, { 'idempotency-key': idempotencyKey });
  return { path, body, idempotencyKey, answer };
}

/** One request of each outcome, on several routes. */
async function callNow(service: TestService, secretOf: (name: string) => string): Promise<void> {
  for (const name of ['free', 'pro', 'enterprise', 'ended', 'revoked', 'rotated', 'leaked'])
    await called(service, secretOf(name), '/categories');
  await called(service, secretOf('pro'), '/categories/999', { status: 404 });
  await called(service, secretOf('reader'), '/pets', { status: 403 });
  await called(service, secretOf('pro'), '/pets/1', { method: 'PATCH', body: { name: 'Rex II' } });
  await called(service, secretOf('pro'), '/inventory/1', { method: 'PATCH', body: { quantity: 10 } });
}

/** Calls too often until the key is banned. */
export async function untilBanned(service: TestService, secret: string): Promise<void> {
  for (const status of [200, 200, 429]) await called(service, secret, '/categories', { status });
  // Refusals of the first two seconds were in flight.
  service.clock.advance(2);
  for (let call = 0; call < 10; call += 1) {
    const { body } = await called(service, secret, '/categories', { status: 429 });
    if ((body as { code: string }).code === 'key_banned') return;
  }
  assert.fail('the key is not banned');
}

async function changeTokens(beside: RunHereOptions): Promise<Record<string, string>> {
  const create = async (flags: string) =>
    (await printedBy(`operators create --json ${flags}`, beside)) as { id: string; token: string };
  const keys = await create('--name support --role keys');
  const ended = await create('--name contractor --role admin --expires 1s');
  const revoked = await create('--name leaver --role admin');
  await printedBy(`operators revoke ${revoked.id} --json`, beside);
  return { keys: keys.token, ended: ended.token, revoked: revoked.token };
}

async function changeKeys(keys: Record<string, RecordedKey>, beside: RunHereOptions): Promise<void> {
  const rotate = async (name: string, grace: string) => {
    const { id = '', secret = '' } = keys[name] ?? {};
    const rotated = (await printedBy(`keys rotate ${id} --grace ${grace} --json`, beside)) as { key: string };
    keys[name] = { id, secret: rotated.key, before: secret };
  };
  await rotate('rotated', '24h');
  await rotate('leaked', '0s');
  await printedBy(`keys revoke ${keys.revoked?.id} --json`, beside);
  await printedBy(`keys set-plan ${keys.free?.id} pro --json`, beside);
  await printedBy(`keys set-plan ${keys.free?.id} free --json`, beside);
  const inStaging = { ...beside, env: { ...beside.env, ENVIRONMENT: 'staging' } };
  const { id, key } = (await printedBy('keys create --name staging --json', inStaging)) as { id: string; key: string };
  keys.staging = { id, secret: key };
}

/** Creates of each kind whose outcomes are kept. */
async function createTwice(service: TestService, secret: string): Promise<RecordedCreate[]> {
  const wanted: [string, object][] = [
    ['/categories', { name: 'Horse', description: 'needs a field' }],
    ['/pets', { name: 'Polly', categoryId: 4 }],
    ['/store/orders', { petId: 1, quantity: 2, shipDate: SHIP_DATE }],
  ];
  const creates: RecordedCreate[] = [];
  for (const [path, body] of wanted) {
    const idempotencyKey = `today-${path}`;
    const headers = { 'idempotency-key': idempotencyKey };
    const { body: answer } = await called(service, secret, path, { method: 'POST', status: 201, body, headers });
    creates.push({ path, body, idempotencyKey, answer });
  }
  return creates;
}

/** Takes away what has the highest ids. */
async function giveLastIds(service: TestService, secret: string, beside: RunHereOptions): Promise<Recorded['lastIds']> {
  const post = async (path: string, body: object) =>
    (await called(service, secret, path, { method: 'POST', status: 201, body })).body as { id: number };
  await post('/store/orders', { petId: 1, quantity: 1 });
  const order = await post('/store/orders', { petId: 1, quantity: 3, shipDate: SHIP_DATE });
  await called(service, secret, `/store/orders/${order.id}`, { method: 'DELETE', status: 204 });
  const category = await post('/categories', { name: 'Unicorn' });
  await printedBy(`categories delete ${category.id}`, beside);
  await printedBy('categories rename 2 Cats', beside);
  const list = async () => JSON.stringify((await called(service, secret, '/categories')).body);
  await untilTrue(async () => /"Cats"(?!.*"Unicorn")/.test(await list()), 'what the commands changed');
  return { '/categories': category.id, '/store/orders': order.id };
}

async function openSessions(service: TestService): Promise<Record<string, string>> {
  const [admin, viewer, left] = [await signIn(service), await signIn(service, 'viewer'), await signIn(service)];
  assert.equal((await left.post('/logout')).status, 303);
  return { admin: admin.cookie, viewer: viewer.cookie, left: left.cookie };
}
