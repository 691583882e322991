import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { offerLogin } from '../operator/session/session.ts';
import { systemClock } from '../stdx/clock.ts';
import { openStorage } from '../storage/open.ts';
import { type Invocation, settings, systemOperator, UsageError, withSettings } from './invocation.ts';

/** Wildcard listen addresses, and the loopback address to connect to instead. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Adds `console login`. */
export function addConsoleCommand(program: Command, invocation: Invocation): void {
  const group = program.command('console').description("Log in to the operator's console");
  const login = group
    .command('login')
    .description('Print a link that opens one session of the console, within ten minutes')
    .option('--url <address>', 'where you reach the operator listener, if it is not at OPERATOR_HOST and OPERATOR_PORT')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, self: Command) => {
      const { url, json } = self.opts<{ url?: string; json?: true }>();
      const config = settings(self, invocation);
      const address = url === undefined ? operatorAddress(config) : readAddress(url);
      const clock = systemClock();
      await using storage = await openStorage(config.database, {
        clock,
        categoriesMax: config.categoriesMax,
        categoriesBytesMax: config.categoriesBytesMax,
      });
      const now = clock().unix;
      const link = await offerLogin(storage, { actor: systemOperator().actor, now, url: address });
      invocation.print(json ? JSON.stringify({ url: link }) : link);
    });
  withSettings(login, ['DATABASE_URL', 'OPERATOR_HOST', 'OPERATOR_PORT']);
}

function operatorAddress({ operatorHost, operatorPort }: Config): string {
  if (operatorPort === 0) {
    throw new UsageError(
      'OPERATOR_PORT is 0, so the port is only in the log of the service; add --url http://HOST:PORT',
    );
  }
  const host = WILDCARDS[operatorHost] ?? operatorHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${operatorPort}`;
}

function readAddress(text: string): string {
  const { protocol, origin } = URL.parse(text) ?? {};
  if (origin === undefined || (protocol !== 'http:' && protocol !== 'https:')) {
    throw new UsageError(`--url is "${text}"; write an address such as http://127.0.0.1:8081`);
  }
  return origin;
}
