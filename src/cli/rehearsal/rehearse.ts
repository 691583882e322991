import { X509Certificate } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config.ts';
import { parseScript } from '../../rehearsal/script/script.ts';
import { openProxy } from '../../rehearsal/upstream/proxy.ts';
import { UpstreamRefused } from '../../rehearsal/upstream/upstream.ts';
import {
  type Allowed,
  EXIT_CODES,
  type JudgedReport,
  type Outcome,
  outcomeOf,
  reportOf,
  reportText,
  runText,
  suiteOf,
} from '../../rehearsal/verdict/report.ts';
import { insertScript, readRehearsal } from '../../rehearsal/verdict/stored-rehearsals.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { SqlStorage } from '../../storage/sql/storage.ts';
import { COLOURED, PLAIN } from '../../verdict/verdict-format.ts';
import { openDatabase } from '../command-runner.ts';
import { checkFormat, type Format, withFormats, written } from '../format.ts';
import { type Invocation, readDuration, readOptionFile, settings, UsageError, withSettings } from '../invocation.ts';
import { markForRehearsal } from './clock.ts';
import { runToEnd } from './command.ts';
import { knownUnder, readExpected, staleLines } from './expected.ts';
import { openServiceStage, type Stage } from './stage.ts';

/** Scripts that a client of one call can end; such a client makes no call after an answer with unknown members. */
const USUAL: readonly { readonly script: string; readonly allowed: Allowed }[] = [
  ...['limit:1,ok', 'lost,ok', 'unavailable:1,ok', 'error*2,ok', 'cut,ok'].map((script) => ({ script, allowed: {} })),
  { script: 'grease,ok', allowed: { partial: true } },
  { script: 'limit-date:2,ok', allowed: {} },
  ...['error*12', 'ok,revoked'].map((script) => ({ script, allowed: { failure: true, partial: true } })),
];
const TIMEOUT_SECONDS_MAX = 7 * DAY_SECONDS;
const VARIABLES = { PET_CATALOG_URL: '{url}', PET_CATALOG_KEY: '{key}' } as const;
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s;
const NAME = /^[A-Za-z_]\w*$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?(?:-----END CERTIFICATE-----|$)/gs;

interface Options extends Format {
  readonly output?: string;
  readonly timeout: string;
  readonly allowFailure?: true;
  readonly partial?: true;
  readonly env?: readonly string[];
  readonly expected?: string;
  readonly empty?: true;
  readonly upstream?: string;
  readonly ca?: string;
  readonly errorBody?: string;
  readonly remote?: true;
}

/** Adds `rehearse …`. */
export function addRehearseCommand(program: Command, invocation: Invocation): void {
  const group = program.command('rehearse').description('Judge how a client handles limits, failures and lost answers');
  addRunCommand(group, invocation);
  const report = withFormats(group.command('report <id>'))
    .description('Judge the requests of a key; exits with 1 if a rule is broken, with 3 if a step was never reached')
    .action(async (id: string, format: Format, self: Command) => {
      checkFormat(format);
      await using database = await openDatabase(settings(self, invocation), invocation, 'read');
      const rehearsal = await readRehearsal(database.storage.transactions, id);
      if (!rehearsal)
        throw new UsageError(
          `The key ${id} follows no script; \`pet-catalog keys create --rehearse SCRIPT\` issues one that does`,
        );
      const made = reportOf(rehearsal);
      const formatted = format.json ? JSON.stringify(made) : written([suiteOf(made)], format);
      invocation.print(formatted ?? reportText(made));
      const exitCode = EXIT_CODES[outcomeOf(made)];
      if (exitCode !== 0) throw new UsageError('', exitCode);
    });
  withSettings(report, ['DATABASE_URL']);
}

/**
 * Prepares to have a new key follow a script: checks it, and marks the database. Throws `UsageError` without rehearsal,
 * or `validation_failed`.
 */
export async function prepareScript(
  { storage, config }: { readonly storage: SqlStorage; readonly config: Config },
  script: string,
): Promise<(keyId: string) => Promise<void>> {
  if (!config.rehearsal) throw new UsageError('--rehearse needs ENVIRONMENT=staging and REHEARSAL=on');
  parseScript(script);
  await markForRehearsal(storage, config);
  return (keyId) => insertScript(storage.transactions, { keyId, script });
}

