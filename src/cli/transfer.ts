import type { Command } from 'commander';
import { type DatabaseAddress, databaseUrl, withoutPassword } from '../config.ts';
import { transfer } from '../storage/transfer.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { table } from './table.ts';

/** Adds `transfer`. */
export function addTransferCommand(program: Command, invocation: Invocation): void {
  program
    .command('transfer')
    .description('Copy a database into another, empty one; no service may run on either')
    .requiredOption('--from <url>', 'source, sqlite:FILE or postgres://…; it is not changed')
    .requiredOption('--to <url>', 'empty target, sqlite:FILE or postgres://…; missing tables are created')
    .option('--json', 'print JSON')
    .action(async (options: { from: string; to: string; json?: true }) => {
      const addresses = { from: readAddress('--from', options.from), to: readAddress('--to', options.to) };
      const tables = await transfer({ ...addresses, onProgress: invocation.progress });
      const rows = tables.map((each) => [each.table, `${each.rows}`, each.checksum.slice(0, 16)]);
      invocation.print(options.json ? JSON.stringify(tables) : table(['TABLE', 'ROWS', 'CHECKSUM'], rows));
      invocation.tell(
        `Copied everything to ${withoutPassword(options.to)}; ${withoutPassword(options.from)} is unchanged`,
      );
    });
}

function readAddress(flag: string, text: string): DatabaseAddress {
  try {
    return databaseUrl(text);
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}, not "${withoutPassword(text)}"`);
  }
}
