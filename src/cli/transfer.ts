import type { Command } from 'commander';
import { type DatabaseAddress, databaseUrl, withoutPassword } from '../config.ts';
import { transfer } from '../storage/transfer.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { table } from './table.ts';

/** `transfer`: everything from one database to another. */
export function addTransferCommand(program: Command, invocation: Invocation): void {
  program
    .command('transfer')
    .description('Copy everything from one database to another that is empty; no service may run on either')
    .requiredOption('--from <url>', 'sqlite:FILE or postgres://…, which stays as it is')
    .requiredOption('--to <url>', 'sqlite:FILE or postgres://…, made ready if it has no tables')
    .option('--json', 'print JSON')
    .action(async (options: { from: string; to: string; json?: true }) => {
      const addresses = { from: readAddress('--from', options.from), to: readAddress('--to', options.to) };
      const tables = await transfer({ ...addresses, onProgress: invocation.progress });
      const rows = tables.map((each) => [each.table, `${each.rows}`, each.checksum.slice(0, 16)]);
      invocation.print(options.json ? JSON.stringify(tables) : table(['TABLE', 'ROWS', 'CHECKSUM'], rows));
      invocation.tell(`Everything is in ${withoutPassword(options.to)}; ${withoutPassword(options.from)} is as it was`);
    });
}

function readAddress(flag: string, text: string): DatabaseAddress {
  try {
    return databaseUrl(text);
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}, not "${withoutPassword(text)}"`);
  }
}