/** Adds `rehearse run`. */
function addRunCommand(group: Command, invocation: Invocation): void {
  withFormats(group.command('run [scripts...]'))
    .usage('[options] [scripts...] -- <command> [args...]')
    .description(
      'Run a command against a temporary service under each script, and judge what it did. Exits with 2 if that could not be tried, 1 if a rule is broken, 4 if the command failed, 3 if a step was never reached',
    )
    .option('--output <file>', 'write the verdict in the format to a file, and print the text')
    .option('--timeout <duration>', 'how long the command may take for each script', '5m')
    .option('--allow-failure', 'a command that fails is no fault')
    .option('--partial', 'a step that is not reached is no fault')
    .option(
      '--env <assignment>',
      'a variable of the command, such as BASE_URL={url} or TOKEN={key}; PET_CATALOG_URL=NAME renames one',
      (value: string, others: string[] = []) => [...others, value],
    )
    .option('--expected <file>', 'failures that are known: a script and a rule in each line')
    .option('--empty', 'leave the catalog empty')
    .option('--upstream <url>', 'play the scripts by a proxy before any HTTP API, in place of a service')
    .option('--ca <file>', 'a certificate to trust at the upstream')
    .option('--error-body <file>', 'the body of answers that a script makes up before the upstream')
    .option('--remote', 'allow an upstream outside this machine and private networks')
    .action(async (_operands: string[], options: Options, self: Command) => {
      const { scripts, words } = operandsOf(self);
      invocation.stopsGracefully = true;
      await run({ scripts, words, options, invocation });
    });
}

/** Commander drops the `--`, which the operands of its root alone still have. */
function operandsOf(self: Command): { scripts: string[]; words: string[] } {
  let root = self;
  while (root.parent) root = root.parent;
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] };
  const place = rawArgs.indexOf('--');
  const words = place < 0 ? [] : rawArgs.slice(place + 1);
  if (words.length === 0) throw new UsageError('The command is missing; write it after --, such as -- npm test');
  return { scripts: self.args.slice(0, self.args.length - words.length), words };
}

interface Run {
  readonly scripts: readonly string[];
  /** The command and its arguments. */
  readonly words: readonly string[];
  readonly options: Options;
  readonly invocation: Invocation;
}

async function run({ scripts, words, options, invocation }: Run): Promise<void> {
  checkFormat(options);
  for (const script of scripts) parseScript(script);
  const allowed = { failure: options.allowFailure === true, partial: options.partial === true };
  const rehearsals = scripts.length > 0 ? scripts.map((script) => ({ script, allowed })) : USUAL;
  const expected = options.expected === undefined ? [] : readExpected(options.expected);
  const variables = variablesOf(options);
  const openStage = stagesOf(options);
  const timeoutMs = readTimeoutMs(options.timeout);
  using output = options.output === undefined ? undefined : openOutput(options.output);

  const verdicts: JudgedReport[] = [];
  for (const rehearsal of rehearsals) {
    const { script } = rehearsal;
    invocation.tell(`pet-catalog: rehearsing ${script}`);
    const report = reportOf(await rehearse(openStage(script), { words, variables, timeoutMs, invocation }));
    verdicts.push({ report, allowed: { ...rehearsal.allowed, known: knownUnder(script, expected) } });
    if (report.failure !== undefined) invocation.tell(`pet-catalog: ${report.failure}`);
  }

  const reports = verdicts.map(({ report }) => report);
  const suites = verdicts.map(({ report, allowed: faults }) => suiteOf(report, faults));
  const formatted = options.json ? JSON.stringify(reports) : written(suites, options);
  const style = invocation.hasColours('stdout') ? COLOURED : PLAIN;
  invocation.print((!output && formatted) || runText(verdicts, style));
  output?.write(formatted ?? runText(verdicts, PLAIN));
  const stale = staleLines(expected, reports);
  for (const sentence of stale) invocation.tell(`pet-catalog: ${sentence}`);
  const outcomes = verdicts.map(({ report, allowed: faults }) => outcomeOf(report, faults));
  const exitCode = exitCodeOf(stale.length > 0 ? [...outcomes, 'broken'] : outcomes);
  if (exitCode !== 0) throw new UsageError('', exitCode);
}

