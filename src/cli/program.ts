import { Command, type CommanderError, Help } from 'commander';
import { CatalogError } from '../catalog/error.ts';
import { ConfigMistakes } from '../config.ts';
import { DatabaseLacks, DatabaseNotOpened } from '../storage/engine.ts';
import { VERSION } from '../version.ts';
import { type Invocation, SETTINGS_GROUP, UsageError } from './invocation.ts';

type AddCommands = (program: Command, invocation: Invocation) => void;

/** Every command and its module, in the order of the help. */
const COMMANDS: readonly { readonly names: readonly string[]; readonly load: () => Promise<AddCommands> }[] = [
  { names: ['serve'], load: async () => (await import('./serve.ts')).addServeCommand },
  { names: ['keys'], load: async () => (await import('./operator.ts')).addKeysCommand },
  { names: ['usage', 'audit'], load: async () => (await import('./operator.ts')).addUsageCommands },
  { names: ['requests', 'why'], load: async () => (await import('./operator.ts')).addRequestsCommands },
  { names: ['categories'], load: async () => (await import('./categories.ts')).addCategoriesCommand },
  { names: ['orders', 'pets'], load: async () => (await import('./operator.ts')).addShopCommands },
  { names: ['console'], load: async () => (await import('./console.ts')).addConsoleCommand },
  { names: ['operators'], load: async () => (await import('./operator.ts')).addOperatorsCommand },
  { names: ['sessions'], load: async () => (await import('./operator.ts')).addSessionsCommand },
  { names: ['migrate', 'backup', 'restore'], load: async () => (await import('./database.ts')).addDatabaseCommands },
  { names: ['transfer'], load: async () => (await import('./database.ts')).addTransferCommand },
  { names: ['doctor'], load: async () => (await import('./doctor.ts')).addDoctorCommand },
  { names: ['config'], load: async () => (await import('./doctor.ts')).addConfigCommand },
  { names: ['openapi', 'version', 'licenses'], load: async () => (await import('./about.ts')).addAboutCommands },
];

/** Runs a command to its end, prints why it failed, and returns its exit code. Never throws. */
export async function runCommand(invocation: Invocation, args: readonly string[]): Promise<number> {
  try {
    // Node.js puts it in the place of bytes that are not UTF-8: a name would be stored damaged.
    if (args.some((arg) => arg.includes('\uFFFD'))) throw new UsageError('an argument is not UTF-8; send it as UTF-8');
    const program = await createProgram(invocation, args[0]);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, invocation);
  }
}

/**
 * Creates the command line with only the named command, or with all if none is named: loading the others would slow
 * the start. Parsing it runs the command, and throws `UsageError` or the command's own error.
 */
async function createProgram(invocation: Invocation, asked: string | undefined): Promise<Command> {
  const program = new Command('pet-catalog')
    .description('The pet catalog service and its tools')
    .version(VERSION, '--version', 'Print the version')
    .configureOutput({
      writeOut: (text) => invocation.print(text.trimEnd()),
      writeErr: (text) => invocation.tell(text.trimEnd()),
      // `report` says what is wrong, in the words of the other messages.
      outputError: () => {},
    })
    .configureHelp({ groupItems: ownOptionsFirst })
    .helpOption('-h, --help', 'Show this help')
    .helpCommand('help [command]', 'Show the help of a command')
    .exitOverride(rethrow);
  const named = COMMANDS.filter(({ names }) => names.includes(asked ?? ''));
  for (const { load } of named.length > 0 ? named : COMMANDS) {
    const addCommands = await load();
    addCommands(program, invocation);
  }
  return program;
}

/** Groups of a help in one order: the options of a command before the settings, whichever were added first. */
const ownOptionsFirst: Help['groupItems'] = (_all, shown, groupOf) => {
  const isSetting = (item: (typeof shown)[number]) => Number(groupOf(item) === SETTINGS_GROUP);
  const sorted = shown.toSorted((one, other) => isSetting(one) - isSetting(other));
  return Help.prototype.groupItems(sorted, shown, groupOf);
};

/** Says in one line what Commander found. */
function rethrow({ exitCode, code, message }: CommanderError): never {
  const isHelp = exitCode === 0 || code.startsWith('commander.help');
  if (isHelp) throw new UsageError('', exitCode === 0 ? 0 : 2);
  const [problem = '', advice = 'see --help'] = message.replace(/^error: |[.)]$/g, '').split('\n(');
  throw new UsageError(`${problem}; ${advice.replace(/^D/, 'd')}`);
}

/** Prints an error in one line, or one line per mistake, and returns its exit code. */
function report(error: unknown, invocation: Invocation): number {
  const tell = (problem: string) => invocation.tell(`pet-catalog: ${problem}`);
  if (error instanceof UsageError) {
    if (error.message) tell(error.message);
    return error.exitCode;
  }
  if (error instanceof ConfigMistakes) {
    for (const mistake of error.mistakes) tell(mistake);
    return 2;
  }
  if (error instanceof CatalogError || error instanceof DatabaseNotOpened) {
    const { cause, message } = error as Error;
    tell(cause instanceof DatabaseLacks ? cause.message : message);
    return error instanceof CatalogError && error.code === 'validation_failed' ? 2 : 1;
  }
  if (error instanceof Error && 'syscall' in error) {
    tell(error.message);
    return 1;
  }
  tell(error instanceof Error ? (error.stack ?? error.message) : `${error}`);
  return 1;
}
