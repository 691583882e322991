import type { Command } from 'commander';
import { withoutSecret } from '../catalog/api-key.ts';
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
import { type ServiceContext, serviceCommandsOf } from './ask-operator.ts';
import { commandsOf } from './command-runner.ts';
import type { Invocation } from './invocation.ts';

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

const ROWS_PER_PAGE = 100;

/** Adds `requests` and `why`, which ask the running service and open no database. */
export function addRequestsCommands(program: Command, invocation: Invocation): void {
  const add = serviceCommandsOf(program, invocation);
  const list = add('requests [id]', requests.command?.about ?? '', async (context, id) => {
    const { ask, now } = context;
    if (id) {
      const { json } = await ask('GET', `${API_BASE}/requests/${encodeURIComponent(id)}`);
      return { ...listed(requests, [json as object], now), json };
    }
    const { limit } = selectedBy(requests, context);
    const rows: object[] = [];
    for (let next: string | undefined = `${API_BASE}/requests?${queryOf(context)}`; next && rows.length < limit; ) {
      const { json, headers } = await ask('GET', next);
      rows.push(...(json as object[]));
      next = /^<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    }
    return listed(requests, rows.slice(0, limit), now);
  });
  withFilters(list, requests);
  add('why <request-or-key>', 'Say why a request, or the latest of a key, was refused', async ({ ask }, text = '') => {
    const { json } = await ask('GET', `${API_BASE}/why/${encodeURIComponent(withoutSecret(text))}`);
    const { sentence, details } = json as { sentence: string; details: string[] };
    return { json, text: [sentence, ...details].join('\n') };
  });
}

/** The options that are given, as the parameters of the operator API, in the largest pages. */
function queryOf({ options }: ServiceContext): URLSearchParams {
  const { json: _, as: __, databaseUrl: ___, operatorPort: ____, ...given } = options;
  return new URLSearchParams(Object.entries({ ...given, limit: `${ROWS_PER_PAGE}` }) as [string, string][]);
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
