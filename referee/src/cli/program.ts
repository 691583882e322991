import { readFileSync } from 'node:fs';
import { Command, type CommanderError } from 'commander';
import { Mistake } from '../mistake.ts';
import { addClientCommand } from './client.ts';
import type { Invocation } from './invocation.ts';
import { addLimitsCommand } from './limits.ts';
import { addProxyCommand } from './proxy.ts';
import { addReportCommand } from './report.ts';

/** Runs a command to its end, prints why it failed, and returns its exit code. Never throws. */
export async function runCommand(invocation: Invocation, args: readonly string[]): Promise<number> {
  try {
    const program = createProgram(invocation);
    const commands = [addClientCommand, addProxyCommand, addLimitsCommand, addReportCommand];
    for (const add of commands) add(program, invocation);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    const isExpected = error instanceof Mistake;
    const message = isExpected ? error.message : ((error as Error).stack ?? `${error}`);
    if (message) invocation.tell(`api-referee: ${message}`);
    return isExpected ? error.exitCode : 2;
  }
}

function createProgram(invocation: Invocation): Command {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return new Command('api-referee')
    .description('Judges the clients and the rate limit of any HTTP API')
    .version(version, '--version', 'print the version')
    .configureOutput({
      writeOut: (text) => invocation.print(text.trimEnd()),
      writeErr: (text) => invocation.tell(text.trimEnd()),
      // `runCommand` prints it.
      outputError: () => {},
    })
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride(rethrow);
}

function rethrow({ exitCode, code, message }: CommanderError): never {
  const isHelp = exitCode === 0 || code.startsWith('commander.help');
  if (isHelp) throw new Mistake('', exitCode === 0 ? 0 : 2);
  throw new Mistake(`${message.replace(/^error: /, '').replace(/\n/g, ' ')}; see --help`);
}
