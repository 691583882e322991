import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weightsOf } from './accept.ts';

test('a name weighs 1 without a weight, what its q says with one, and nothing if that is no number', () => {
  const weights = weightsOf('GZip ; Q=0.5,br;level=9 ;q=0.001, x;q=, y;q=bad,z;q=1;q=0, */*');
  assert.deepEqual(
    [...weights],
    [
      ['gzip', 0.5],
      ['br', 0.001],
      ['x', 0],
      ['y', 0],
      ['z', 1],
      ['*/*', 1],
    ],
  );
  assert.equal(weightsOf(undefined).get('br'), undefined);
});
