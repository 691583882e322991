import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operatorLink } from './audit.ts';

test('a change tells who made it, and by which way', () => {
  const told = (['cli', 'console', 'api', 'service'] as const).map((via) => operatorLink({ actor: 'a&b', via }).text);
  const link = '<a class="plain-link" href="/console/audit?actor=a%26b"><bdi>a&amp;b</bdi></a>';
  assert.deepEqual(
    told,
    ['command line', 'console', 'API', 'service'].map((way) => `${link} <span class="soft">${way}</span>`),
  );
});
