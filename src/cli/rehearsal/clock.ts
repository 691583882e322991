import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { isTaken, markRehearsed, type ShownTime, type Turn, timeJson, turnTime } from '../../rehearsal/clock-turns.ts';
import type { Purpose } from '../../storage/migrate.ts';
import { isServed } from '../../storage/open.ts';
import type { SqlStorage } from '../../storage/sql/storage.ts';
import { type Invocation, settings, systemOperator, UsageError, withSettings } from '../invocation.ts';
import { type CommandDatabase, openDatabase } from '../running.ts';

/** The time that a running service may take to turn its clock. It looks several times a second. */
const TAKEN_MS_MAX = 10_000;
const LOOK_INTERVAL_MS = 20;

/** Adds `clock …`. */
export function addClockCommand(program: Command, invocation: Invocation): void {
  const group = program.command('clock').description('Show the time of a service in rehearsal, and put it forward');
  const add = (usage: string, description: string) =>
    withSettings(group.command(usage).description(description).option('--json', 'print JSON'), [
      'DATABASE_URL',
      'ENVIRONMENT',
      'REHEARSAL',
    ]);

  add('show', 'Show the time, and by how much it is turned').action((_options: unknown, self: Command) =>
    run(self, 'read', async ({ storage, time }) => {
      const turnedBy = (await storage.turnedBy()) ?? 0;
      return { now: time.now().unix, turnedBy };
    }),
  );

  add('advance <duration>', 'Put the time forward by a duration, such as 90s, 10m, 24h or 30d').action(
    (advance: string, _options: unknown, self: Command) =>
      run(self, 'change', (opened, config) => turn({ advance }, opened, config)),
  );

  add('set <time>', 'Put the time forward to a moment, such as 2030-12-05T00:00:00Z').action(
    (set: string, _options: unknown, self: Command) =>
      run(self, 'change', (opened, config) => turn({ set }, opened, config)),
  );

  async function run(
    self: Command,
    purpose: Purpose,
    work: (opened: CommandDatabase, config: Config) => Promise<ShownTime>,
  ): Promise<void> {
    const config = settings(self, invocation);
    await using opened = await openDatabase(config, invocation, purpose);
    const { now, turnedBy } = timeJson(await work(opened, config));
    const text = turnedBy === 0 ? `${now}, not turned` : `${now}, turned by ${turnedBy} s`;
    invocation.print(self.opts<{ json?: true }>().json ? JSON.stringify({ now, turnedBy }) : text);
  }
}

/** Turns the time, and waits until the running service has taken it. */
async function turn(wanted: Turn, { storage, time }: CommandDatabase, config: Config): Promise<ShownTime> {
  const { transactions } = storage;
  await markForRehearsal(storage, config);
  const { resource } = await turnTime(transactions, wanted, { machine: time.machine, by: systemOperator() });
  const startedMs = performance.now();
  while (!(await isTaken(transactions, resource.turnedBy)) && (await isServed(config.database))) {
    if (performance.now() - startedMs > TAKEN_MS_MAX) {
      throw new UsageError('The time is turned, but the running service has not taken it; see its log', 1);
    }
    await wait(LOOK_INTERVAL_MS);
  }
  return resource;
}

/**
 * Marks the database as used in rehearsal, as its service would. Throws `UsageError` if that service is not in
 * rehearsal.
 */
export async function markForRehearsal(storage: SqlStorage, config: Config): Promise<void> {
  if ((await storage.turnedBy()) !== undefined) return;
  await refuseUnmarked(config);
  await markRehearsed(storage.transactions);
}

async function refuseUnmarked({ database, rehearsal }: Config): Promise<void> {
  const advice = 'start it with ENVIRONMENT=staging and REHEARSAL=on, and give this command the same';
  if (!rehearsal) {
    throw new UsageError(`The service of this database is not in rehearsal; ${advice}`, 1);
  }
  if (await isServed(database)) {
    throw new UsageError(`The service that runs on this database is not in rehearsal; ${advice}`, 1);
  }
}
