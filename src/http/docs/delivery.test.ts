import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../transport/exchange.ts';
import { fixedPage } from './delivery.ts';

test('content is made once, and again only after a failure', async () => {
  let made = 0;
  const page = fixedPage({
    contentType: 'text/plain',
    cacheControl: 'no-store',
    content: () => {
      made += 1;
      if (made === 1) throw new Error('too many open files');
      return 'text';
    },
  });
  const get = async (accepted: string) => page({ request: { headers: { 'accept-encoding': accepted } } } as Exchange);
  await assert.rejects(get('br'), /too many open files/);
  for (const accepted of ['br', 'gzip', 'identity', 'br']) assert.equal((await get(accepted)).status, 200);
  assert.equal(made, 2);
});
