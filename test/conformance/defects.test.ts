import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RULES } from '../../src/conformance/rules.ts';
import { DEFECTS } from '../../src/rehearsal/defects/defects.ts';
import { catchDefects } from '../kit/conformance/caught.ts';

/** A referee that has never caught anything proves nothing. */
catchDefects(
  ['authentication.ts', 'categories.ts', 'errors.ts', 'http.ts', 'validation.ts'],
  (rule) => !/^(limits|bans)\./.test(rule),
);

test('each row of the table in docs/conformance.md is a defect, with its rule', () => {
  const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| *([a-z][\w-]+) *\| *([a-z]+\.[\w-]+) *\|/gm)].map(([, ...row]) => row.join(' '));
  assert.ok(rows.length > 30);
  const defects = new Set(DEFECTS.map(({ name, rule }) => `${name} ${rule}`));
  assert.deepEqual(
    rows.filter((row) => !defects.has(row)),
    [],
  );
});

test('each defect has another name, and a rule that exists', () => {
  assert.equal(new Set(DEFECTS.map(({ name }) => name)).size, DEFECTS.length);
  const ids = new Set(RULES.map(({ id }) => id));
  assert.deepEqual(
    DEFECTS.filter(({ rule }) => !ids.has(rule)),
    [],
  );
});
