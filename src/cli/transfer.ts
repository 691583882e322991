import type { Command } from 'commander';
import {
  ConfigMistakes,
  type ConfigSources,
  type DatabaseAddress,
  databaseUrl,
  findValue,
  withoutPassword,
} from '../config.ts';
import { transfer } from '../storage/transfer.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { table } from './table.ts';

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
      const [from, to] = [readAddress('FROM_URL', sources), readAddress('TO_URL', sources)];
      const tables = await transfer({ from, to, onProgress: invocation.progress });
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
