import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import type { Decision } from '../../src/limits/limiter.ts';
import { OPERATOR } from '../kit/operator.ts';
import { newDatabaseStatements, SimulatedDatabase } from './database.ts';
import { Dice } from './dice.ts';
import type { Life } from './life.ts';
import { SimulatedRedis } from './redis.ts';
import { Server } from './server.ts';
import { VirtualTime } from './virtual-time.ts';

/** What runs of the simulator found, each without its dice: instances that share a database and a Redis. */

const START_MS = Date.UTC(2026, 0, 1, 12);
const LIMITS = { minute: 2, day: 1_000 };

test('of two bans decided apart, one stands, and each instance enforces the later end that it knows', async () => {
  using world = await startInstances(2);
  const key = await world.issue();
  for (const server of [0, 1]) await world.refuse(server, key);
  world.servers[1]?.ways.database.start('down', 4_000);
  const first = await world.charge(0, key);
  await world.time.pass(1_000);
  const later = await world.charge(1, key);
  assert.ok(first.ban && later.ban && later.ban.until > first.ban.until);
  await world.time.pass(6_000);
  assert.equal(world.database.read('select 1 from bans')?.length, 1);
  assert.deepEqual((await world.charge(0, key)).ban, first.ban);
  assert.deepEqual((await world.charge(1, key)).ban, later.ban);
});

test('a save that is held up for seconds shortens no window that another instance stored meanwhile', async (t) => {
  using world = await startInstances(2);
  const key = await world.issue();
  await world.charge(0, key);
  await world.time.pass(1_000);
  const [slow] = world.servers;
  slow?.ways.database.start('down', 57_000);
  await world.charge(0, key);
  await world.time.pass(57_100);
  const legs = t.mock.method(slow?.ways.database ?? assert.fail(), 'legMs', () => 3_000);
  await world.time.pass(2_000);
  const { minute } = await world.charge(1, key);
  await world.time.pass(20_000);
  assert.ok(legs.mock.callCount() > 3, 'the save is over');
  assert.equal(
    world.database.read<{ minute_ends: number }>('select * from window_counts')?.[0]?.minute_ends,
    minute.reset,
  );
});

test('a process that was suspended keeps no lifted ban, and tells no moment long past', async () => {
  using world = await startInstances(2);
  const [key, other, third] = [await world.issue(), await world.issue(), await world.issue()];
  const until = await world.ban(0, key);
  await world.charge(1, key);
  await world.charge(1, other);
  await world.time.pass((until - 6 - world.now) * 1_000);
  await world.suspendDuring(4_000, 1, other);
  await world.lift(key);
  await world.time.pass(100);
  assert.notEqual((await world.charge(1, key)).refusal, 'key_banned');

  for (let spent = 0; spent < 2; spent += 1) await world.charge(1, other);
  await world.time.pass(1_000);
  assert.equal((await world.charge(1, other)).refusal, 'rate_limit_exceeded');
  await world.charge(1, third);
  for (let times = 0; times < 10; times += 1) {
    await world.suspendDuring(8_000, 1, third);
    const { now } = await world.charge(1, other);
    assert.ok(Math.abs(now - world.now) <= 1, `told ${now} at ${world.now}`);
  }
});

/** A client's key, with its secret. */
interface Issued {
  readonly id: string;
  readonly secret: string;
}

async function startInstances(count: number) {
  const time = new VirtualTime(START_MS);
  const dice = new Dice(1);
  const database = new SimulatedDatabase('scenario', await newDatabaseStatements());
  const redis = new SimulatedRedis({ time, dice, skewMs: 0, onSet: () => {} });
  const bounds = { categoriesMax: 10, categoriesBytesMax: 10_000 };
  const place = { time, database, redis, instances: count, banAfter: 2, ...bounds };
  const observer = { onBan: () => {}, onDefect: assert.ifError, onDegraded: () => {} };
  const servers = Array.from({ length: count }, (_, index) => new Server(`s${index}`, place, { dice, observer }));
  let issued = 0;

  const settle = async <T>(work: Promise<T>): Promise<T> => {
    let isSettled = false;
    const end = () => {
      isSettled = true;
    };
    work.then(end, end);
    while (!isSettled) await time.pass(1);
    return work;
  };
  const life = (server: number): Life => servers[server]?.life ?? assert.fail();
  const begin = async (server: number, { secret }: Issued, operation: 'list' | 'peek' = 'list'): Promise<Decision> => {
    let decision: Decision | undefined;
    await life(server).serve({ secret, operation }, (charged) => {
      decision = charged.decision;
    });
    return decision ?? assert.fail();
  };
  const charge = (server: number, key: Issued) => settle(begin(server, key));
  /** Has an instance refuse a key as often as it does without a ban. */
  const refuse = async (server: number, key: Issued) => {
    for (let admitted = 0; admitted <= LIMITS.minute; admitted += 1) await charge(server, key);
    await time.pass(2_000);
    for (let refused = 0; refused < LIMITS.minute; refused += 1) await charge(server, key);
  };
  for (const server of servers) await settle(server.start());
  return {
    time,
    database,
    servers,
    charge,
    refuse,
    /** The true Unix second. */
    get now() {
      return Math.floor(time.nowMs / 1_000);
    },
    async issue(): Promise<Issued> {
      const made = newApiKey(
        { name: 'client', environment: 'production', plan: 'enterprise', limits: LIMITS },
        this.now,
      );
      issued += 1;
      const id = `key_${issued}`;
      await settle(life(0).storage.keys.insert({ ...made.key, id }, secretRecord(made.secret), OPERATOR));
      return { id, secret: made.secret };
    },
    /** Has an instance ban a key. Returns the ban's end. */
    async ban(server: number, key: Issued): Promise<number> {
      await refuse(server, key);
      for (;;) {
        const { ban } = await charge(server, key);
        if (ban) return ban.until;
      }
    },
    lift: ({ id }: Issued) => settle(life(0).storage.keys.lift(id, Math.floor(time.nowMs / 1_000), OPERATOR)),
    /** All processes are suspended while a question to Redis, or its answer, is on its way. */
    async suspendDuring(ms: number, server: number, key: Issued): Promise<void> {
      servers[server]?.ways.redis.start('slow', 1_000);
      const answered = begin(server, key, 'peek');
      await time.pass(30);
      time.leap(ms);
      await settle(answered);
    },
    [Symbol.dispose]: () => {
      for (const server of servers) server.kill();
      database[Symbol.dispose]();
    },
  };
}
