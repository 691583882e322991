import { Command, type CommanderError } from 'commander';
import { type Invocation, UsageError } from './invocation.ts';

type AddCommands = (program: Command, invocation: Invocation) => void;

/** Every command: where it is, in the order of the help. */
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
 * The command line, with the command that is asked for, or with all of them where none is: what others need would be
 * read for nothing. Parsing it runs the command; throws `UsageError`, or whatever the command fails with.
 */
export async function createProgram(invocation: Invocation, asked: string | undefined): Promise<Command> {
  const program = new Command('pet-catalog')
    .description('The pet catalog service, and the tools to run it')
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

/** Commander has written its message already; what is left is the exit code. */
function rethrow(error: CommanderError): never {
  throw new UsageError('', error.exitCode === 0 ? 0 : 2);
}
