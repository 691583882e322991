import { UsageError } from './invocation.ts';

/** Commands, and options after their command, that this release no longer has, with what takes their place. */
const FORMER: readonly (readonly [words: string, instead: string])[] = [
  ['rehearse', '`api-referee client` judges a client before any API; see referee/README.md'],
  ['conformance', 'nothing: this interface has no other server to judge'],
  ['clock', 'the time cannot be turned; `serve --ephemeral` begins anew each time'],
  ['defects', 'tests of testers bring a server of their own'],
  ['completion', 'complete by `pet-catalog --help`'],
  ['doctor --repair', '`sqlite3 FILE .recover` reads what is left; see docs/operations.md'],
  ['keys create --rehearse', '`api-referee proxy` plays a script for each caller; see referee/README.md'],
  ['serve --grease', '`api-referee client` has the step `grease`; see referee/README.md'],
  ['serve --defect', 'tests of testers bring a server of their own'],
];

/** Throws `UsageError` for a command line of an earlier release, with what takes its place; for one release. */
export function refuseFormer(args: readonly string[]): void {
  const given = args.map((word) => word.split('=', 1)[0]);
  for (const [words, instead] of FORMER) {
    const [option, ...commands] = words.split(' ').toReversed();
    const isGiven = words.includes(' --')
      ? commands.toReversed().every((word, place) => given[place] === word) && given.includes(option)
      : given[0] === words;
    if (isGiven) throw new UsageError(`\`${words}\` went in 0.3.0: ${instead}`);
  }
}
