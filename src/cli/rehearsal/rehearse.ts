import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { parseScript } from '../../rehearsal/script/script.ts';
import { insertScript, readRehearsal } from '../../rehearsal/verdict/notes.ts';
import { exitCodeOf, reportJunit, reportOf, reportText } from '../../rehearsal/verdict/report.ts';
import type { SqlStorage } from '../../storage/sql/storage.ts';
import { type Invocation, settings, UsageError, withSettings } from '../invocation.ts';
import { openDatabase, requireDatabase } from '../running.ts';
import { markForRehearsal } from './clock.ts';

/** Adds `rehearse …`. */
export function addRehearseCommand(program: Command, invocation: Invocation): void {
  const group = program.command('rehearse').description('Judge how a client handled the script of its key');
  const report = group
    .command('report <id>')
    .description('Judge the requests of a key; exits with 1 if a rule is broken, with 3 if a step was never reached')
    .option('--json', 'print JSON')
    .option('--junit', 'print JUnit XML')
    .action(async (id: string, { json, junit }: { json?: true; junit?: true }, self: Command) => {
      if (json && junit) throw new UsageError('--json and --junit exclude each other');
      const config = settings(self, invocation);
      requireDatabase(config.database);
      await using database = await openDatabase(config, invocation);
      const rehearsal = await readRehearsal(database.storage.transactions, id);
      if (!rehearsal)
        throw new UsageError(`The key ${id} follows no script; keys create --rehearse issues one that does`);
      const made = reportOf(rehearsal);
      invocation.print(json ? JSON.stringify(made) : junit ? reportJunit(made) : reportText(made));
      const exitCode = exitCodeOf(made);
      if (exitCode !== 0) throw new UsageError('', exitCode);
    });
  withSettings(report, ['DATABASE_URL']);
}

/**
 * Prepares to have a new key follow a script: checks it, and marks the database. Throws `UsageError` without rehearsal,
 * or `validation_failed`.
 */
export async function prepareScript(
  { storage, config }: { readonly storage: SqlStorage; readonly config: Config },
  script: string,
): Promise<(keyId: string) => Promise<void>> {
  if (!config.rehearsal) throw new UsageError('--rehearse needs ENVIRONMENT=staging and REHEARSAL=on');
  parseScript(script);
  await markForRehearsal(storage, config);
  return (keyId) => insertScript(storage.transactions, { keyId, script });
}
