import type { Command } from 'commander';
import { listAudit } from '../operator/api/audit.ts';
import { liftBan } from '../operator/api/bans.ts';
import * as keys from '../operator/api/keys.ts';
import { getOrder, listOrders } from '../operator/api/orders.ts';
import { getPet, listPets } from '../operator/api/pets.ts';
import { getRequest, listRequests } from '../operator/api/requests.ts';
import { endSession, endSessions, listSessions } from '../operator/api/sessions.ts';
import { createToken, listTokens, revokeToken, revokeTokens } from '../operator/api/tokens.ts';
import { getUsage } from '../operator/api/usage.ts';
import { whyRefused } from '../operator/api/why.ts';
import { addOperation, addOperations } from '../operator/command/commands.ts';
import type { Invocation } from './invocation.ts';
import { operationsOf } from './operations.ts';

/** The commands of operators: which operations each group has. */

/** Adds `keys …`. */
export function addKeysCommand(program: Command, invocation: Invocation): void {
  const group = program.command('keys').description('Issue and manage API keys');
  const add = operationsOf(group, invocation, ['DATABASE_URL', 'ENVIRONMENT']);
  addOperations(add, [
    keys.listKeys,
    keys.getKey,
    keys.createKey,
    keys.updateKey,
    keys.rotateKey,
    keys.endGraces,
    keys.revokeKey,
  ]);
  addOperation(add, keys.updateKey, { usage: 'set-plan <id> <plan>', about: 'Change the plan of a key' });
  addOperation(add, keys.pauseKey, { usage: 'pause [id]', other: keys.pauseKeys });
  addOperation(add, keys.resumeKey, { usage: 'resume [id]', other: keys.resumeKeys });
  addOperation(add, keys.resetKey, { usage: 'reset [id]', other: keys.resetKeys });
  addOperation(add, liftBan);
}

/** Adds `usage` and `audit`. */
export function addUsageCommands(program: Command, invocation: Invocation): void {
  addOperations(operationsOf(program, invocation), [getUsage, listAudit]);
}

/** Adds `requests` and `why`, which ask the running service. */
export function addRequestsCommands(program: Command, invocation: Invocation): void {
  const add = operationsOf(program, invocation);
  addOperation(add, listRequests, { other: getRequest });
  addOperation(add, whyRefused);
}

/** Adds `orders …` and `pets …`. */
export function addShopCommands(program: Command, invocation: Invocation): void {
  const orders = program.command('orders').description('List orders, and show them, also cancelled ones');
  addOperations(operationsOf(orders, invocation), [listOrders, getOrder]);
  const pets = program.command('pets').description('List pets, and show them with their history');
  addOperations(operationsOf(pets, invocation), [listPets, getPet]);
}

/** Adds `operators …`. */
export function addOperatorsCommand(program: Command, invocation: Invocation): void {
  const group = program.command('operators').description('Issue and revoke tokens of the operator API');
  const add = operationsOf(group, invocation);
  addOperations(add, [createToken, listTokens]);
  addOperation(add, revokeToken, { other: revokeTokens });
}

/** Adds `sessions …`. */
export function addSessionsCommand(program: Command, invocation: Invocation): void {
  const group = program.command('sessions').description('List and end sessions of the console');
  const add = operationsOf(group, invocation);
  addOperation(add, listSessions);
  addOperation(add, endSession, { other: endSessions });
}
