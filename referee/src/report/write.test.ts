import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlOf } from './html.ts';
import { annotationsOf, junitOf, markdownOf, printable, type Suite, textOf, withoutCommands } from './write.ts';

const SUITE: Suite = {
  name: 'http://a/v1',
  words: { failed: 'broken', skipped: 'not met' },
  table: { columns: ['rule', ''], rows: [['list', 'broken']] },
  summary: '2 broken of 4 rules.',
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
  ],
};

test('text has the table, failures of one cause together, the reasons, and the last line', () => {
  assert.equal(
    textOf(SUITE),
    [
      'http://a/v1',
      '',
      '  rule',
      '  list  broken',
      '',
      '  BROKEN list.all, list.one',
      '    A list has all.',
      '    A list has one.',
      '    one <is> missing',
      '      a 1',
      '',
      '  not met: ban',
      '    no key #1',
      '',
      '2 broken of 4 rules.',
    ].join('\n'),
  );
});

test('JUnit counts each kind, and escapes', () => {
  const named = (name: string) => `  <testcase classname="http://a/v1" name="${name}"`;
  assert.equal(
    junitOf([SUITE, { ...SUITE, name: '"a" &\uffff\ufffe\x07b ]]>', verdicts: [] }]),
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuites>',
      '<testsuite name="http://a/v1" tests="4" failures="2" skipped="1">',
      `${named('list.array')}/>`,
      `${named('list.all')}><failure message="one &lt;is&gt; missing">A list has all.`,
      'a 1</failure></testcase>',
      `${named('list.one')}><failure message="one &lt;is&gt; missing">A list has one.`,
      'b</failure></testcase>',
      `${named('ban')}><skipped message="no key #1"/></testcase>`,
      '</testsuite>',
      '<testsuite name="&quot;a&quot; &amp;   b ]]&gt;" tests="0" failures="0" skipped="0">',
      '</testsuite>',
      '</testsuites>',
    ].join('\n'),
  );
});

test('text of what was judged is none of the marks of a log, a summary or a page', () => {
  const hostile = '::set-env name=A::1 <img src=x onerror=1> ![x](http://a) & "\' %0A';
  const table = { columns: [hostile], rows: [[hostile, hostile]] };
  const verdict = { id: hostile, sentence: hostile, message: hostile, details: [hostile], fix: hostile };
  const suite: Suite = {
    ...SUITE,
    ...{ name: hostile, table, summary: hostile, notes: [hostile], timelines: [{ ...table, name: hostile }] },
    verdicts: [
      { ...verdict, verdict: 'failed' },
      { ...verdict, verdict: 'skipped' },
    ],
  };
  assert.doesNotMatch(withoutCommands(`  ${hostile}\n${hostile}\n##[x]`), /^\s*(::|##)/m);
  assert.match(annotationsOf([suite]), /^::error title=%3A%3Aset-env name=A%3A%3A1 <img[^\n]* %250A$/);
  assert.doesNotMatch(htmlOf([suite]), /<img|onerror=1>/);
  assert.doesNotMatch(junitOf([suite]), /<img|"[^"]*'[^"]*" %/);
  assert.doesNotMatch(markdownOf(suite), /(^|[^\\])[<![]/);
});

test('nothing that controls a terminal is printable', () => {
  assert.equal(printable('a\x1b[31m\x07\x9b\u2028\u202e\u200d\ud800é🐕'), 'a [31m      é🐕');
});
