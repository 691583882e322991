import { Command, type CommanderError } from 'commander';
import { addAboutCommands } from './about.ts';
import { addCategoriesCommand } from './categories.ts';
import { addConsoleCommand } from './console.ts';
import { addDatabaseCommands } from './database.ts';
import { addDoctorCommand } from './doctor.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { addKeysCommand } from './keys.ts';
import { addServeCommand } from './serve.ts';
import { addTransferCommand } from './transfer.ts';
import { addUsageCommands } from './usage.ts';

/** The command line. Parsing it runs the command; throws `UsageError`, or whatever the command fails with. */
export function createProgram(invocation: Invocation): Command {
  const program = new Command('pet-catalog')
    .description('The pet catalog service, and the tools to run it')
    .configureOutput({
      writeOut: (text) => invocation.print(text.trimEnd()),
      writeErr: (text) => invocation.tell(text.trimEnd()),
    })
    .exitOverride(rethrow)
    .showHelpAfterError('(see --help)');
  addServeCommand(program, invocation);
  addKeysCommand(program, invocation);
  addUsageCommands(program, invocation);
  addCategoriesCommand(program, invocation);
  addConsoleCommand(program, invocation);
  addDatabaseCommands(program, invocation);
  addTransferCommand(program, invocation);
  addDoctorCommand(program, invocation);
  addAboutCommands(program, invocation);
  return program;
}

/** Commander has written its message already; what is left is the exit code. */
function rethrow(error: CommanderError): never {
  throw new UsageError('', error.exitCode === 0 ? 0 : 2);
}
