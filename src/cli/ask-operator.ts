import type { Command } from 'commander';
import type { Operator } from '../catalog/audit.ts';
import type { Role } from '../catalog/operator/access.ts';
import type { Printed } from '../operator/doors/command.ts';
import { sign } from '../operator/session/local-trust.ts';
import { type CommandContext, print } from './command-runner.ts';
import { type Invocation, operatorOf, settings, UsageError, withSettings } from './invocation.ts';
import { findOperator, type Noted } from './operator-note.ts';

/** The running service that a command asks, the command's options, and the time in Unix seconds. */
export interface ServiceContext extends Pick<CommandContext, 'options' | 'now'> {
  readonly ask: Awaited<ReturnType<typeof askOperator>>['ask'];
}

/** Makes a function that adds commands which ask the running service, and open no database. */
export function serviceCommandsOf(group: Command, invocation: Invocation) {
  type Work = (context: ServiceContext, ...operands: string[]) => Promise<Printed>;
  return (usage: string, description: string, work: Work): Command => {
    const command = group
      .command(usage)
      .description(description)
      .option('--json', 'print JSON')
      .option('--as <name>', 'who asks');
    return withSettings(command, ['DATABASE_URL', 'OPERATOR_PORT']).action(async () => {
      const options = command.opts<{ as?: string; json?: true } & ServiceContext['options']>();
      const by = operatorOf(options.as, invocation.env);
      const { url, ask } = await askOperator(settings(command, invocation), by);
      const result = await work({ ask, options, now: invocation.time.now().unix }, ...command.args);
      print({ ...result, told: `Asked the instance at ${url}` }, options, invocation);
    });
  };
}

/** Sends requests to the service that runs here, signed by who runs the command. Throws `UsageError` without one. */
export async function askOperator(config: Noted, { via: _, ...by }: Operator, role?: Role) {
  const note = await findOperator(config);
  if (!note) {
    throw new UsageError(
      'No service runs here that could be asked; run this on its machine or in its container, as its user, in its folder or with its DATABASE_URL. Its log has a line with the request id for a 5xx, and for every request where ACCESS_LOG is all',
      1,
    );
  }
  const ask = async (method: 'GET' | 'POST', address: string): Promise<{ json: unknown; headers: Headers }> => {
    const { href, pathname, search } = new URL(address, note.url);
    const request = { method, path: `${pathname}${search}` };
    const authorization = sign(note.secret, request, { ...by, ...(role && { role }) });
    const answer = await fetch(href, { method, headers: { authorization, connection: 'close' } }).catch((error) => {
      throw new UsageError(`The service at ${note.url} does not answer: ${error.cause?.message ?? error.message}`, 1);
    });
    const json = await answer.json();
    if (!answer.ok) throw new UsageError((json as { message: string }).message, 1);
    return { json, headers: answer.headers };
  };
  return { url: note.url, ask };
}
