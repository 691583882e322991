import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepted, unfitting } from './known.ts';

const LISTED = '# Known\n\n- `limits/a`, `used += 1` and `call(…, now)`: only slower.\n- `client/b`, `now`: a cache.\n';

test('an entry is named by code that its module has, and the run says when it no longer has', () => {
  const sources: Record<string, string> = { 'limits/a': 'used += 1;\ncall(one, now);\n', 'client/b': 'later\n' };
  assert.deepEqual(
    unfitting(LISTED, (module) => sources[module]),
    ['mutants.md: client/b has no `now`'],
  );
  assert.deepEqual(
    unfitting(LISTED, () => undefined),
    ['limits/a', 'client/b'].map((module) => `mutants.md: there is no module ${module}`),
  );
  assert.deepEqual(
    ['  used += 1;', 'call(two, now)', 'call(now)', 'used += 2'].map((line) => accepted(LISTED, 'limits/a', line)),
    [true, true, false, false],
  );
});
