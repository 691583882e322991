import type { Command } from 'commander';
import { DEFECTS } from '../../rehearsal/defects/defects.ts';
import type { Invocation } from '../invocation.ts';
import { table } from '../table.ts';

/** Adds `defects`. */
export function addDefectsCommand(program: Command, invocation: Invocation): void {
  program
    .command('defects')
    .description('List the defects that `serve --defect` gives a service in rehearsal, with the rule that each breaks')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }) => {
      const defects = DEFECTS.map(({ name, rule, description, waits = false }) => ({ name, rule, description, waits }));
      const rows = defects.map(({ name, rule, description }) => [name, rule, description]);
      invocation.print(json ? JSON.stringify(defects) : table(['NAME', 'RULE', 'WHAT IT DOES'], rows));
    });
}
