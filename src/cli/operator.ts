import type { Command } from 'commander';
import { withoutSecret } from '../catalog/api-key.ts';
import { issueToken } from '../catalog/operator/access.ts';
import { ACTIONS } from '../operator/actions.ts';
import { API_BASE } from '../operator/api/operation.ts';
import { audit } from '../operator/audit.ts';
import { addShow, orderRecord, petRecord } from '../operator/catalog/history.ts';
import { addAction, addList, listed, selectedBy, withFilters } from '../operator/doors/command.ts';
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
const ROWS_PER_PAGE = 100;

/** Adds `requests` and `why`, which ask the running service. */
export function addRequestsCommands(program: Command, invocation: Invocation): void {
  const add = commandsOf(program, invocation, { settings: ['DATABASE_URL'], json: true });
  const list = add('requests [id]', requests.command?.about ?? '', 'change', async (context, id) => {
    const { limit } = selectedBy(requests, context);
    const { answer, told } = await askService(context, async (get): Promise<object[]> => {
      if (id) return [(await get(`${API_BASE}/requests/${encodeURIComponent(id)}`)).json as object];
      const rows: object[] = [];
      for (let next: string | undefined = `${API_BASE}/requests?${queryOf(context)}`; next && rows.length < limit; ) {
        const page = await get(next);
        rows.push(...(page.json as object[]));
        next = page.next;
      }
      return rows.slice(0, limit);
    });
    return { ...listed(requests, answer, context.now), json: id ? answer[0] : answer, told };
  });
  withFilters(list, requests);
  add(
    'why <request-or-key>',
    'Say why a request, or the latest of a key, was refused',
    'change',
    async (context, text = '') => {
      const path = `${API_BASE}/why/${encodeURIComponent(withoutSecret(text))}`;
      const { answer, told } = await askService(context, (get) => get(path));
      const { sentence, details } = answer.json as { sentence: string; details: string[] };
      return { json: answer.json, text: [sentence, ...details].join('\n'), told };
    },
  );
}

/** The options that are given, as the parameters of the operator API, in the largest pages. */
function queryOf({ options }: CommandContext): URLSearchParams {
  const { json: _, as: __, databaseUrl: ___, ...given } = options;
  return new URLSearchParams(Object.entries({ ...given, limit: `${ROWS_PER_PAGE}` }) as [string, string][]);
}

/** Reads from the operator API of a service, and the path of the next page. */
type Get = (path: string) => Promise<{ json: unknown; next: string | undefined }>;

/** Asks the service of this machine, with a token that the database takes for a minute. Throws `UsageError`. */
async function askService<T>(
  { storage, config, now, by }: CommandContext,
  ask: (get: Get) => Promise<T>,
): Promise<{ answer: T; told: string }> {
  const { url } = findOperator(config.database);
  const none =
    'No service runs here that could be asked; its log has a line with the request id for a 5xx, and for every request where ACCESS_LOG is all';
  if (url === undefined) throw new UsageError(none, 1);
  const { token, secret } = await issueToken(
    { storage, now, by },
    { name: by.actor, role: 'viewer', expiresAt: now + TOKEN_SECONDS },
  );
  const headers = { authorization: `Bearer ${secret}`, connection: 'close' };
  const get: Get = async (path) => {
    const answer = await fetch(`${url}${path}`, { headers }).catch(() => {
      throw new UsageError(none, 1);
    });
    const json = await answer.json();
    if (!answer.ok) throw new UsageError((json as { message: string }).message, 1);
    const [, next] = /^<([^>]*)>; rel="next"/.exec(answer.headers.get('link') ?? '') ?? [];
    return { json, next };
  };
  try {
    return { answer: await ask(get), told: `Asked the instance at ${url}` };
  } finally {
    await storage.tokens.remove(token.id);
  }
}

/** Adds `orders …` and `pets …`. */
export function addShopCommands(program: Command, invocation: Invocation): void {
  for (const [record, about] of [
    [orderRecord, 'Show orders, also cancelled ones, and their history'],
    [petRecord, 'Show pets and their history'],
  ] as const) {
    const group = program.command(record.path).description(about);
    addShow(commandsOf(group, invocation, { settings: ['DATABASE_URL'], json: true }), record);
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
