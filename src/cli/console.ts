import type { Command } from 'commander';
import { ROLES, roleNamed } from '../catalog/operator/access.ts';
import { askOperator } from './ask-operator.ts';
import { type Invocation, operatorOf, settings, UsageError, withSettings } from './invocation.ts';

/** Adds `console login`. */
export function addConsoleCommand(program: Command, invocation: Invocation): void {
  const group = program.command('console').description("Log in to the operator's console");
  const login = group
    .command('login')
    .description('Print a link of the running service that opens one session of the console, within ten minutes')
    .option('--url <address>', 'where you reach the operator listener, if it is not where the service listens')
    .option('--role <role>', `${ROLES.join(', ')}: what it may do`, 'admin')
    .option('--as <name>', 'who logs in; the actor in the audit')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, self: Command) => {
      const given = self.opts<{ url?: string; role: string; json?: true; as?: string }>();
      const role = roleNamed(given.role);
      const address = given.url === undefined ? undefined : readAddress(given.url);
      const by = operatorOf(given.as, invocation.env);
      const { url, ask } = await askOperator(settings(self, invocation), by, role);
      const { path } = (await ask('POST', '/console/login')).json as { path: string };
      const link = `${address ?? url}${path}`;
      invocation.print(given.json ? JSON.stringify({ url: link }) : link);
    });
  withSettings(login, ['DATABASE_URL', 'OPERATOR_PORT']);
}

function readAddress(text: string): string {
  const origin = /^https?:/i.test(text) ? URL.parse(text)?.origin : undefined;
  if (origin !== undefined) return origin;
  throw new UsageError(`--url is "${text}"; write an address such as http://127.0.0.1:8081`);
}
