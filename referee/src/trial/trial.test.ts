import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, Sending } from './client.ts';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';
import { Trial, type TrialOptions } from './trial.ts';

type Said = number | string | readonly [status: number, headers: Readonly<Record<string, string>>, body?: string];

const KEYS = { key: 'k', otherEnvironmentKey: 'o', listPath: '/categories' };

/** A trial against a server that says one thing after the other, and then the last again; a text is a fault. */
function trialOf(said: readonly Said[], options: Partial<TrialOptions> & { readonly takes?: readonly number[] } = {}) {
  const time = { now: 100 };
  const [waits, timeouts, alone]: [string[], number[], unknown[]] = [[], [], []];
  let count = 0;
  const client = {
    async send(sent: Sent, { timeoutMs, isAlone }: Sending): Promise<Answer> {
      alone.push(isAlone);
      const next = said[Math.min(count, said.length - 1)] ?? 200;
      count += 1;
      timeouts.push(timeoutMs);
      time.now += options.takes?.[count - 1] ?? 0;
      if (typeof next === 'string') throw new NoAnswer(sent, 'it went away', next);
      const [status, headers, body = '{"id":1}'] = typeof next === 'number' ? [next, {}] : next;
      return { status, headers: new Map(Object.entries(headers)), body, isCut: false, list: undefined };
    },
    async sendRaw(_: string, timeoutMs: number) {
      timeouts.push(timeoutMs);
      return [];
    },
    host: 'a',
    pathOf: (path: string) => path,
  };
  const pace = {
    now: () => time.now,
    async wait(seconds: number, why: string) {
      waits.push(`${seconds} ${why}`);
      time.now += seconds;
    },
  };
  const usual = { ...KEYS, pace, isFull: false, concurrency: 1 };
  const trial = new Trial(client as unknown as Client, { ...usual, ...options });
  return { trial, waits, timeouts, alone, time, asked: () => count };
}

const [BUSY, OVER] = ['0.2 the server is busy', 'the key is over its limit'];
const over = (seconds: number): Said => [429, { 'retry-after': `${seconds}` }];

describe('a request is sent again after what may pass:', () => {
  for (const [name, said, result, waits] of [
    ...[500, 502, 503, 504].map((status) => [`${status}`, [status, 200], 200, [BUSY]] as const),
    ...[501, 505, 404, 304].map((status) => [`not ${status}`, [status, 200], status, []] as const),
    ['four times', [503, 502, 500, 504, 200], 200, [BUSY, BUSY, BUSY, BUSY]],
    ['not five times', [503, 503, 503, 503, 503, 200], 503, [BUSY, BUSY, BUSY, BUSY]],
    ['as Retry-After says', [[503, { 'retry-after': '7' }], 200], 200, ['7 the server is busy']],
    ['a refusal', [over(9), 200], 200, [`9 ${OVER}`]],
    ['four refusals', [over(1), over(1), over(1), over(1), 200], 200, Array(4).fill(`1 ${OVER}`)],
    ['not five refusals', [over(1)], OVER, Array(4).fill(`1 ${OVER}`)],
    ['not a refusal without Retry-After', [429, 200], OVER, []],
    ['not longer than the time', [over(27), 200], `${OVER} for 27 s; --full waits`, []],
    ['no answer', ['ECONNRESET', 200], 200, [BUSY]],
    ['no answer four times', Array(5).fill('ECONNRESET'), 'it went away', [BUSY, BUSY, BUSY, BUSY]],
    ['not a late answer', ['LATE', 200], 'it went away', []],
  ] as readonly (readonly [string, readonly Said[], number | string, readonly string[]])[]) {
    test(name, async () => {
      const made = trialOf(said);
      const answer = await made.trial.send().then(
        (exchange) => exchange.status,
        (error: Error) => error.message,
      );
      assert.deepEqual([answer, made.waits], [result, waits]);
    });
  }
});

test('a refusal of a request without a valid key makes no other wait', async () => {
  const { trial, waits } = trialOf([over(3), over(3), over(3), over(3), over(3), 200]);
  await assert.rejects(trial.send({ authorization: undefined }), {
    message: 'a request without a valid key is over its limit',
  });
  assert.deepEqual(waits, Array(4).fill('3 a request without a valid key is over its limit'));
  assert.equal((await trial.send()).status, 200);
});

test('while the key is over its limit nothing is sent with it, raw bytes neither', async () => {
  const { trial, asked, timeouts } = trialOf([over(27), 200]);
  const message = `${OVER} for 27 s; --full waits`;
  for (let i = 0; i < 2; i += 1) await assert.rejects(trial.send(), { message });
  await assert.rejects(
    trial.sendRaw(() => ''),
    { message },
  );
  assert.deepEqual([asked(), timeouts.length], [1, 1]);
  assert.equal((await trial.send({ authorization: undefined })).status, 200);
});

test('every request and every wait ends with the time of the run', async () => {
  for (const [isFull, seconds, hint, end] of [
    [false, 26, '; --full waits', 'the time is over; --full has more'],
    [true, 1_200, '', 'the time is over'],
  ] as const) {
    const { trial, waits, timeouts, time } = trialOf([200], { isFull });
    await assert.rejects(trial.wait(seconds + 0.5, 'it lasts'), { message: `it lasts for ${seconds + 1} s${hint}` });
    await trial.wait(0, 'nothing');
    await trial.send();
    time.now += seconds - 5;
    await trial.send();
    await trial.sendRaw(() => '');
    time.now += 4.5;
    await trial.send();
    await trial.sendRaw(() => '');
    assert.deepEqual(timeouts, [10_000, 8_000, 4_000, 3_500, 3_500]);
    await trial.wait(0.5, 'the end');
    assert.deepEqual(waits, ['0.5 the end']);
    await assert.rejects(trial.send(), { message: end });
  }
  const { trial, time } = trialOf(['LATE']);
  time.now += 25;
  await assert.rejects(trial.send(), { message: 'it went away' });
  const late = trialOf(['LATE'], { takes: [26] });
  await assert.rejects(late.trial.send(), { message: 'the time is over; --full has more' });
});

test('the creates that may have made a category are counted', async () => {
  for (const [said, body, counts] of [
    [[201, {}, '{"id":1}'], { name: 'a' }, true],
    [[201, {}, '{}'], { name: 'a' }, false],
    [[302, {}, '{"id":1}'], { name: 'a' }, false],
    [[400, {}, '{"id":1}'], { name: 'a' }, false],
    [[501, {}, ''], { name: 'a' }, true],
    [[501, {}, ''], { name: 1 }, false],
    [[501, {}, ''], '{"name":', false],
  ] as const) {
    const { trial, asked } = trialOf([said]);
    for (let i = 0; i < 40; i += 1) await trial.post(body);
    const more = trial.post(body).then(
      () => undefined,
      (error: Error) => error.message,
    );
    assert.deepEqual([await more, asked()], counts ? ['40 categories were created', 40] : [undefined, 41], `${said}`);
  }
});

test('no more requests are sent than the run may send', async () => {
  const { trial, asked } = trialOf([200], { requestsMax: 2 });
  for (let i = 0; i < 2; i += 1) await trial.send();
  await assert.rejects(trial.send(), { message: '2 requests were sent; --max allows more' });
  assert.equal(asked(), 2);
});
