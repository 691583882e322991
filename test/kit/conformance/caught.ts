import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { mintSecret } from '../../../src/catalog/api-key.ts';
import { RULES } from '../../../src/conformance/referee.ts';
import { Broken } from '../../../src/conformance/rule.ts';
import { DEFECTS } from '../../../src/rehearsal/defects/defects.ts';
import type { Defect } from '../../../src/rehearsal/defects/fault.ts';
import { testService } from '../service.ts';
import { refereed } from './referee.ts';

/** Rules that make the categories and the answers that others are judged by. */
const COMPANY = ['create.every-field', 'list.200-array'];
const EXPECTATION = /^ +(?:(?:for|if) \(.*\) )?(?:throw )?expect\w*\(/;

/**
 * Registers tests that show that the referee catches each defect of some rules by the rule that it breaks, and that
 * every expectation in the files of these rules has a defect that it finds. That no other rule catches it is left to
 * the slow tests, but for the rules that look at what others did, which are judged with all of them.
 */
export function catchDefects(files: readonly string[], isOf: (rule: string) => boolean): void {
  const found = new Set<string>();

  describe('the referee catches, by the rule that it breaks,', () => {
    for (const defect of DEFECTS.filter(({ rule }) => isOf(rule))) {
      test(`${defect.name}: ${defect.description}`, async () => {
        const alone = await caughtBy(defect, [defect.rule, ...COMPANY]);
        const { ids, seen, lines, unshown } = alone.ids.includes(defect.rule) ? alone : await caughtBy(defect);
        for (const line of lines) found.add(line);
        assert.ok(ids.includes(defect.rule), seen);
        assert.doesNotMatch(seen, /: $/m, 'every failure says what was seen');
        assert.deepEqual(unshown, [], 'what failed is shown');
      });
    }
  });

  test('each rule has a defect', () => {
    const rules = RULES.filter(({ id }) => isOf(id)).map(({ id }) => id);
    assert.ok(rules.length > 20);
    assert.deepEqual(
      rules.filter((id) => !DEFECTS.some(({ rule }) => rule === id)),
      [],
    );
  });

  test('each expectation was seen to fail', () => {
    const expectations = files.flatMap((file) => {
      const path = fileURLToPath(new URL(`../../../src/conformance/rules/${file}`, import.meta.url));
      const lines = readFileSync(path, 'utf8').split('\n');
      return lines.flatMap((line, index) => (EXPECTATION.test(line) ? [`${basename(file)}:${index + 1}`] : []));
    });
    assert.ok(expectations.length > 30);
    assert.deepEqual(
      expectations.filter((each) => !found.has(each)),
      [],
    );
  });
}

/**
 * Judges a service with a defect, by some rules or by all. The rules that it breaks, with what was seen, and the lines
 * of the expectations that found it.
 */
export async function caughtBy({ name, rule }: Defect, only: readonly string[] = []) {
  const lines: string[] = [];
  await using service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: name });
  const needsOther = rule === 'auth.other-environment';
  const { rules } = await refereed(service, {
    only,
    isFull: RULES.find(({ id }) => id === rule)?.place === 'waits',
    otherEnvironmentKey: needsOther ? mintSecret('production') : undefined,
    planLimits: rule === 'limits.plan' ? [60, 1_000] : undefined,
    onVerdict: (_, error) => {
      if (!(error instanceof Broken)) return;
      for (const [, line] of error.stack?.matchAll(/rules\/([\w-]+\.ts:\d+)/g) ?? []) lines.push(line ?? '');
    },
  });
  const failed = rules.filter(({ verdict }) => verdict === 'failed');
  const unshown = failed.filter(({ exchanges }) => exchanges.length === 0).map(({ id }) => id);
  return {
    unshown,
    ids: failed.map(({ id }) => id),
    seen: failed.map(({ id, seen }) => `${id}: ${seen}`).join('\n'),
    lines,
  };
}
