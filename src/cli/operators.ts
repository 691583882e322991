import type { Command } from 'commander';
import { CatalogError } from '../catalog/error.ts';
import { tokenJson } from '../catalog/operator/json.ts';
import { issueToken, type OperatorToken, ROLES, revokeToken, roleNamed } from '../catalog/operator/token.ts';
import type { Config } from '../config.ts';
import { offerLogin, signedLogin } from '../operator/session/login-link.ts';
import { systemTime, utc } from '../stdx/time.ts';
import { type CommandContext, commandRunner, type RunCommand } from './command-runner.ts';
import { type Invocation, readDuration, settings, systemOperator, UsageError, withSettings } from './invocation.ts';
import { findOperator } from './operator-note.ts';
import { table } from './table.ts';

const ROLES_TEXT = `${ROLES.join(', ')}: what it may do`;

/** Adds `console login`. */
export function addConsoleCommand(program: Command, invocation: Invocation): void {
  const run = runnerByMachineTime(invocation);
  const group = program.command('console').description("Log in to the operator's console");
  const login = group
    .command('login')
    .description('Print a link that opens one session of the console, within ten minutes')
    .option('--url <address>', 'where you reach the operator listener, if it is not where the service listens')
    .option('--role <role>', ROLES_TEXT, 'admin')
    .option('--json', 'print JSON')
    .action(async (_options: unknown, self: Command) => {
      const { url, role, json } = self.opts<{ url?: string; role: string; json?: true }>();
      const config = settings(self, invocation);
      const address = url === undefined ? consoleAddress(config) : readAddress(url);
      const login = { actor: systemOperator().actor, role: roleNamed(role), url: address };
      const shown = (link: string) => ({ json: { url: link }, text: link });
      const work = async ({ storage, now }: CommandContext) => shown(await offerLogin(storage, { ...login, now }));
      await run(self, 'change', work).catch((error: Error) => {
        // A database that cannot be opened has no running service, whatever a killed one noted.
        const { loginSecret } = error instanceof CatalogError ? findOperator(config.database) : {};
        if (loginSecret === undefined) throw error;
        invocation.tell(`pet-catalog: ${error.message}; the running service keeps the session until it can be stored`);
        const link = signedLogin(loginSecret, { ...login, now: systemTime().now().unix });
        invocation.print(json ? JSON.stringify({ url: link }) : link);
      });
    });
  withSettings(login, ['DATABASE_URL', 'OPERATOR_HOST', 'OPERATOR_PORT']);
}

/** Adds `operators …`. */
export function addOperatorsCommand(program: Command, invocation: Invocation): void {
  const run = runnerByMachineTime(invocation);
  const group = program.command('operators').description('Issue and revoke tokens of the operator API');
  const add = (usage: string, description: string) =>
    withSettings(group.command(usage).description(description).option('--json', 'print JSON'), ['DATABASE_URL']);

  add('create', 'Issue a token and print it, alone on stdout and only this once')
    .requiredOption('--name <name>', 'who uses the token; the actor in the audit')
    .requiredOption('--role <role>', ROLES_TEXT)
    .option('--expires <duration>', 'lifetime, such as 90d (default: unlimited)')
    .action((options: { name: string; role: string; expires?: string }, self: Command) =>
      run(self, 'change', async (context) => {
        const lifetime = options.expires === undefined ? undefined : readDuration(options.expires, '--expires');
        const expiresAt = lifetime === undefined ? null : context.now + lifetime;
        const wanted = { name: options.name, role: roleNamed(options.role), expiresAt };
        const { token, secret } = await issueToken(context, wanted);
        return { json: { ...tokenJson(token), token: secret }, text: secret };
      }),
    );

  add('list', 'List the tokens').action((_options: unknown, self: Command) =>
    run(self, 'read', async ({ storage, now }) => {
      const tokens = await storage.tokens.list();
      const rows = tokens.map((token) => [
        token.id,
        token.name,
        `${token.prefix}…`,
        token.role,
        utc(token.createdAt),
        state(token, now),
      ]);
      const none = 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one';
      const headings = ['ID', 'NAME', 'TOKEN', 'ROLE', 'CREATED', 'STATE'];
      return { json: tokens.map(tokenJson), text: rows.length > 0 ? table(headings, rows) : none };
    }),
  );

  add('revoke <id>', 'Revoke a token permanently').action((id: string, _options: unknown, self: Command) =>
    run(self, 'change', async (context) => {
      const json = tokenJson(await revokeToken(context, id));
      return { json, text: JSON.stringify(json, null, 2) };
    }),
  );
}

/** Sessions, login links and tokens keep the machine's time. */
function runnerByMachineTime(invocation: Invocation): RunCommand {
  const run = commandRunner(invocation);
  return (command, purpose, work) =>
    run(command, purpose, (context) => work({ ...context, now: context.time.machine.now().unix }));
}

function state({ revokedAt, expiresAt }: OperatorToken, now: number): string {
  if (revokedAt !== null) return `revoked ${utc(revokedAt)}`;
  if (expiresAt === null) return 'active';
  return expiresAt <= now ? `expired ${utc(expiresAt)}` : `active until ${utc(expiresAt)}`;
}

/** The running service's address, else that of the settings; a wildcard is reached on the loopback address. */
function consoleAddress({ database, operatorHost, operatorPort }: Config): string {
  const host = operatorHost.includes(':') ? `[${operatorHost}]` : operatorHost;
  const address = findOperator(database).url ?? `http://${host}:${operatorPort}`;
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
