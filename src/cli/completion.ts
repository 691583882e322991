import type { Command } from 'commander';
import { type Invocation, UsageError } from './invocation.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Adds `completion`, which prints the completion of a shell. `load` makes the program with every command. */
export function addCompletionCommand(program: Command, invocation: Invocation, load: () => Promise<Command>): void {
  program
    .command('completion')
    .description('Print the completion of a shell: bash, zsh or fish')
    .argument('<shell>', SHELLS.join(', '))
    .action(async (asked: string) => {
      const shell = SHELLS.find((name) => name === asked);
      if (!shell) throw new UsageError(`There is no completion for ${asked}; the shells are ${SHELLS.join(', ')}`);
      invocation.print(completion(shell, await load()));
    });
}

/** A place in the command line, such as `keys create`, with the words that may follow. */
interface Place {
  readonly path: string;
  readonly words: readonly { readonly word: string; readonly description: string }[];
}

/** Writes the completion from the commands themselves, so that it cannot drift from them. */
function completion(shell: Shell, program: Command): string {
  const places = placesOf(program, '');
  if (shell === 'fish') return fish(places);
  // The place is the words before the cursor that are commands; options and their values are no part of it.
  const script = `_pet_catalog() {
  local place="" word words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    case " ${places.map(({ path }) => path.replaceAll(' ', '/')).join(' ')} " in
      *" \${place:+\${place// //}/}$word "*) place="\${place:+$place }$word" ;;
    esac
  done
  case "$place" in
${places.map(({ path, words }) => `    "${path}") words="${words.map(({ word }) => word).join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  # A file where no word fits.
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _pet_catalog pet-catalog`;
  const prelude = 'autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n';
  return shell === 'bash' ? script : `${prelude}${script}`;
}

function fish(places: readonly Place[]): string {
  const commands = places.filter(({ path }) => path !== '').map(({ path }) => path);
  const lines = places.flatMap(({ path, words }) => {
    const seen = path.split(' ').filter(Boolean);
    const deeper = commands.filter((other) => other.split(' ').length === seen.length + 1 && other.startsWith(path));
    const last = deeper.map((other) => other.split(' ').at(-1)).join(' ');
    const conditions = [
      ...seen.map((word) => `__fish_seen_subcommand_from ${word}`),
      ...(last ? [`not __fish_seen_subcommand_from ${last}`] : []),
    ];
    const condition = conditions.join('; and ');
    return words.map(({ word, description }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c pet-catalog -n '${condition}' ${what} -d '${description.replaceAll("'", '’')}'`;
    });
  });
  return lines.join('\n');
}

function placesOf(command: Command, path: string): Place[] {
  const words = [
    ...command.commands.map((sub) => ({ word: sub.name(), description: sub.description() })),
    ...command.options.flatMap(({ long, description, hidden }) =>
      long && !hidden ? [{ word: long, description }] : [],
    ),
    { word: '--help', description: 'show the help' },
  ];
  const below = command.commands.flatMap((sub) => placesOf(sub, path ? `${path} ${sub.name()}` : sub.name()));
  return [{ path, words }, ...below];
}
