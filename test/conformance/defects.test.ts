import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { RULES } from '../../src/conformance/referee.ts';
import { DEFECTS } from '../../src/rehearsal/defects/defects.ts';
import { catchDefects } from '../kit/conformance/caught.ts';
import { PAGE, scores, withTables } from './testers/page.ts';

/** A referee that has never caught anything proves nothing. */
catchDefects(['authentication.ts', 'categories.ts', 'errors.ts', 'http.ts'], (rule) => !/^(limits|bans)\./.test(rule));

test('the tables of docs/conformance.md are made of the scores; `npm run score-testers` writes both', () => {
  const page = readFileSync(PAGE, 'utf8');
  const rows = [...page.matchAll(/^\| *([a-z][\w-]+) *\| *([a-z]+\.[\w-]+) *\|/gm)].map(([, ...row]) => row.join(' '));
  assert.ok(rows.length > 10);
  const defects = new Set(DEFECTS.map(({ name, rule }) => `${name} ${rule}`));
  assert.deepEqual(
    rows.filter((row) => !defects.has(row)),
    [],
  );
  assert.equal(withTables(page, scores()), page);
});

test('each tester of the scores met every defect', () => {
  const names = DEFECTS.map(({ name }) => name).sort();
  for (const [tester, { caught, missed, untried }] of Object.entries(scores())) {
    assert.deepEqual([...caught, ...missed, ...untried].sort(), names, tester);
  }
});

test('each defect has another name, and a rule that exists', () => {
  assert.equal(new Set(DEFECTS.map(({ name }) => name)).size, DEFECTS.length);
  const ids = new Set(RULES.map(({ id }) => id));
  assert.deepEqual(
    DEFECTS.filter(({ rule }) => !ids.has(rule)),
    [],
  );
});
