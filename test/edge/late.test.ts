import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { post } from '../kit/edge/corpus.ts';
import { openRaw } from '../kit/edge/raw.ts';
import { testService } from '../kit/service.ts';

const BODY = '{"name":"Dog"}';
const HEAD = post('', `Content-Length: ${BODY.length}`, 'Expect: 100-continue');

const service = await testService();
after(() => service[Symbol.asyncDispose]());

describe('limit headers of delayed answers', () => {
  for (const [title, waitSeconds, body, expected] of [
    ['in the same second', 0, BODY, { status: 201, remaining: 59, resetIn: 60, day: 999 }],
    ['in the same window', 25, BODY, { status: 201, remaining: 59, resetIn: 35, day: 999 }],
    ['as the window ends', 60, BODY, { status: 201, remaining: 60, resetIn: 60, day: 999 }],
    ['after the window', 100, BODY, { status: 201, remaining: 60, resetIn: 60, day: 999 }],
    ['after the day', 86_400, BODY, { status: 201, remaining: 60, resetIn: 60, day: 1_000 }],
    ['after the window, refused', 100, 'x'.repeat(BODY.length), { status: 400, remaining: 60, resetIn: 60, day: 999 }],
  ] as const) {
    test(`${title}: they are correct at the second of the answer`, async () => {
      const { secret } = await service.issue();
      await using raw = await openRaw(service.url);
      await raw.send(HEAD.replace('<key>', secret));
      // The gates have counted it by now.
      assert.equal((await raw.answer()).status, 100);
      service.clock.advance(waitSeconds);
      await raw.send(body);
      const { status, headers } = await raw.answer();
      assert.equal(status, expected.status);
      const { unix } = service.clock.now();
      assert.equal(headers.get('x-ratelimit-limit'), '60');
      assert.equal(headers.get('x-ratelimit-remaining'), `${expected.remaining}`);
      assert.equal(headers.get('x-ratelimit-reset'), `${unix + expected.resetIn}`);
      assert.equal(headers.get('ratelimit-policy'), '"minute";q=60;w=60, "day";q=1000;w=86400');
      const toMidnight = 86_400 - (unix % 86_400);
      const { remaining, resetIn, day } = expected;
      assert.equal(headers.get('ratelimit'), `"minute";r=${remaining};t=${resetIn}, "day";r=${day};t=${toMidnight}`);
    });
  }

  for (const [seconds, expected] of [
    [3, 57],
    [90, 1],
  ] as const) {
    test(`a ban that takes ${seconds} s to store: Retry-After counts from the second of the answer`, async (t) => {
      const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 1_000 } });
      const { keys } = service.storage;
      const impose = keys.impose.bind(keys);
      t.mock.method(keys, 'impose', (...args: Parameters<typeof impose>) => {
        service.clock.advance(seconds);
        return impose(...args);
      });
      const call = () => service.call(secret, '/pets');
      await call();
      await call();
      service.clock.advance(2);
      for (let refused = 1; refused < 60; refused += 1) await call();
      const before = service.clock.now().unix;
      const { status, headers } = await call();
      assert.equal(status, 429);
      assert.equal(headers.get('retry-after'), `${expected}`);
      if (seconds < 60) assert.equal(headers.get('x-ratelimit-reset'), `${before + 60}`);
    });
  }
});
