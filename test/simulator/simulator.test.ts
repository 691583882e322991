import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newDatabaseStatements } from './database.ts';
import { describe, firstFailure, simulate } from './simulation.ts';
import type { World } from './world.ts';

const SEEDS = 50;
const SEEDS_AT_ONCE = 25;
const STEPS = 80;
const seedsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index);

// In parts, so that a machine that is busy with other things has time for each.
for (let first = 1; first <= SEEDS; first += SEEDS_AT_ONCE) {
  const last = first + SEEDS_AT_ONCE - 1;
  test(`whatever the dice of the seeds ${first} to ${last} have happen, every promise is kept`, async () => {
    const failed = await firstFailure(seedsFrom(first, SEEDS_AT_ONCE), STEPS);
    if (failed) assert.fail(describe(failed));
  });
}

test('the same seed gives the same run to the step, and another seed another run', async () => {
  const statements = await newDatabaseStatements();
  const run = async (seed: number) => (await simulate({ seed, steps: STEPS }, statements)).digest;
  const digests: string[] = [];
  for (const seed of [1, 2, 3]) digests.push(await run(seed));
  for (const [index, digest] of digests.entries()) assert.equal(await run(index + 1), digest);
  assert.equal(new Set(digests).size, digests.length);
});

test('a broken promise is found, and its seed shows it again in the shortest run', async () => {
  // The disk forgets what was committed.
  const plant = ({ time, database }: World) => {
    const forget = () => {
      // While a transaction holds the lock it cannot.
      if (!database.read('select 1 from categories')) return void time.after(10, forget);
      using disk = database.open();
      disk.exec('delete from categories where id = (select max(id) from categories)');
    };
    time.after(3_000, forget);
  };
  const failed = await firstFailure(seedsFrom(1, 50), STEPS, plant);
  assert.ok(failed, 'a lost category is noticed');
  const statements = await newDatabaseStatements();
  const { seed, steps } = failed;
  const again = await simulate({ seed, steps, plant }, statements);
  assert.deepEqual([again.digest, String(again.failure)], [failed.digest, String(failed.failure)]);
  const shorter = await simulate({ seed, steps: steps - 1, plant }, statements);
  assert.equal(shorter.failure, undefined);
  assert.match(describe(failed), new RegExp(`npm run simulate -- --seed ${seed} --steps ${steps}$`));
});
