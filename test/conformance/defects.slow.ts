import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DEFECTS } from '../../src/rehearsal/defects/defects.ts';
import { caughtBy } from '../kit/conformance/caught.ts';

describe('judged by every rule, the referee catches by the rule that it breaks and by no other,', () => {
  for (const defect of DEFECTS) {
    test(`${defect.name}: ${defect.description}`, async () => {
      const { ids, seen } = await caughtBy(defect);
      assert.deepEqual(ids, [defect.rule], seen);
    });
  }
});
