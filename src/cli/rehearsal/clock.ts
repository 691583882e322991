import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { isTaken, markRehearsed, type ShownTime, type Turn, timeJson, turnTime } from '../../rehearsal/clock-turns.ts';
import { isServed } from '../../storage/open.ts';
import type { SqlStorage } from '../../storage/sql/storage.ts';
import { type CommandContext, commandsOf } from '../command-runner.ts';
import { type Invocation, UsageError } from '../invocation.ts';

/** The time that a running service may take to turn its clock. It looks several times a second. */
const TAKEN_MS_MAX = 10_000;
const LOOK_INTERVAL_MS = 20;

/** Adds `clock …`. */
export function addClockCommand(program: Command, invocation: Invocation): void {
  const group = program.command('clock').description('Show the time of a service in rehearsal, and put it forward');
  const add = commandsOf(group, invocation, { settings: ['DATABASE_URL', 'ENVIRONMENT', 'REHEARSAL'], json: true });

  add('show', 'Show the time, and by how much it is turned', 'read', async ({ storage, now }) =>
    shown({ now, turnedBy: (await storage.turnedBy()) ?? 0 }),
  );

  const advance = 'Put the time forward by a duration, such as 90s, 10m, 24h or 30d';
  add('advance <duration>', advance, 'change', async (context, advance) => shown(await turn({ advance }, context)));

  const set = 'Put the time forward to a moment, such as 2030-12-05T00:00:00Z';
  add('set <time>', set, 'change', async (context, set) => shown(await turn({ set }, context)));
}

function shown(time: ShownTime) {
  const json = timeJson(time);
  return { json, text: json.turnedBy === 0 ? `${json.now}, not turned` : `${json.now}, turned by ${json.turnedBy} s` };
}

/** Turns the time, and waits until the running service has taken it. */
export async function turn(wanted: Turn, { storage, time, config, by }: CommandContext): Promise<ShownTime> {
  const { transactions } = storage;
  await markForRehearsal(storage, config);
  const { resource } = await turnTime(transactions, wanted, { machine: time.machine, by });
  const startedMs = time.machine.steadyMs();
  while (!(await isTaken(transactions, resource.turnedBy)) && (await isServed(config.database))) {
    if (time.machine.steadyMs() - startedMs > TAKEN_MS_MAX) {
      throw new UsageError('The time is turned, but the running service has not taken it; see its log', 1);
    }
    await wait(LOOK_INTERVAL_MS);
  }
  return resource;
}

/** Marks the database as its service in rehearsal would. Throws `UsageError` if that is not in rehearsal. */
export async function markForRehearsal(storage: SqlStorage, { database, rehearsal }: Config): Promise<void> {
  if ((await storage.turnedBy()) !== undefined) return;
  const advice = 'start it with ENVIRONMENT=staging and REHEARSAL=on, and give this command the same';
  if (!rehearsal) throw new UsageError(`The service of this database is not in rehearsal; ${advice}`, 1);
  if (await isServed(database)) {
    throw new UsageError(`The service that runs on this database is not in rehearsal; ${advice}`, 1);
  }
  await markRehearsed(storage.transactions);
}
