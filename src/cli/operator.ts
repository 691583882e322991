import type { Command } from 'commander';
import { withoutSecret } from '../catalog/api-key.ts';
import { issueToken } from '../catalog/operator/access.ts';
import { ACTIONS } from '../operator/actions.ts';
import { audit } from '../operator/audit.ts';
import { addAction, addList, listed, withFilters } from '../operator/doors/command.ts';
import { updateKey } from '../operator/keys/actions.ts';
import { keyNoun } from '../operator/keys/noun.ts';
import { keys } from '../operator/keys/resources.ts';
import { requests } from '../operator/requests/resource.ts';
import { sessions, tokens } from '../operator/session/resources.ts';
import { addUsage } from '../operator/usage/command.ts';
import { type CommandContext, commandsOf } from './command-runner.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { findOperator } from './operator-note.ts';

const FOR_KEYS = ['DATABASE_URL', 'ENVIRONMENT'] as const;

/** Adds `keys …`. */
export function addKeysCommand(program: Command, invocation: Invocation): void {
  const group = program.command('keys').description('Issue and manage API keys');
  const add = commandsOf(group, invocation, { settings: FOR_KEYS, json: true });
  addList(add, keys);
  add('show <id>', 'Show one key', 'read', async (context, id = '') => {
    const json = await keyNoun.json(context, await keyNoun.find(context, id));
    return { json, text: JSON.stringify(json, null, 2) };
  });
  for (const action of ACTIONS.filter(({ of }) => of.group === 'keys')) addAction(add, action);
  addAction(add, updateKey, { usage: 'set-plan <id> <plan>', about: 'Change the plan of a key' });
}

/** Adds `usage` and `audit`. */
export function addUsageCommands(program: Command, invocation: Invocation): void {
  const add = commandsOf(program, invocation, { settings: ['DATABASE_URL'], json: true });
  addUsage(add);
  addList(add, audit);
}

const TOKEN_SECONDS = 60;

/** Adds `requests` and `why`, which ask the running service. */
export function addRequestsCommands(program: Command, invocation: Invocation): void {
  const add = commandsOf(program, invocation, { settings: ['DATABASE_URL'], json: true });
  const list = add('requests [id]', requests.command?.about ?? '', 'change', async (context, id) => {
    const { json, told } = await ask(
      context,
      id ? `/requests/${encodeURIComponent(id)}` : `/requests?${queryOf(context)}`,
    );
    return { ...listed(requests, [json].flat() as object[], context.now), json, told };
  });
  withFilters(list, requests);
  add(
    'why <request-or-key>',
    'Say why a request, or the latest of a key, was refused',
    'change',
    async (context, text = '') => {
      const { json, told } = await ask(context, `/why/${encodeURIComponent(withoutSecret(text))}`);
      const { sentence, details } = json as { sentence: string; details: string[] };
      return { json, text: [sentence, ...details].join('\n'), told };
    },
  );
}

/** The options that are given, as the parameters of the operator API. */
function queryOf({ options }: CommandContext): URLSearchParams {
  const { json: _, as: __, databaseUrl: ___, ...given } = options;
  return new URLSearchParams(Object.entries(given) as [string, string][]);
}

/** Asks the service of this machine, with a token that the database takes for a minute. Throws `UsageError`. */
async function ask(
  { storage, config, now, by }: CommandContext,
  path: string,
): Promise<{ json: unknown; told: string }> {
  const { url } = findOperator(config.database);
  const none =
    'No service runs here that could be asked; its log has a line with the request id for a 5xx, and for every request where ACCESS_LOG is all';
  if (url === undefined) throw new UsageError(none, 1);
  const { token, secret } = await issueToken(
    { storage, now, by },
    { name: by.actor, role: 'viewer', expiresAt: now + TOKEN_SECONDS },
  );
  try {
    const headers = { authorization: `Bearer ${secret}`, connection: 'close' };
    const answer = await fetch(`${url}/api/v1${path}`, { headers }).catch(() => {
      throw new UsageError(none, 1);
    });
    const json = await answer.json();
    if (!answer.ok) throw new UsageError((json as { message: string }).message, 1);
    return { json, told: `Asked the instance at ${url}` };
  } finally {
    await storage.tokens.remove(token.id);
  }
}

/** Adds `operators …`. */
export function addOperatorsCommand(program: Command, invocation: Invocation): void {
  const group = program.command('operators').description('Issue and revoke tokens of the operator API');
  const add = commandsOf(group, invocation, { settings: ['DATABASE_URL'], json: true });
  for (const action of ACTIONS.filter(({ of }) => of.group === 'operators')) addAction(add, action);
  addList(add, tokens);
}

/** Adds `sessions …`. */
export function addSessionsCommand(program: Command, invocation: Invocation): void {
  const group = program.command('sessions').description('List and end sessions of the console');
  const add = commandsOf(group, invocation, { settings: ['DATABASE_URL'], json: true });
  addList(add, sessions);
  for (const action of ACTIONS.filter(({ of }) => of.group === 'sessions')) addAction(add, action);
}
