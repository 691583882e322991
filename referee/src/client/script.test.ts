import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOCK, type Clock } from '../proxy/clock.ts';
import { Progress, secondsOf } from '../proxy/progress.ts';
import { parseScript, stepText } from './script.ts';

test('a script is its steps, each as often as it says, and white space around them is nothing', () => {
  const steps = parseScript('ok, limit:2 ,lost*3,slow:60,grease,unavailable:1*2,revoked');
  assert.equal(
    steps.map(stepText).join(),
    'ok,limit:2,lost,lost,lost,slow:60,grease,unavailable:1,unavailable:1,revoked',
  );
  const longest = 'limit:86400,limit-date:86400,quota:86400,ban:86400,unavailable:86400';
  assert.equal(parseScript(longest).map(stepText).join(), longest);
  assert.deepEqual(parseScript('quota:86400*10000').length, 10_000);
  assert.deepEqual(parseScript('ok*1'), parseScript('ok'));
  assert.equal(parseScript(`${'ok,'.repeat(1_365)}`.slice(0, -1)).length, 1_365);
  assert.equal(parseScript('ok'.padStart(4_096)).length, 1, 'to the last character');
});

test('a limit holds for its seconds, and until the whole second that a date can name', () => {
  for (const [script, secondMs, heldMs, retryAfter] of [
    ['limit:2', 400, 2_000, '2'],
    ['limit-date:2', 400, 2_600, 'Thu, 01 Jan 1970 00:00:04 GMT'],
    ['limit-date:2', 0, 2_000, 'Thu, 01 Jan 1970 00:00:03 GMT'],
  ] as const) {
    let nowMs = 1_000;
    const time = { steadyMs: () => nowMs, unixMs: () => nowMs + secondMs } satisfies Clock;
    const progress = new Progress(script, time);
    progress.take();
    assert.equal(progress.held()?.seconds, Math.ceil(heldMs / 1_000));
    assert.equal(progress.held()?.retryAfter, retryAfter);
    nowMs += heldMs - 101;
    assert.equal(progress.look()?.isEarly, true);
    nowMs += 1;
    assert.equal(progress.look()?.isEarly, undefined, 'what is left is tolerated');
  }
});

test('a date is that of the nearest second, whatever was rounded before', () => {
  const time = { unixMs: () => 1_400.4, steadyMs: () => 0 } satisfies Clock;
  for (const holdsUntilMs of [1_599, 1_600]) {
    const progress = new Progress('limit-date:2', time, { reached: 1, holdsUntilMs });
    assert.equal(progress.held()?.retryAfter, 'Thu, 01 Jan 1970 00:00:03 GMT');
  }
});

test('a step that could not be played is given back, unless a later one was taken', () => {
  const progress = new Progress('grease,lost', CLOCK);
  const [first, second] = [progress.take(), progress.take()];
  assert.ok(first && second);
  progress.giveBack(first);
  assert.equal(progress.position.reached, 2);
  progress.giveBack(second);
  assert.equal(progress.position.reached, 1);

  const revoked = new Progress('revoked', CLOCK);
  revoked.take();
  const later = revoked.take();
  assert.deepEqual([later?.isEarly, later?.isConsumed], [false, false]);
  if (later) revoked.giveBack(later);
  assert.equal(revoked.position.reached, 1, 'it is for good');
});

test('a Retry-After is read as seconds or as a date of the wall clock', () => {
  const time = { unixMs: () => 1_400, steadyMs: () => 77 } satisfies Clock;
  for (const [retryAfter, seconds] of [
    [undefined, null],
    ['7', 7],
    ['Thu, 01 Jan 1970 00:00:03 GMT', 1.6],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
    ['soon', null],
  ] as const) {
    assert.equal(secondsOf(retryAfter, time), seconds, `${retryAfter}`);
  }
});

for (const [script, message] of [
  [
    '',
    /^The script is empty; .*ok, limit:S, limit-date:S, quota:S, ban:S, unavailable:S, unknown, lost, reset, cut, slow:S, error, revoked, grease$/,
  ],
  ['ok,limt:2', /^Step 2 of the script, "limt:2", is none of the steps: ok, limit:S/],
  ['ok,,lost', /^Step 2 of the script, "", is none of the steps/],
  ['OK', /^Step 1 of the script, "OK", is none of the steps/],
  ['limit', /^Step 1 of the script, "limit", needs whole seconds from 1 to 86400, such as limit:2$/],
  ['ban:0', /needs whole seconds from 1 to 86400, such as ban:2$/],
  ['quota:1.5', /needs whole seconds/],
  ['unavailable:90000', /needs whole seconds/],
  ['slow:61', /^Step 1 of the script, "slow:61", needs whole seconds from 1 to 60, such as slow:2$/],
  ['  ', /^The script is empty/],
  ['ok, nope ', /^Step 2 of the script, "nope", is none of the steps/],
  ['not\nok', /is none of the steps/],
  ['error:1', /^Step 1 of the script, "error:1", takes no seconds; write error$/],
  ['limit:', /needs whole seconds/],
  ['limit: 2', /needs whole seconds/],
  ['ok:', /^Step 1 of the script, "ok:", takes no seconds; write ok$/],
  ['ok*1\n2', /^Step 1 of the script, .*repeats "1.+2" times/],
  ['ok'.padStart(4_097), /^The script has 4097 characters/],
  ['limit:1234567', /needs whole seconds/],
  ['ok,lost:3', /^Step 2 of the script, "lost:3", takes no seconds; write lost$/],
  ['ok*0', /repeats "0" times; write a whole number from 1 to 10000 after the \*$/],
  ['ok*two', /repeats "two" times/],
  ['ok*2*2', /repeats "2\*2" times/],
  ['ok*10001', /repeats "10001" times/],
  ['ok*9999,lost*2', /^The script has more than 10000 steps$/],
  ['revoked,ok', /^Step 2 of the script, "ok", follows revoked, which is for good; write revoked last$/],
  ['revoked*2', /"revoked\*2", is for good; write it once$/],
  [`${'ok,'.repeat(2_000)}ok`, /^The script has 6002 characters; 4096 at most are possible$/],
] as const) {
  test(`the script "${script.slice(0, 20)}" is refused with what is wrong`, () => {
    assert.throws(() => parseScript(script), { name: 'Error', message });
  });
}
