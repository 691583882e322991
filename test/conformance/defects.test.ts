import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { RULES } from '../../src/conformance/rules.ts';
import { DEFECTS } from '../../src/rehearsal/defects/defects.ts';
import { refereed } from '../kit/conformance/referee.ts';
import { testService } from '../kit/service.ts';

/** A referee that has never caught anything proves nothing. */
describe('the referee catches, by the rule that it breaks and by no other,', () => {
  for (const { name, rule, description } of DEFECTS) {
    test(`${name}: ${description}`, async () => {
      await using service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: name });
      const { rules } = await refereed(service, { isFull: false });
      const failed = rules.filter(({ verdict }) => verdict === 'failed');
      assert.deepEqual(
        failed.map(({ id }) => id),
        [rule],
        failed.map(({ id, seen }) => `${id}: ${seen}`).join('\n'),
      );
    });
  }

  test('the table in docs/conformance.md has each, with its rule', () => {
    const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| *([a-z][\w-]+) *\| *([a-z]+\.[\w-]+) *\|/gm)].map(
      ([, name, rule]) => `${name} ${rule}`,
    );
    assert.deepEqual(
      rows,
      DEFECTS.map(({ name, rule }) => `${name} ${rule}`),
    );
  });

  test('at least thirty, each of another name, all of rules that exist', () => {
    assert.ok(DEFECTS.length >= 30);
    assert.equal(new Set(DEFECTS.map(({ name }) => name)).size, DEFECTS.length);
    const ids = new Set(RULES.map(({ id }) => id));
    assert.deepEqual(
      DEFECTS.filter(({ rule }) => !ids.has(rule)),
      [],
    );
  });
});
