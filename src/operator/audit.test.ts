import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operatorLink } from './audit.ts';

test('a change tells who made it, and by which way', () => {
  const told = (['cli', 'console', 'api', 'service'] as const).map((via) => operatorLink({ actor: 'a&b', via }).text);
  const link = (way: string, more = '') =>
    `<a class="plain-link" href="/console/audit?actor=a%26b${more}"><bdi>a&amp;b</bdi></a> <span class="soft">${way}</span>`;
  const ofOperators = ['command line', 'console', 'API'].map((way) => link(way));
  assert.deepEqual(told, [...ofOperators, link('service', '&amp;target=service')]);
});
