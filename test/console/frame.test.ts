import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import { signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

/** What every page of the console has in common, without scripts. */

test('a page that is not there, or fails, keeps the navigation of an open session', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  for (const [path, status, message] of [
    ['/nothing', 404, 'There is nothing at this address'],
    ['/keys/key_none', 404, 'There is no key key_none'],
    ['/keys/key_none/unban', 404, 'There is no key key_none'],
    ['/logout', 405, 'GET is not allowed here'],
  ] as const) {
    const response = await operator.get(path);
    const text = await response.text();
    assert.equal(response.status, status);
    assert.ok(text.includes(message), text);
    assert.match(text, /<nav aria-label="Console">/);
  }
  const { keys } = service.storage;
  Object.assign(keys, {
    page: async () => {
      throw new CatalogError('unavailable', 'The database does not respond; try again');
    },
  });
  Object.assign(keys, { insert: () => Promise.reject(new CatalogError('unavailable', 'The disk is full')) });
  const lost = await operator.post('/keys/new', { name: 'x', plan: 'free', scopes: 'pets:read' });
  assert.equal(lost.status, 503, 'no mistake of the form');
  const failed = await operator.get('/keys');
  assert.equal(failed.status, 503);
  assert.match(await failed.text(), /<nav aria-label="Console">.*The database does not respond/s);
});

test('the role of the session is on every page', async () => {
  await using service = await testService();
  for (const role of ['viewer', 'keys', 'admin'] as const) {
    const text = await (await signIn(service, role)).page('/keys');
    assert.match(text, new RegExp(`<bdi>operator</bdi> <span class="badge" title="Your role">${role}</span>`));
  }
});
