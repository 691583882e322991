import type { Command } from 'commander';
import type { Config } from '../config.ts';
import { offerLogin } from '../operator/session/session.ts';
import { systemClock } from '../stdx/clock.ts';
import { openStorage } from '../storage/open.ts';
import { type Invocation, settings, systemOperator, UsageError, withSettings } from './invocation.ts';
import { findOperatorUrl, requireDatabase } from './running.ts';

/** Adds `console login`. */
export function addConsoleCommand(program: Command, invocation: Invocation): void {
  const group = program.command('console').description("Log in to the operator's console");
  const login = group
    .command('login')
    .description('Print a link that opens one session of the console, within ten minutes')
    .option('--url <address>', 'where you reach the operator listener, if it is not where the service listens')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, self: Command) => {
      const { url, json } = self.opts<{ url?: string; json?: true }>();
      const config = settings(self, invocation);
      requireDatabase(config.database);
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

/** The running service's address, else that of the settings; a wildcard is reached on the loopback address. */
function operatorAddress({ database, operatorHost, operatorPort }: Config): string {
  const host = operatorHost.includes(':') ? `[${operatorHost}]` : operatorHost;
  const address = findOperatorUrl(database) ?? `http://${host}:${operatorPort}`;
  if (address.endsWith(':0')) {
    throw new UsageError(
      'OPERATOR_PORT is 0, so the port is only in the log of the service; add --url http://HOST:PORT',
    );
  }
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function readAddress(text: string): string {
  const { protocol, origin } = URL.parse(text) ?? {};
  if (origin === undefined || (protocol !== 'http:' && protocol !== 'https:')) {
    throw new UsageError(`--url is "${text}"; write an address such as http://127.0.0.1:8081`);
  }
  return origin;
}
