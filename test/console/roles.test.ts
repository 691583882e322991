import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '../../src/catalog/operator/access.ts';
import { fillWithLife, type Life, pagesOf } from '../kit/console/life.ts';
import { signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

/** What each role may do in the console. */

/** Every action of the console with the least role that may take it. */
const actionsOn = ({ busyKey, bannedKey, category }: Life): [string, Role][] => [
  ['/keys', 'keys'],
  [`/keys/${busyKey}/edit`, 'keys'],
  [`/keys/${busyKey}/rotate`, 'keys'],
  [`/keys/${busyKey}/revoke`, 'keys'],
  [`/keys/${bannedKey}/unban`, 'keys'],
  [`/keys/${bannedKey}/end-graces`, 'keys'],
  [`/categories/${category}`, 'admin'],
  [`/categories/${category}/delete`, 'admin'],
  ['/categories/import', 'admin'],
  ['/tokens', 'admin'],
  ['/tokens/op_x/revoke', 'admin'],
  ['/sessions/session_x/end', 'admin'],
];
/** Pages that are forms. */
const FORMS = /\/(new|edit|rotate|revoke|delete|import)$/;

test('a viewer sees every page without a button that changes anything, and no page that is a form', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const viewer = await signIn(service, 'viewer');
  const { id } = await otherSession(service);
  let seen = 0;
  for (const [, path] of pagesOf(life)) {
    if (path.startsWith('/login') || path === '/nothing-here') continue;
    const answer = await viewer.get(path);
    if (FORMS.test(path)) {
      assert.equal(answer.status, 403, path);
      continue;
    }
    const text = await answer.text();
    assert.equal(answer.status, 200, path);
    const actions = [...text.matchAll(/<form method="post" action="\/console([^"]*)"/g)].map(([, action]) => action);
    const own = actions.filter((action) => action !== '/logout' && !action?.startsWith('/sessions/'));
    assert.deepEqual(own, [], path);
    assert.doesNotMatch(text, /href="[^"]*\/(new|edit|rotate|revoke|delete|import)"/, path);
    assert.ok(!text.includes(`/sessions/${id}/end`), path);
    seen += 1;
  }
  assert.ok(seen >= 15, `${seen}`);
});

test('a forged form is 403 for each action above the role, and changes nothing', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const [viewer, keys] = [await signIn(service, 'viewer'), await signIn(service, 'keys')];
  const { id } = await otherSession(service);
  const before = await stateOf(service);
  for (const [path, needed] of actionsOn(life)) {
    const action = path.replace('session_x', id);
    for (const [role, operator] of [['viewer', viewer] as const, ['keys', keys] as const]) {
      if (role === needed) continue;
      const answer = await operator.post(action, { name: 'forged', plan: 'pro', scopes: 'pets:read', grace: '0' });
      assert.equal(answer.status, 403, `${action} as ${role}`);
      assert.match(await answer.text(), new RegExp(`needs the role ${needed}`), action);
    }
  }
  assert.deepEqual(await stateOf(service), before);
  assert.equal(service.events.failures.length, 0);
});

test('the role keys changes keys, an admin everything, and each ends its own session', async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  const keys = await signIn(service, 'keys');
  assert.equal((await keys.post(`/keys/${life.bannedKey}/unban`)).headers.get('location')?.endsWith('unbanned'), true);
  assert.equal((await keys.post(`/keys/${life.busyKey}/revoke`)).status, 303);
  assert.match(await keys.page('/keys'), /href="\/console\/keys\/new"/);
  for (const form of ['/keys/new', `/keys/${life.bannedKey}/edit`, `/keys/${life.bannedKey}/rotate`, '/keys/export'])
    assert.equal((await keys.get(form)).status, 200, form);
  for (const form of ['/categories/import', '/categories/import/none', `/categories/${life.category}/delete`])
    assert.equal((await keys.get(form)).status, 403, form);
  const admin = await signIn(service, 'admin');
  const created = await admin.post('/tokens', { name: 'billing', role: 'keys', life: '90' });
  const [, secret = ''] = /value="(petcat_op_\w+)"/.exec(await created.text()) ?? [];
  const call = () =>
    fetch(`${service.operatorUrl}/api/v1/keys`, {
      headers: { authorization: `Bearer ${secret}`, connection: 'close' },
    });
  assert.equal((await call()).status, 200);
  const list = await admin.page('/tokens');
  assert.ok(list.includes('billing') && !list.includes(secret));
  const [token] = await service.storage.tokens.list();
  assert.equal((token?.expiresAt ?? 0) - (token?.createdAt ?? 0), 90 * 86_400);
  const revoked = await admin.post(`/tokens/${token?.id}/revoke`);
  assert.equal(revoked.headers.get('location'), '/console/tokens?done=token-revoked');
  assert.equal((await call()).status, 401);
  for (const [field, wrong] of Object.entries({
    name: { name: ' ', role: 'keys', life: '30' },
    role: { name: 'x', role: 'root', life: '30' },
    life: { name: 'x', role: 'keys', life: '31' },
  })) {
    const refused = await admin.post('/tokens', wrong);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), new RegExp(`<p class="fault" id="${field}-mistake">`));
  }
  assert.equal((await service.storage.tokens.list()).length, 1);
  for (const [life, days] of [
    ['', null],
    ['30', 30],
    ['365', 365],
  ] as const) {
    await admin.post('/tokens', { name: `for ${life}`, role: 'viewer', life });
    const made = (await service.storage.tokens.list()).find(({ name }) => name === `for ${life}`.trim());
    const seconds = made && made.expiresAt !== null ? made.expiresAt - made.createdAt : null;
    assert.equal(seconds, days && days * 86_400, life);
  }
  const states = [...(await admin.page('/tokens')).matchAll(/data-column="State"><div>(.*?)<\/div>/g)];
  assert.deepEqual(
    states.map(([, state = '']) => state.replace(/<[^>]*>/g, ' ').trim()),
    ['active  until  2027-01-01 12:00 UTC', 'active  until  2026-01-31 12:00 UTC', 'active', 'revoked'],
  );
  const viewer = await signIn(service, 'viewer');
  assert.equal((await viewer.post('/logout')).status, 303);
  assert.equal((await viewer.get('/keys')).status, 303);
});

async function otherSession(service: TestService): Promise<{ id: string }> {
  await signIn(service, 'admin');
  const sessions = await service.storage.sessions.list(service.clock.now().unix);
  const other = sessions.find(({ role }) => role === 'admin');
  assert.ok(other);
  return other;
}

async function stateOf({ storage, clock }: TestService) {
  const now = clock.now().unix;
  const audit = await storage.audit.list({ since: 0, limit: 1_000 });
  return {
    keys: await storage.keys.list(),
    bans: await storage.keys.bans(now),
    categories: await storage.categories.list(),
    tokens: await storage.tokens.list(),
    audit: audit.filter(({ action }) => action !== 'console.open'),
  };
}
