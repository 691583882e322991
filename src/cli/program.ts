import { Command, type CommanderError } from 'commander';
import { VERSION } from '../version.ts';
import { type Invocation, UsageError } from './invocation.ts';

type AddCommands = (program: Command, invocation: Invocation) => void;

/** Every command and its module, in the order of the help. */
const COMMANDS: readonly { readonly names: readonly string[]; readonly load: () => Promise<AddCommands> }[] = [
  { names: ['serve'], load: async () => (await import('./serve.ts')).addServeCommand },
  { names: ['keys'], load: async () => (await import('./keys.ts')).addKeysCommand },
  { names: ['usage', 'audit'], load: async () => (await import('./usage.ts')).addUsageCommands },
  { names: ['categories'], load: async () => (await import('./categories.ts')).addCategoriesCommand },
  { names: ['console'], load: async () => (await import('./console.ts')).addConsoleCommand },
  { names: ['migrate', 'backup', 'restore'], load: async () => (await import('./database.ts')).addDatabaseCommands },
  { names: ['transfer'], load: async () => (await import('./transfer.ts')).addTransferCommand },
  { names: ['doctor'], load: async () => (await import('./doctor.ts')).addDoctorCommand },
  { names: ['config', 'openapi', 'version'], load: async () => (await import('./about.ts')).addAboutCommands },
];

/**
 * Creates the command line with only the named command, or with all if none is named: loading the others would slow
 * the start. Parsing it runs the command, and throws `UsageError` or the command's own error.
 */
export async function createProgram(invocation: Invocation, asked: string | undefined): Promise<Command> {
  const program = new Command('pet-catalog')
    .description('The pet catalog service and its tools')
    .version(VERSION, '--version', 'print the version')
    .configureOutput({
      writeOut: (text) => invocation.print(text.trimEnd()),
      writeErr: (text) => invocation.tell(text.trimEnd()),
    })
    .exitOverride(rethrow)
    .showHelpAfterError('(see --help)');
  const named = COMMANDS.filter(({ names }) => names.includes(asked ?? ''));
  for (const { load } of named.length > 0 ? named : COMMANDS) {
    const addCommands = await load();
    addCommands(program, invocation);
  }
  return program;
}

/** Keeps the exit code only: Commander has already printed its message. */
function rethrow(error: CommanderError): never {
  throw new UsageError('', error.exitCode === 0 ? 0 : 2);
}
