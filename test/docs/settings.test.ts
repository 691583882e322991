import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { withSettings } from '../../build/settings-page.ts';

test('the page of settings has those of the code, with their defaults', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  assert.equal(page, withSettings(page), 'npm run generate');
});
