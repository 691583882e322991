import type { Command } from 'commander';
import {
  ConfigMistakes,
  type ConfigSources,
  type DatabaseAddress,
  databaseUrl,
  findValue,
  withoutPassword,
} from '../config.ts';
import { table } from '../operator/command/table.ts';
import { utc } from '../stdx/time.ts';
import { confirmAccess } from '../storage/access.ts';
import { openStorage } from '../storage/open.ts';
import { backUp, type Restored, restore } from '../storage/sqlite/backup.ts';
import { transfer } from '../storage/transfer.ts';
import { type Invocation, operatorOf, settings, tellIneffective, UsageError, withSettings } from './invocation.ts';

/** Adds `migrate`, `backup` and `restore`. */
export function addDatabaseCommands(program: Command, invocation: Invocation): void {
  const { time } = invocation;
  const add = (usage: string, description: string) =>
    withSettings(program.command(usage).description(description), ['DATABASE_URL']);

  add('migrate', 'Bring the tables of the database up to date').action(async (_options: unknown, self: Command) => {
    const config = settings(self, invocation);
    await using _storage = await openStorage(config.database, { ...config, time }, 'migrate');
    invocation.tell('The tables are up to date');
  });

  add('backup <file>', 'Back the database up to a file; the service may run meanwhile')
    .option('--force', 'replace an existing file')
    .action(async (file: string, { force = false }: { force?: boolean }, self: Command) => {
      const database = fileOf(settings(self, invocation).database, 'pg_dump');
      backUp(database.file, file, { force, now: time.now().unix });
      invocation.tell(`The backup ${file} is complete and verified`);
    });

  add('restore [file]', 'Replace the database with a backup; no service may run on it')
    .option('--other-database', 'the backup is of another database, whose access is to hold')
    .option('--access-checked', 'without FILE: the access that a restore brought back was checked')
    .option('--as <name>', 'who does it; the actor in the audit')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, options: Record<string, string | true>, self: Command) => {
      const config = settings(self, invocation);
      const by = operatorOf(options.as as string | undefined, invocation.env);
      if (options.accessChecked) {
        if (file !== undefined) throw new UsageError('--access-checked takes no file');
        await using storage = await openStorage(config.database, { ...config, time }, 'change');
        await confirmAccess(storage, time.now().unix, by);
        return invocation.tell('Access was checked');
      }
      if (file === undefined) throw new UsageError('<file> is missing; see --help');
      const database = fileOf(config.database, 'pg_restore');
      const restored = await restore(file, database.file, { isOther: options.otherDatabase === true, time, by });
      printAccess(restored, options.json === true, invocation);
      const { kept } = restored;
      invocation.tell(`Restored the database ${database.file}${kept ? `; the old one is ${kept}` : ''}`);
    });
}

/** Prints who is let in by a restored database, unless that was taken along from the replaced one. */
function printAccess({ accessOf, valid }: Restored, json: boolean, invocation: Invocation): void {
  const of = accessOf === undefined ? null : utc(accessOf);
  const rows = valid.map(({ id, name, prefix }) => [id, name, `${prefix}…`]);
  if (json) invocation.print(JSON.stringify({ accessOf: of, valid }));
  else if (of) invocation.print(table(['ID', 'NAME', 'KEY OR TOKEN'], rows));
  const whose = of ? `the backup of ${of}, and valid are those above` : 'the replaced database';
  invocation.tell(`Sessions have ended; keys, bans, tokens and counts are those of ${whose}`);
}

/** Requires an embedded database. PostgreSQL has its own tools, which include its users and extensions. */
function fileOf(database: DatabaseAddress, tool: string): DatabaseAddress & { engine: 'sqlite' } {
  if (database.engine === 'sqlite') return database;
  throw new UsageError(`This command needs an embedded database; for PostgreSQL use ${tool}`);
}

/** Adds `transfer`. */
export function addTransferCommand(program: Command, invocation: Invocation): void {
  program
    .command('transfer')
    .description('Copy a database into another, empty one; no service may run on either')
    .option('--from <url>', 'source, sqlite:FILE or postgres://…; it is not changed (or FROM_URL, FROM_URL_FILE)')
    .option(
      '--to <url>',
      'empty target, sqlite:FILE or postgres://…; missing tables are created (or TO_URL, TO_URL_FILE)',
    )
    .option('--json', 'print JSON')
    .action(async (options: { from?: string; to?: string; json?: true }) => {
      const { env } = invocation;
      const sources = { flags: { FROM_URL: options.from, TO_URL: options.to }, env, file: invocation.envFile() };
      tellIneffective(sources, invocation);
      const [from, to] = [readAddress('FROM_URL', sources), readAddress('TO_URL', sources)];
      const tables = await transfer({ from, to });
      const rows = tables.map((each) => [each.table, `${each.rows}`, each.checksum.slice(0, 16)]);
      invocation.print(options.json ? JSON.stringify(tables) : table(['TABLE', 'ROWS', 'CHECKSUM'], rows));
      invocation.tell(`Copied everything to ${shown(to)}; ${shown(from)} is unchanged`);
    });
}

/** Reads an address from its flag or, since other users see passwords in arguments, from the environment or a file. */
function readAddress(name: 'FROM_URL' | 'TO_URL', sources: ConfigSources): DatabaseAddress {
  const mistakes: string[] = [];
  const found = findValue(name, sources, mistakes);
  if (mistakes.length > 0) throw new ConfigMistakes(mistakes);
  const flag = name === 'FROM_URL' ? '--from' : '--to';
  if (!found) throw new UsageError(`${flag}: name the database with ${flag}, or in ${name} or ${name}_FILE`);
  try {
    return databaseUrl(found.value);
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}`);
  }
}

function shown(database: DatabaseAddress): string {
  return database.engine === 'sqlite' ? `sqlite:${database.file}` : withoutPassword(database.url);
}
