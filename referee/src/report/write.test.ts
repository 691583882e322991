import assert from 'node:assert/strict';
import { test } from 'node:test';
import { htmlOf } from './html.ts';
import { annotationsOf, COLOURED, junitOf, markdownOf, printable, type Suite, tapOf, textOf } from './write.ts';

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

test('marks show what is bad, what is good and what is beside the point', () => {
  const [bad, faint] = [(text: string) => `\x1b[31m${text}\x1b[39m`, (text: string) => `\x1b[2m${text}\x1b[22m`];
  const style = COLOURED;
  assert.equal(
    textOf(SUITE, { style }),
    [
      'http://a/v1',
      '',
      `  list    ${bad('1 passed, 2 failed')}`,
      '  ban     skipped',
      `  script  ${bad('in error')}`,
      '',
      `  ${bad('FAILED')} list.all, list.one`,
      '    A list has all.',
      '    A list has one.',
      `    ${bad('one <is> missing')}`,
      faint('      a 1'),
      '',
      `  ${bad('IN ERROR')} script`,
      '    The script ends.',
      `    ${bad('1 of 2')}`,
      '',
      faint('  skipped: ban\n    no key #1'),
      '',
      bad('1 passed, 2 failed, 1 in error, 1 skipped of 5 rules'),
    ].join('\n'),
  );
  const [one] = SUITE.verdicts;
  assert.ok(one);
  assert.equal(
    textOf({ name: 'a\x1bb', verdicts: [one] }, { style }),
    'a b\n\n  list  passed\n\n\x1b[32m1 passed of 1 rule\x1b[39m',
  );
});

test('one reason of several rules is said once, and so is a sentence that they share', () => {
  const same = (id: string) =>
    SUITE.verdicts.filter((one) => one.id === id).flatMap((one) => [one, { ...one, id: 'z' }]);
  const text = textOf({ name: '', verdicts: [...same('list.all'), ...same('ban')] });
  assert.equal(text.match(/A list has all\./g)?.length, 1);
  assert.match(text, /\n {2}skipped: ban, z\n {4}no key #1\n\n2 failed, 2 skipped of 4 rules$/);
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

test('TAP numbers all verdicts, and says why', () => {
  const diagnosis = (...more: string[]) => ['  ---', ...more.map((line) => `  ${line}`), '  ...'];
  const missing = ['message: "one <is> missing"', 'severity: "fail"'];
  const [script] = SUITE.verdicts.slice(-1);
  assert.ok(script);
  assert.equal(
    tapOf([SUITE, { name: 'b\x1b', verdicts: [{ ...script, id: 'a\\#', verdict: 'skipped' }] }]),
    [
      'TAP version 14',
      '1..6',
      '# http://a/v1',
      'ok 1 - list.array',
      'not ok 2 - list.all',
      ...diagnosis(...missing, 'sentence: "A list has all."', 'details: ["a 1"]'),
      'not ok 3 - list.one',
      ...diagnosis(...missing, 'sentence: "A list has one."', 'details: ["b"]'),
      'ok 4 - ban # SKIP no key \\#1',
      'not ok 5 - script',
      ...diagnosis('message: "1 of 2"', 'severity: "error"', 'sentence: "The script ends."', 'details: []'),
      '# b ',
      'ok 6 - a\\\\\\# # SKIP 1 of 2',
    ].join('\n'),
  );
});

test('nothing that controls a terminal is printable', () => {
  assert.equal(printable('a\x1b[31m\x07\x9b\u2028\u202e\u200d\ud800é🐕'), 'a [31m      é🐕');
});

test('a table stands in place of groups, subjects with the same rules together, each failure with its fix', () => {
  const about = { sentence: 'It waits.', details: [] };
  const suite: Suite = {
    name: 'a client',
    verdicts: [
      { ...about, id: 'waits', subject: 'GET /a', verdict: 'failed', message: 'came early', fix: 'wait' },
      ...['stops', 'once'].flatMap((id) =>
        ['GET /a', 'GET /b'].map((subject) => ({
          ...about,
          id,
          subject,
          verdict: 'skipped' as const,
          message: 'no way',
        })),
      ),
    ],
    words: { passed: 'kept', failed: 'broken', error: 'in error', skipped: 'never tested' },
    table: {
      columns: ['', 'waits'],
      rows: [
        ['GET /a', 'broken'],
        ['GET /bb', '–'],
      ],
    },
    notes: ['a note'],
    summary: 'Exit 1.',
  };
  assert.equal(
    textOf(suite),
    [
      'a client',
      '',
      '           waits',
      '  GET /a   broken',
      '  GET /bb  –',
      '',
      '  BROKEN waits for GET /a',
      '    It waits.',
      '    came early',
      '    fix: wait',
      '',
      '  never tested: stops, once for GET /a, GET /b',
      '    no way',
      '',
      '  a note',
      '',
      'Exit 1.',
    ].join('\n'),
  );
  assert.equal(annotationsOf([suite]), '::error title=waits for GET /a::came early%0Afix: wait');
  assert.match(markdownOf(suite), /^### a client\n\n\| {2}\| waits \|\n\| --- \| --- \|\n\| GET \/a \| broken \|\n/);
  assert.match(htmlOf([suite]), /<article><h2 class="failed">waits for GET \/a<\/h2>/);
  assert.doesNotMatch(htmlOf([{ ...suite, name: '<script>' }]), /<script/);
});
