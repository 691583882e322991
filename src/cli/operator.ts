import type { Command } from 'commander';
import { ACTIONS } from '../operator/actions.ts';
import { audit } from '../operator/audit.ts';
import { addAction, addList } from '../operator/doors/command.ts';
import { updateKey } from '../operator/keys/actions.ts';
import { keyNoun } from '../operator/keys/noun.ts';
import { keys } from '../operator/keys/resources.ts';
import { sessions, tokens } from '../operator/session/resources.ts';
import { addUsage } from '../operator/usage/command.ts';
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
