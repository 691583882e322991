import { connect } from 'node:net';
import type { Command } from 'commander';
import { CatalogError } from '../catalog/error.ts';
import { ROLES, roleNamed } from '../catalog/operator/access.ts';
import type { Config } from '../config.ts';
import { offerLogin, signedLogin } from '../operator/session/session.ts';
import { type CommandContext, runOnDatabase } from './command-runner.ts';
import { type Invocation, operatorOf, settings, UsageError, withSettings } from './invocation.ts';
import { findOperator } from './operator-note.ts';

const CONNECT_MS = 2_000;

/** Adds `console login`. */
export function addConsoleCommand(program: Command, invocation: Invocation): void {
  const group = program.command('console').description("Log in to the operator's console");
  const login = group
    .command('login')
    .description('Print a link that opens one session of the console, within ten minutes')
    .option('--url <address>', 'where you reach the operator listener, if it is not where the service listens')
    .option('--role <role>', `${ROLES.join(', ')}: what it may do`, 'admin')
    .option('--as <name>', 'who logs in; the actor in the audit')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, self: Command) => {
      const { url, role, json, as } = self.opts<{ url?: string; role: string; json?: true; as?: string }>();
      const config = settings(self, invocation);
      const address = url === undefined ? await consoleAddress(config) : readAddress(url);
      const { via: _, ...who } = operatorOf(as, invocation.env);
      const login = { ...who, role: roleNamed(role), url: address };
      const shown = (link: string) => ({ json: { url: link }, text: link });
      const work = async ({ storage, now }: CommandContext) => shown(await offerLogin(storage, { ...login, now }));
      await runOnDatabase(self, { invocation, purpose: 'change', work }).catch((error: Error) => {
        // A database that cannot be opened has no running service, whatever a killed one noted.
        const { loginSecret } = error instanceof CatalogError ? findOperator(config.database) : {};
        if (loginSecret === undefined) throw error;
        invocation.tell(`pet-catalog: ${error.message}; the running service keeps the session until it can be stored`);
        const link = signedLogin(loginSecret, { ...login, now: invocation.time.now().unix });
        invocation.print(json ? JSON.stringify({ url: link }) : link);
      });
    });
  withSettings(login, ['DATABASE_URL', 'OPERATOR_HOST', 'OPERATOR_PORT']);
}

/**
 * The running service's address, else that of the settings; a wildcard is reached on the loopback address. A killed
 * service leaves its address, at which nothing listens.
 */
async function consoleAddress({ database, operatorHost, operatorPort }: Config): Promise<string> {
  const host = operatorHost.includes(':') ? `[${operatorHost}]` : operatorHost;
  const [noted, set] = [findOperator(database).url, `http://${host}:${operatorPort}`].map((address) =>
    address?.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:'),
  );
  if (noted !== undefined && (await isListening(noted))) return noted;
  if (set === undefined || set.endsWith(':0')) {
    throw new UsageError(
      'OPERATOR_PORT is 0, so the port is only in the log of the service; add --url http://HOST:PORT',
    );
  }
  return set;
}

/** True if a connection is taken, which the system does for a service however busy it is. */
async function isListening(address: string): Promise<boolean> {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), timeout: CONNECT_MS });
  try {
    return await new Promise((resolve) => {
      socket.on('connect', () => resolve(true));
      for (const failure of ['timeout', 'error', 'close']) socket.on(failure, () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

function readAddress(text: string): string {
  const { protocol, origin } = URL.parse(text) ?? {};
  if (origin === undefined || (protocol !== 'http:' && protocol !== 'https:')) {
    throw new UsageError(`--url is "${text}"; write an address such as http://127.0.0.1:8081`);
  }
  return origin;
}
