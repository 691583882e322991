import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { testService } from '../kit/service.ts';

test('a category has its history, and the audit is searched for an old name', async () => {
  await using service = await testService();
  const { storage } = service;
  const { key } = await service.issue({ name: 'shop' });
  for (const name of ['Dog', 'Cat']) await storage.categories.insert({ name }, { keyId: key.id });
  await storage.categories.rename(1, 'Straße "5"', OPERATOR);
  await storage.categories.rename(2, 'Cats', OPERATOR);
  const operator = await signIn(service);
  await storage.categories.insert({ name: 'Eel' }, { keyId: key.id });
  assert.match(await operator.page('/categories/3'), /No change found\./);
  const history = await operator.page('/categories/1');
  assert.match(history, /<h2 id="history-heading">History/);
  assert.match(history, /id="history-heading"[\s\S]*<del>.*Dog.*<\/del> <ins>.*Straße &quot;5&quot;/);
  assert.ok(!history.includes('Cats'));
  await storage.categories.rename(1, 'Hounds', OPERATOR);
  await storage.categories.delete(1, OPERATOR);
  for (const old of ['dog', 'straße "5"']) {
    const found = await operator.page(`/audit?q=${encodeURIComponent(old)}`);
    assert.ok(found.includes('Straße') && !found.includes('Cats') && !found.includes('<code>key.create'), old);
  }
  const csv = await operator.page('/audit/export?q=hounds');
  assert.deepEqual(csv.match(/category\.\w+/g), ['category.delete', 'category.rename']);
});
