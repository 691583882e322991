import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ApiKey, mintSecret, newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import type { Decision, Limiter } from '../../src/limits/limiter.ts';
import type { ManualClock } from '../kit/clock.ts';
import { anyLimits, anySecond, anySteps, LimiterModel } from '../kit/limiter-model.ts';
import { OPERATOR } from '../kit/operator.ts';

/** A limiter under test with what it stands on. */
export interface LimiterBench extends AsyncDisposable {
  /** Each call has the key as storage has it by then, but for the limits, which are those of the call. */
  readonly limiter: Limiter;
  readonly storage: Storage;
  readonly clock: ManualClock;
  /** Stops the limiter, cleanly, and starts another in its place. */
  restart(): Promise<void>;
}

/** The suite that every limiter must pass. */
export function limiterContract(name: string, makeBench: () => Promise<LimiterBench>): void {
  const check = (title: string, body: (bench: LimiterBench, key: ApiKey) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      await using bench = await makeBench();
      await body(bench, await issue(bench, 'free'));
    });

  test(`${name}: random calls, plan changes, resets, rotations, clock steps and restarts never break a rule`, async () => {
    await using bench = await makeBench();
    const run = fc.asyncProperty(anySecond, anyLimits, anySteps, async (second, limits, steps) => {
      turnTo(bench.clock, second);
      const model = new LimiterModel();
      let key: ApiKey = { ...(await issue(bench, 'free')), limits };
      const call = async (count = 1) => {
        const decisions = await send(bench.limiter, key, count);
        for (const decision of decisions) model.check(decision, key.limits, bench.clock.now());
        return decisions;
      };
      for (const step of steps) {
        if (step.kind === 'call') await call(step.count);
        if (step.kind === 'wait') bench.clock.advance(step.seconds);
        if (step.kind === 'clock') bench.clock.step(step.seconds);
        if (step.kind === 'plan') key = { ...key, limits: step.limits };
        if (step.kind === 'reset') {
          await bench.storage.keys.reset(key.id, step.window, OPERATOR);
          model.reset(step.window);
        }
        if (step.kind === 'restart') {
          await bench.restart();
          // Reads the key, because a clock that is stepped while it is not in memory may shift its windows.
          model.restart(await bench.limiter.peek(key), bench.clock.now());
        }
        if (step.kind === 'rotate') key = { ...(await rotate(bench, key)), limits: key.limits };
        if (step.kind === 'obey') {
          const refused = await bench.limiter.peek(key);
          if (!refused.refusal) continue;
          bench.clock.advance(refused.reset - refused.now);
          assert.equal((await call())[0]?.refusal, undefined);
        }
      }
    });
    await fc.assert(run, { numRuns: 40 });
  });

  check(
    'of simultaneous requests as many are admitted as are left, though the counts have yet to be read',
    async (bench, key) => {
      await send(bench.limiter, key, 30);
      await bench.restart();
      const decisions = await send(bench.limiter, key, 100);
      assert.equal(decisions.filter((decision) => !decision.refusal).length, 30);
    },
  );

  check('a decision reported later has the values that the next request would get', async ({ limiter, clock }, key) => {
    let told: Decision = await limiter.peek(key);
    const shown = ({ refusals: _, ...decision }: Decision) => decision;
    const compareAfter = async (...waits: readonly number[]) => {
      for (const seconds of waits) {
        clock.advance(seconds);
        assert.deepEqual(shown(limiter.current(key, told)), await limiter.peek(key));
      }
    };
    await compareAfter(0, 30);
    told = await limiter.charge(key);
    await compareAfter(0, 1, 58, 1, 60, 86_400);
    await send(limiter, key, 60);
    told = await limiter.charge(key);
    await compareAfter(0, 59, 1);
    told = await hammer(limiter, clock, key);
    await compareAfter(0, 59, 1, 86_400);
    for (let used = 0; used < 1_000; used += 50) {
      clock.advance(60);
      await send(limiter, key, 50);
    }
    told = await limiter.charge(key);
    assert.equal(told.refusal, 'daily_quota_exceeded');
    await compareAfter(0, 60, 86_400);
  });

  check('a decision reported within its second is unchanged', async ({ limiter }, key) => {
    const decision = await limiter.charge(key);
    await limiter.charge(key);
    assert.equal(limiter.current(key, decision), decision);
  });

  check('refusals on both sides of an admitted request count together', async ({ limiter, clock }, key) => {
    await send(limiter, key, 60);
    clock.advance(50);
    await limiter.charge(key);
    clock.advance(5);
    assertAll(await send(limiter, key, 30), 'rate_limit_exceeded');
    clock.advance(5);
    assert.equal((await limiter.peek(key)).remaining, 60, 'which a look between them does not change');
    assertAll(await send(limiter, key, 60), undefined);
    assertAll(await send(limiter, key, 30), 'rate_limit_exceeded');
    assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  });

  check('refusals of before a lift are forgotten', async ({ limiter, clock, storage }, key) => {
    await send(limiter, key, 61);
    clock.advance(2);
    await send(limiter, key, 60);
    assert.equal(await storage.keys.lift(key.id, clock.now().unix, OPERATOR), false);
    assertAll(await send(limiter, key, 61), 'rate_limit_exceeded');
    clock.advance(2);
    assertAll(await send(limiter, key, 60), 'rate_limit_exceeded');
    assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  });

  check(
    'a reset forgets the refusals of before, and only that of the minute',
    async ({ limiter, clock, storage }, key) => {
      await send(limiter, key, 61);
      clock.advance(2);
      assertAll(await send(limiter, key, 60), 'rate_limit_exceeded');
      await storage.keys.reset(key.id, 'minute', OPERATOR);
      assertAll(await send(limiter, key, 60), undefined);
      assertAll(await send(limiter, key, 61), 'rate_limit_exceeded');
      clock.advance(2);
      assertAll(await send(limiter, key, 60), 'rate_limit_exceeded');
      await storage.keys.reset(key.id, 'day', OPERATOR);
      assert.equal((await limiter.charge(key)).refusal, 'key_banned');
    },
  );

  check('a ban outlives a reset of the windows, and is lifted together with one', async (bench, key) => {
    const { limiter, clock, storage } = bench;
    const banned = await hammer(limiter, clock, key);
    await storage.keys.reset(key.id, 'both', OPERATOR);
    const still = await limiter.charge(key);
    assert.deepEqual([still.refusal, still.ban, still.day.remaining], ['key_banned', banned.ban, 1_000]);
    await bench.restart();
    assert.deepEqual((await limiter.charge(key)).ban, banned.ban);
    clock.advance(60);
    const again = await hammer(limiter, clock, key);
    assert.equal(await storage.keys.lift(key.id, clock.now().unix, OPERATOR, undefined, true), true);
    const { minute, day } = await limiter.charge(key);
    assert.deepEqual([minute.remaining, day.remaining, minute.reset], [59, 999, again.now + 58], 'the end stays');
  });

  check('a banned key with a spent day is told of the day', async ({ limiter, clock }, key) => {
    for (let used = 0; used < 1_000; used += 50) {
      clock.advance(60);
      await send(limiter, key, 50);
    }
    clock.advance(2);
    await send(limiter, key, 63);
    clock.advance(2);
    await send(limiter, key, 60);
    const banned = await limiter.charge(key);
    assert.equal(banned.refusal, 'key_banned');
    for (const told of [banned, await limiter.charge(key), await limiter.peek(key)]) {
      assert.deepEqual([told.reset % 86_400, told.ban?.until], [0, clock.now().unix + 60]);
    }
  });
}

