import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLOURED, junitOf, printable, type Suite, tapOf, textOf } from './writer.ts';

const SUITE: Suite = {
  name: 'http://a/v1',
  verdicts: [
    { id: 'list.array', verdict: 'passed', sentence: 'A list is an array.', message: '', details: [] },
    {
      id: 'list.all',
      verdict: 'failed',
      sentence: 'A list has all.',
      message: 'one <is> missing',
      details: ['a\x9b1'],
    },
    { id: 'list.one', verdict: 'failed', sentence: 'A list has one.', message: 'one <is> missing', details: ['b'] },
    { id: 'ban', verdict: 'skipped', sentence: 'A ban ends.', message: 'no key #1', details: [] },
    { id: 'script', verdict: 'error', sentence: 'The script ends.', message: '1 of 2', details: [] },
  ],
};

test('text has a line for each group, failures of one cause together, and the reasons', () => {
  assert.equal(
    textOf(SUITE),
    [
      'http://a/v1',
      '',
      '  list    1 passed, 2 failed',
      '  ban     skipped',
      '  script  in error',
      '',
      '  FAILED list.all, list.one',
      '    A list has all.',
      '    A list has one.',
      '    one <is> missing',
      '      a 1',
      '',
      '  IN ERROR script',
      '    The script ends.',
      '    1 of 2',
      '',
      '  skipped: ban',
      '    no key #1',
      '',
      '1 passed, 2 failed, 1 in error, 1 skipped of 5 rules',
    ].join('\n'),
  );
  const words = { passed: 'kept', failed: 'broken', error: 'untried', skipped: 'not met' };
  assert.match(
    textOf(SUITE, { words }),
    /\n {2}BROKEN list\.all, .*\n1 kept, 2 broken, 1 untried, 1 not met of 5 rules$/s,
  );
  const coloured = textOf(SUITE, { style: COLOURED });
  assert.ok(coloured.includes('\x1b[31mFAILED\x1b[39m list.all'));
  assert.ok(coloured.includes('\x1b[2m      a 1\x1b[22m\n'));
});

test('a sentence that several rules share is said once', () => {
  const twice = SUITE.verdicts
    .filter(({ id }) => id === 'list.all')
    .flatMap((one) => [one, { ...one, id: 'list.too' }]);
  assert.equal(textOf({ name: '', verdicts: twice }).match(/A list has all\./g)?.length, 1);
});

test('JUnit counts each kind, and escapes', () => {
  const xml = junitOf([SUITE, { name: 'b', verdicts: [] }]);
  assert.match(xml, /<testsuite name="http:\/\/a\/v1" tests="5" failures="2" errors="1" skipped="1">/);
  assert.match(xml, /name="list\.all"><failure message="one &lt;is> missing">A list has all\.\na 1<\/failure>/);
  assert.match(xml, /name="script"><error message="1 of 2">/);
  assert.match(junitOf([{ name: '"a" & b', verdicts: [] }]), /<testsuite name="&quot;a&quot; &amp; b" /);
  assert.match(
    xml,
    /<testsuite name="b" tests="0" failures="0" errors="0" skipped="0">\n<\/testsuite>\n<\/testsuites>$/,
  );
});

test('TAP numbers all verdicts, and says why', () => {
  const lines = tapOf([SUITE, SUITE]).split('\n');
  assert.deepEqual(lines.slice(0, 10), [
    'TAP version 14',
    '1..10',
    '# http://a/v1',
    'ok 1 - list.array',
    'not ok 2 - list.all',
    '  ---',
    '  message: "one <is> missing"',
    '  severity: "fail"',
    '  sentence: "A list has all."',
    '  details: ["a 1"]',
  ]);
  assert.ok(lines.includes('ok 4 - ban # SKIP no key \\#1'));
  assert.ok(lines.includes('not ok 10 - script'));
});

test('nothing that controls a terminal is printable', () => {
  assert.equal(printable('a\x1b[31m\x07\x9b\u2028\u202e\u200d\ud800é🐕'), 'a [31m      é🐕');
});
