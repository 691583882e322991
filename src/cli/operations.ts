import type { Command } from 'commander';
import type { SettingName } from '../config.ts';
import { call, pages } from '../operator/api/operation.ts';
import { callsOver } from '../operator/command/ask.ts';
import type { AddCommand } from '../operator/command/commands.ts';
import { askOperator } from './ask-operator.ts';
import { type Options, print, runOnDatabase, type Work } from './command-runner.ts';
import { type Invocation, operatorOf, settings, withSettings } from './invocation.ts';

/** Makes a function that adds the commands of operations: calls in process, or of the running service. */
export function operationsOf(
  group: Command,
  invocation: Invocation,
  names: readonly SettingName[] = ['DATABASE_URL'],
): AddCommand {
  return (usage, about, purpose, work) => {
    const command = group.command(usage).description(about).option('--json', 'print JSON');
    if (purpose !== 'ask') {
      if (purpose !== 'read') command.option('--as <name>', 'who does it; the actor in the audit');
      const inProcess: Work = ({ storage, config, options, now, by }, ...operands) => {
        const caller = { storage, environment: config.environment, now, by, role: 'admin' } as const;
        return work(
          {
            options,
            now,
            call: (operation, request) => call(operation, caller, request),
            pages: (operation, request) => pages(operation, caller, request),
          },
          ...operands,
        );
      };
      return withSettings(command, names).action(() =>
        runOnDatabase(command, { invocation, purpose, work: inProcess }),
      );
    }
    command.option('--as <name>', 'who asks');
    return withSettings(command, ['DATABASE_URL', 'OPERATOR_PORT']).action(async () => {
      const options = command.opts<Options>();
      const { url, ask } = await askOperator(settings(command, invocation), operatorOf(options.as, invocation.env));
      const context = { options, now: invocation.time.now().unix, ...callsOver(ask) };
      print({ ...(await work(context, ...command.args)), told: `Asked the instance at ${url}` }, options, invocation);
    });
  };
}