/** Turns a clock on to a second of a day, with no step left in it, so that a run does not depend on those before. */
function turnTo(clock: ManualClock, second: number): void {
  const { unix, steady } = clock.now();
  clock.step(steady - unix);
  clock.advance(86_400 - (steady % 86_400) + second);
}

/** Sends requests at once, as one turn of the event loop has them; resolves with the decisions in their order. */
function send(limiter: Limiter, key: ApiKey, count: number): Promise<Decision[]> {
  return Promise.all(Array.from({ length: count }, () => limiter.charge(key)));
}

function assertAll(decisions: readonly Decision[], refusal: Decision['refusal']): void {
  for (const decision of decisions) assert.equal(decision.refusal, refusal);
}

/** Sends with a free key beyond its minute limit until it is banned. */
async function hammer(limiter: Limiter, clock: ManualClock, key: ApiKey) {
  await send(limiter, key, 61);
  clock.advance(2);
  assertAll(await send(limiter, key, 60), 'rate_limit_exceeded');
  const banned = await limiter.charge(key);
  assert.equal(banned.refusal, 'key_banned');
  return banned;
}

async function rotate({ storage, clock }: LimiterBench, { id }: ApiKey): Promise<ApiKey> {
  const now = clock.now().unix;
  const rotated = await storage.keys.rotate(id, secretRecord(mintSecret('production')), {
    now,
    oldEndAt: now,
    by: OPERATOR,
  });
  assert.ok(rotated);
  return rotated;
}

async function issue({ storage, clock }: LimiterBench, plan: 'free' | 'pro'): Promise<ApiKey> {
  const { key, secret } = newApiKey({ name: plan, environment: 'production', plan }, clock.now().unix);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  return key;
}

/**
 * Wraps limiters so that their calls get the key as storage has it, from a cache that follows the changes of storage as
 * that of the authenticator does.
 */
export async function storedKeys(storage: Storage): Promise<(limiter: () => Limiter) => Limiter> {
  const cache = new Map<string, ApiKey>();
  await storage.watch(async (change, keyIds) => {
    if (change !== 'keys') return;
    assert.ok(keyIds, 'the changed key is named');
    for (const id of keyIds) cache.delete(id);
  });
  const stored = async (key: ApiKey): Promise<ApiKey> => {
    const known = cache.get(key.id) ?? (await storage.keys.find(key.id)) ?? assert.fail();
    cache.set(key.id, known);
    return { ...known, limits: key.limits };
  };
  return (limiter) => ({
    get lost() {
      return limiter().lost;
    },
    charge: async (key) => limiter().charge(await stored(key)),
    peek: async (key) => limiter().peek(await stored(key)),
    current: (key, decision) => limiter().current(key, decision),
    [Symbol.asyncDispose]: () => limiter()[Symbol.asyncDispose](),
  });
}
