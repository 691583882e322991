import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { testService } from '../kit/service.ts';
import { addUsage, usageAt } from '../kit/usage.ts';

/** A key whose lifetime was told as a duration ends at any second. */
const ENDS = '2026-03-04 00:00:14';
const EXPIRY = Date.parse(`${ENDS}Z`) / 1_000;

/** What operators do in the console, without scripts, and what the service then does. */

test('an invalid form is shown again with the input, and every mistake beside its field', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const good = { name: 'Shop', plan: 'free', scopes: 'pets:read', expiresAt: '' };
  const wrong: [Record<string, string>, Record<string, RegExp>][] = [
    [{ name: ' ' }, { name: /^The name of a key/ }],
    [{ plan: 'enterprise', 'limits.minute': '12' }, { limits: /^limits.day is &quot;&quot;/ }],
    [
      {
        name: ' ',
        plan: 'enterprise',
        'limits.minute': '0',
        'limits.day': 'x',
        scopes: 'no',
        expiresAt: '2026-02-30x',
      },
      { name: /name/, limits: /limits/, scopes: /scopes/, expiresAt: /^expiresAt/ },
    ],
  ];
  const { key } = await service.issue();
  for (const [fields, messages] of wrong) {
    for (const path of ['/keys/new', `/keys/${key.id}/edit`]) {
      const response = await operator.post(path, { ...good, ...fields });
      const text = await response.text();
      assert.equal(response.status, 400);
      const beside = [...text.matchAll(/<p class="fault" id="(\w+)-mistake">([^<]*)</g)];
      assert.deepEqual(
        beside.map(([, field]) => field),
        Object.keys(messages),
      );
      for (const [, field = '', message = ''] of beside) {
        assert.match(message, messages[field] ?? /^$/);
        assert.ok(text.includes(`<li><a href="#${field}">${message}</a></li>`), `${field} is not in the summary`);
        assert.match(
          text,
          new RegExp(`<[^>]* id="${field}"[^>]* aria-invalid="true" aria-describedby="${field}-mistake`),
        );
      }
      if (!('name' in fields)) assert.match(text, /name="name" value="Shop"/);
    }
  }
  assert.equal(await service.storage.keys.count({ now: 0 }), 1);
});

test('the form of a key has what it has, and limits only where they are its own', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const form = async (wanted: Parameters<typeof service.issue>[0]) => {
    const { key } = await service.issue({ ...wanted, expiresAt: EXPIRY });
    const text = await operator.page(`/keys/${key.id}/edit`);
    return ['limits.minute', 'limits.day', 'expiresAt'].map(
      (name) => new RegExp(`<input[^>]* name="${name}"[^>]* value="([^"]*)"`).exec(text)?.[1],
    );
  };
  assert.deepEqual(await form({ plan: 'enterprise', limits: { minute: 7, day: 70 } }), ['7', '70', ENDS]);
  assert.deepEqual(await form({ plan: 'pro' }), ['', '', ENDS]);
  const { key } = await service.issue({ name: 'shop', owner: 'cus 1', expiresAt: EXPIRY });
  const fields = { name: 'shop', owner: 'cus 1', plan: 'free', scopes: [...key.scopes], expiresAt: ENDS };
  const saved = async (change: object) => {
    const answer = await operator.post(`/keys/${key.id}/edit`, { ...fields, ...change });
    const found = await service.storage.keys.find(key.id);
    return [answer.headers.get('location')?.split('=')[1], found?.plan, found?.name, found?.owner];
  };
  assert.deepEqual(await saved({}), ['unchanged', 'free', 'shop', 'cus 1']);
  assert.deepEqual(await saved({ plan: 'pro' }), ['key.update', 'pro', 'shop', 'cus 1']);
  assert.deepEqual(await saved({ name: 'other', owner: '' }), ['key.update', 'free', 'other', null]);
});

test('a key offers what its state allows, and each page says what the change would do', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const now = clock.now().unix;
  const { key } = await service.issue({ name: 'shop', expiresAt: now + 600 });
  const { id: other } = (await service.issue({ name: 'another' })).key;
  await addUsage(storage, now - 600, [usageAt(other, now - 600)]);
  const operator = await signIn(service);
  const path = `/keys/${key.id}`;
  const offered = async () =>
    [...(await operator.page(path)).matchAll(/<a class="button[^"]*" href="[^"]*">(\w+)</g)].map(([, label]) => label);
  assert.deepEqual(await offered(), ['Change', 'Rotate', 'Pause', 'Reset', 'Revoke']);
  assert.match(await operator.page(path), /<bdi>test<\/bdi>.*<code>key\.create<\/code>/s);
  assert.match(await operator.page(`${path}/revoke`), /It was never used\./);
  await addUsage(storage, now - 82_800, [usageAt(key.id, now - 82_800)]);
  assert.match(await operator.page(`${path}/revoke`), /It was last used <time datetime="2025-12-31T13:00:00Z"/);
  await operator.post(`${path}/rotate`, { grace: '24h' });
  assert.match(
    await operator.page(path),
    /The old secret ends <time datetime="2026-01-01T12:10:00Z"/,
    'the key expires then',
  );
  await operator.post(`${path}/pause`);
  assert.equal((await offered())[2], 'Resume');
  clock.advance(601);
  const fields = { name: 'old', plan: 'free', scopes: [...key.scopes], expiresAt: '2026-01-01 12:10' };
  assert.equal((await operator.post(`${path}/edit`, fields)).status, 303, 'its expiry was no mistake when it was set');
  await storage.keys.revoke(key.id, now, OPERATOR);
  assert.deepEqual(await offered(), []);
});