function exitCodeOf(outcomes: readonly Outcome[]): number {
  const first = (Object.keys(EXIT_CODES) as Outcome[]).find((outcome) => outcomes.includes(outcome)) ?? 'kept';
  return EXIT_CODES[first];
}

/**
 * The function that opens a place for a script: a service, or a proxy before an upstream. Both throw `UsageError`.
 */
function stagesOf({ empty, upstream, ca, errorBody, remote }: Options): (script: string) => Promise<Stage> {
  const proxied = Object.entries({ '--ca': ca, '--error-body': errorBody, '--remote': remote });
  const [needless] = proxied.find(([, value]) => value !== undefined) ?? [];
  if (upstream === undefined && needless) throw new UsageError(`${needless} needs --upstream`);
  if (upstream !== undefined && empty) throw new UsageError('--empty and --upstream cannot be combined');
  const refused = (error: Error) => {
    if (error instanceof UpstreamRefused) throw new UsageError(error.message);
    throw new UsageError(`The ${upstream === undefined ? 'service' : 'proxy'} did not start: ${error.message}`);
  };
  if (upstream === undefined) {
    return (script) => openServiceStage(script, { isEmpty: empty === true }).catch(refused);
  }
  const proxy = {
    upstream,
    ca: readCertificates(ca),
    errorBody: errorBody === undefined ? undefined : readOptionFile('--error-body', errorBody),
    isRemote: remote === true,
  };
  return (script) => openProxy({ ...proxy, script }).catch(refused);
}

interface Rehearsing extends Pick<Run, 'words' | 'invocation'> {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Plays the script of a stage to the command. Throws `UsageError` if it could not be tried, or was interrupted. */
async function rehearse(opening: Promise<Stage>, { words, variables, timeoutMs, invocation }: Rehearsing) {
  const { env, stop } = invocation;
  await using stage = await opening;
  const filled = (text: string) => text.replaceAll('{url}', stage.url).replaceAll('{key}', stage.key ?? '');
  const given = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, filled(value)]));
  const command = await runToEnd(words.map(filled), { env: { ...env, ...given }, timeoutMs, stop });
  if (stop.aborted) throw new UsageError('Interrupted', Number(stop.reason));
  return { ...(await stage.end()), command };
}

function readCertificates(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const text = readOptionFile('--ca', file).toString();
  const certificates = text.match(CERTIFICATE) ?? [];
  try {
    for (const each of certificates) new X509Certificate(each);
    if (certificates.length > 0) return text;
  } catch {
    // It is told below.
  }
  throw new UsageError(`--ca is ${file}, which is no certificate in PEM; name a file with BEGIN CERTIFICATE`);
}

function variablesOf({ env = [], upstream }: Options): Record<string, string> {
  const { PET_CATALOG_URL, ...key } = VARIABLES;
  const variables: Record<string, string> = { PET_CATALOG_URL, ...(upstream === undefined && key) };
  for (const assignment of env) {
    const [, name = '', value = ''] = ASSIGNMENT.exec(assignment) ?? [];
    if (name === '') throw new UsageError(`--env is "${assignment}"; write NAME=VALUE, such as BASE_URL={url}`);
    const placeholder = Object.entries(VARIABLES).find(([usual]) => usual === name)?.[1];
    if (placeholder === undefined || !NAME.test(value)) {
      variables[name] = value;
      continue;
    }
    delete variables[name];
    // Before an upstream there is no key, and the variable may have that of the caller.
    if (upstream === undefined || name === 'PET_CATALOG_URL') variables[value] = placeholder;
  }
  return variables;
}

function readTimeoutMs(text: string): number {
  const seconds = readDuration(text, '--timeout');
  if (seconds >= 1 && seconds <= TIMEOUT_SECONDS_MAX) return seconds * 1_000;
  throw new UsageError(`--timeout is "${text}"; write a duration from 1s to 7d`);
}

/** Opens the file before anything is tried. It and `write` throw `UsageError`. */
function openOutput(file: string): Disposable & { write(text: string): void } {
  const tried = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new UsageError(`--output cannot be written: ${(error as Error).message}`);
    }
  };
  const descriptor = tried(() => openSync(file, 'w'));
  return {
    write: (text) => tried(() => writeFileSync(descriptor, `${text}\n`)),
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}
