import assert from 'node:assert/strict';
import { test } from 'node:test';
import { junitOf, printable, type Suite, textOf } from './write.ts';

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
    textOf({ ...SUITE, words }),
    /\n {2}BROKEN list\.all, .*\n1 kept, 2 broken, 1 untried, 1 not met of 5 rules$/s,
  );
});

test('JUnit counts each kind, and escapes', () => {
  const named = (name: string) => `  <testcase classname="http://a/v1" name="${name}"`;
  assert.equal(
    junitOf([SUITE, { name: '"a" &\uffff\ufffe\x07b ]]>', verdicts: [] }]),
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites>',
      '<testsuite name="http://a/v1" tests="5" failures="2" errors="1" skipped="1">',
      `${named('list.array')}/>`,
      `${named('list.all')}><failure message="one &lt;is> missing">A list has all.`,
      'a 1</failure></testcase>',
      `${named('list.one')}><failure message="one &lt;is> missing">A list has one.`,
      'b</failure></testcase>',
      `${named('ban')}><skipped message="no key #1"/></testcase>`,
      `${named('script')}><error message="1 of 2">The script ends.</error></testcase>`,
      '</testsuite>',
      '<testsuite name="&quot;a&quot; &amp;   b ]]&gt;" tests="0" failures="0" errors="0" skipped="0">',
      '</testsuite>',
      '</testsuites>',
    ].join('\n'),
  );
});

test('nothing that controls a terminal is printable', () => {
  assert.equal(printable('a\x1b[31m\x07\x9b\u2028\u202e\u200d\ud800é🐕'), 'a [31m      é🐕');
});
