import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { parseScript } from '../../rehearsal/script/script.ts';
import { EXIT_CODES, outcomeOf, reportOf, reportText, suiteOf } from '../../rehearsal/verdict/report.ts';
import { insertScript, readRehearsal } from '../../rehearsal/verdict/stored-rehearsals.ts';
import type { SqlStorage } from '../../storage/sql/storage.ts';
import { openDatabase } from '../command-runner.ts';
import { checkFormat, type Format, withFormats, written } from '../format.ts';
import { type Invocation, settings, UsageError, withSettings } from '../invocation.ts';
import { markForRehearsal } from './clock.ts';
import { addRunCommand } from './run.ts';

/** Adds `rehearse …`. */
export function addRehearseCommand(program: Command, invocation: Invocation): void {
  const group = program.command('rehearse').description('Judge how a client handles limits, failures and lost answers');
  addRunCommand(group, invocation);
  const report = withFormats(group.command('report <id>'))
    .description('Judge the requests of a key; exits with 1 if a rule is broken, with 3 if a step was never reached')
    .action(async (id: string, format: Format, self: Command) => {
      checkFormat(format);
      await using database = await openDatabase(settings(self, invocation), invocation, 'read');
      const rehearsal = await readRehearsal(database.storage.transactions, id);
      if (!rehearsal)
        throw new UsageError(
          `The key ${id} follows no script; \`pet-catalog keys create --rehearse SCRIPT\` issues one that does`,
        );
      const made = reportOf(rehearsal);
      const formatted = format.json ? JSON.stringify(made) : written([suiteOf(made)], format);
      invocation.print(formatted ?? reportText(made));
      const exitCode = EXIT_CODES[outcomeOf(made)];
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
