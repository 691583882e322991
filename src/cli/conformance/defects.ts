import type { Command } from 'commander';
import { RULES } from '../../conformance/rules.ts';
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
      const waiting = new Set(RULES.filter(({ place }) => place === 'waits').map(({ id }) => id));
      const defects = DEFECTS.map(({ name, rule, description }) => {
        return { name, rule, description, waits: waiting.has(rule) };
      });
      const rows = defects.map(({ name, rule, description }) => [name, rule, description]);
      invocation.print(json ? JSON.stringify(defects) : table(['NAME', 'RULE', 'WHAT IT DOES'], rows));
    });
}
