import { Actions } from './actions.ts';
import { type NewStatement, newDatabaseStatements } from './database.ts';
import { Broken } from './models/promise.ts';
import type { Server } from './server.ts';
import { World } from './world.ts';

const KEYS = 3;
const LINES_SHOWN = 40;
const START_MS = 50;
/** What is under way when the faults end gets this long to end well. */
const CALM_MS = 20_000;
const STOP_MS = 15_000;

interface Wanted {
  readonly seed: number;
  readonly steps: number;
  /** Plants a defect, to see that it is found. */
  readonly plant?: ((world: World) => void) | undefined;
}

/** How a run ended. */
export interface Run {
  readonly seed: number;
  /** How many steps were made: as many as were asked for, or up to the one that failed. */
  readonly steps: number;
  readonly failure: unknown;
  /** Of everything that happened: two runs with the same digest were the same. */
  readonly digest: string;
  readonly trace: readonly string[];
}

/** Runs one world for some steps, until a promise is broken; then everything is made well, and must end well. */
export async function simulate({ seed, steps, plant }: Wanted, statements: readonly NewStatement[]): Promise<Run> {
  using world = new World(seed, statements);
  plant?.(world);
  const actions = new Actions(world);
  const { time, servers } = world;
  for (const server of servers) server.start().catch((error) => world.fail(error));
  while (world.up.length < servers.length) await time.pass(START_MS);
  for (let wanted = 1; wanted <= KEYS; wanted += 1) {
    world.issue(servers[0] as Server, actions.anyLimits()).catch((error) => world.fail(error));
    while (world.keys.length < wanted) await time.pass(START_MS);
  }
  let step = 0;
  while (step < steps && world.failure === undefined) {
    step += 1;
    await time.pass(actions.step());
    world.check();
  }
  if (world.failure === undefined) await endWell(world);
  const { failure, digest, trace } = world;
  return { seed, steps: step, failure, digest, trace };
}

/**
 * Runs seed after seed. Returns the first run that fails, made as short as it still fails; undefined if none does.
 */
export async function firstFailure(
  seeds: Iterable<number>,
  steps: number,
  plant?: Wanted['plant'],
): Promise<Run | undefined> {
  const statements = await newDatabaseStatements();
  for (const seed of seeds) {
    const run = await simulate({ seed, steps, plant }, statements);
    if (run.failure === undefined) continue;
    for (let fewer = 1; fewer < run.steps; fewer += 1) {
      const shorter = await simulate({ seed, steps: fewer, plant }, statements);
      if (shorter.failure !== undefined) return shorter;
    }
    return run;
  }
  return undefined;
}

/** Says which promise was broken, what happened before, and how to see it again. */
export function describe({ seed, steps, failure, trace }: Run): string {
  const why = failure instanceof Broken ? failure.message : String((failure as Error)?.stack ?? failure);
  const again = `npm run simulate -- --seed ${seed} --steps ${steps}`;
  return [...trace.slice(-LINES_SHOWN), '', `Broken: ${why}`, `Seed ${seed}, step ${steps}: ${again}`].join('\n');
}

async function endWell(world: World): Promise<void> {
  const { time, servers, database } = world;
  world.note('· all is well from now on');
  database.isFull = false;
  for (const { ways } of servers) for (const way of [ways.database, ways.redis]) way.clear();
  await time.pass(CALM_MS);
  for (const server of servers) if (server.state === 'down') server.start().catch((error) => world.fail(error));
  await time.pass(CALM_MS);
  world.check();
  for (const server of servers) world.stop(server).catch((error) => world.fail(error));
  await time.pass(STOP_MS);
  world.check();
  world.checkEnd();
}
