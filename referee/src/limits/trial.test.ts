import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sending } from './client.ts';
import { type Answer, NoAnswer, type Sent } from './exchange.ts';
import { Trial, type TrialOptions } from './trial.ts';

/** A trial against a server that answers with 200, or is late by some seconds of the clock. */
function trialOf(options: Partial<TrialOptions> & { readonly lateBy?: number } = {}) {
  const time = { now: 100 };
  const [waits, timeouts]: [string[], number[]] = [[], []];
  const client = {
    async send(sent: Sent, { timeoutMs }: Sending): Promise<Answer> {
      timeouts.push(timeoutMs);
      time.now += options.lateBy ?? 0;
      if (options.lateBy !== undefined) throw new NoAnswer(sent, 'it is late', 'LATE');
      return { status: 200, headers: new Map(), body: '{}' };
    },
  };
  const pace = {
    now: () => time.now,
    async wait(seconds: number, why: string) {
      waits.push(`${seconds} ${why}`);
      time.now += seconds;
    },
  };
  const trial = new Trial(client, { pace, isFull: false, concurrency: 1, requestsMax: 100, ...options });
  return { trial, waits, timeouts, time };
}

test('every request and every wait ends with the time of the run', async () => {
  for (const [isFull, seconds, hint, end] of [
    [false, 26, '; --full waits', 'the time is over; --full has more'],
    [true, 1_200, '', 'the time is over'],
  ] as const) {
    const { trial, waits, timeouts, time } = trialOf({ isFull });
    await assert.rejects(trial.wait(seconds + 0.5, 'it lasts'), { message: `it lasts for ${seconds + 1} s${hint}` });
    await trial.wait(0, 'nothing');
    await trial.sendOnce({});
    time.now += seconds - 5;
    await trial.sendOnce({});
    time.now += 4.5;
    await trial.sendOnce({});
    assert.deepEqual(timeouts, [10_000, 8_000, 3_500]);
    await trial.wait(0.5, 'the end');
    assert.deepEqual(waits, ['0.5 the end']);
    await assert.rejects(trial.sendOnce({}), { message: end });
  }
  await assert.rejects(trialOf({ lateBy: 25 }).trial.sendOnce({}), { message: 'it is late' });
  await assert.rejects(trialOf({ lateBy: 26 }).trial.sendOnce({}), { message: 'the time is over; --full has more' });
});
