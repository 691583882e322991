import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULES } from '../src/server/server.ts';
import { Broken } from '../src/trial/rule.ts';
import { judged } from './liar/judged.ts';
import { LIES } from './liar/lies.ts';
import { OTHER_KEY } from './liar/server.ts';

const SOURCE = fileURLToPath(new URL('../src', import.meta.url));
const EXPECTATION = /^ +(?:(?:for|if) \(.*\) )?(?:throw )?expect\w*\(/;
const WAITING = new Set(RULES.filter(({ place, needs }) => place === 'waits' || needs === 'full').map(({ id }) => id));
/** Expectations that were seen to fail, as `file:line`. */
const failed = new Set<string>();

describe('at our level, a lie is caught by the rules that it breaks, and by no other:', () => {
  for (const { name, description, rules, way } of LIES) {
    test(`${name}: ${description}`, async () => {
      const { report, failure } = await judged([typeof way === 'function' ? way() : way], {
        isFull: rules.some((id) => WAITING.has(id)),
        otherEnvironmentKey: OTHER_KEY,
        planLimits: rules.includes('limits.plan') ? [60, 1_000] : undefined,
        keyPlanLimits: rules.includes('limits.key-plan') ? [1_000, 100_000] : undefined,
        onVerdict(_, error) {
          if (!(error instanceof Broken)) return;
          for (const [, line = ''] of error.stack?.matchAll(/(\w[\w-]*\/[\w-]+\.ts:\d+)/g) ?? []) failed.add(line);
        },
      });
      assert.equal(failure, undefined);
      const found = report.rules.filter(({ verdict }) => verdict === 'failed');
      const seen = found.map((rule) => `${rule.id}: ${rule.seen}`).join('\n');
      assert.deepEqual(found.map(({ id }) => id).sort(), rules.toSorted(), seen);
      assert.ok(
        found.every(({ exchanges }) => exchanges.length > 0),
        'each failure shows its exchange',
      );
    });
  }
});

test('each lie has a name of its own, and each rule a lie', () => {
  assert.equal(new Set(LIES.map(({ name }) => name)).size, LIES.length);
  const caught = new Set(LIES.flatMap(({ rules }) => rules));
  assert.deepEqual(
    RULES.filter(({ id }) => !caught.has(id)).map(({ id }) => id),
    [],
  );
});

test('each expectation was seen to fail', () => {
  const expectations = globSync('server/rules/*.ts', { cwd: SOURCE }).flatMap((file) => {
    const name = `${file.split('/').at(-2)}/${basename(file)}`;
    const lines = readFileSync(`${SOURCE}/${file}`, 'utf8').split('\n');
    return lines.flatMap((line, index) => (EXPECTATION.test(line) ? [`${name}:${index + 1}`] : []));
  });
  assert.ok(expectations.length > 100, `${expectations.length} expectations`);
  assert.deepEqual(
    expectations.filter((each) => !failed.has(each)),
    [],
  );
});
