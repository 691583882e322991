import { X509Certificate } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { parseScript } from '../client/script.ts';
import {
  type Allowed,
  EXIT_CODES,
  type JudgedReport,
  type Outcome,
  outcomeOf,
  reportOf,
  runText,
  suiteOf,
} from '../client/verdict.ts';
import { Mistake } from '../mistake.ts';
import { type OpenProxy, openProxy, type ProxyOptions } from '../proxy/proxy.ts';
import { COLOURED, PLAIN } from '../report/write.ts';
import { runToEnd } from './command.ts';
import { knownUnder, readExpected, staleLines } from './expected.ts';
import { checkFormat, type Format, withFormats, written } from './format.ts';
import { collect, type Invocation, readDuration, readOptionFile } from './invocation.ts';

/** Scripts that a client of one call can end; such a client makes no call after an answer with unknown members. */
const USUAL: readonly { readonly script: string; readonly allowed: Allowed }[] = [
  ...['limit:1,ok', 'lost,ok', 'unavailable:1,ok', 'error*2,ok', 'cut,ok'].map((script) => ({ script, allowed: {} })),
  { script: 'grease,ok', allowed: { partial: true } },
  { script: 'limit-date:2,ok', allowed: {} },
  ...['error*12', 'ok,revoked'].map((script) => ({ script, allowed: { failure: true, partial: true } })),
];
const TIMEOUT_SECONDS_MAX = 7 * 86_400;
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?(?:-----END CERTIFICATE-----|$)/gs;

/** The options of a proxy. */
export interface ProxyFlags {
  readonly upstream?: string;
  readonly ca?: string;
  readonly errorBody?: string;
  readonly remote?: true;
}

interface Options extends Format, ProxyFlags {
  readonly output?: string;
  readonly timeout: string;
  readonly allowFailure?: true;
  readonly partial?: true;
  readonly env?: readonly string[];
  readonly expected?: string;
}

/** Adds `client`. */
export function addClientCommand(program: Command, invocation: Invocation): void {
  withProxyOptions(withFormats(program.command('client [scripts...]')))
    .usage('[options] [scripts...] -- <command> [args...]')
    .description(
      'Run a client before an API under each script, and judge what it did. Exits with 2 if that could not be tried, 1 if a rule is broken, 4 if the command failed, 3 if a step was never reached',
    )
    .option('--output <file>', 'write the verdict in the format to a file, and print the text')
    .option('--timeout <duration>', 'how long the command may take for each script', '5m')
    .option('--allow-failure', 'a command that fails is no fault')
    .option('--partial', 'a step that is not reached is no fault')
    .option('--env <assignment>', 'a variable of the command, such as API_URL={url}; {origin} and {port} too', collect)
    .option('--expected <file>', 'failures that are known: a script and a rule in each line')
    .action(async (_operands: string[], options: Options, self: Command) => {
      const { scripts, words } = operandsOf(self);
      await run({ scripts, words, options, invocation });
    });
}

/** Adds the options of a proxy. */
export function withProxyOptions(command: Command): Command {
  return command
    .option('--upstream <url>', 'the base address of the API')
    .option('--ca <file>', 'a certificate to trust at the upstream')
    .option('--error-body <file>', 'the body of answers that a script makes up before the upstream')
    .option('--remote', 'allow an upstream outside this machine and private networks');
}

/** Commander drops the `--`, which the operands of its root alone still have. */
function operandsOf(self: Command): { scripts: string[]; words: string[] } {
  let root = self;
  while (root.parent) root = root.parent;
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] };
  const place = rawArgs.indexOf('--');
  const words = place < 0 ? [] : rawArgs.slice(place + 1);
  if (words.length === 0) throw new Mistake('The command is missing; write it after --, such as -- npm test');
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
  const plays = scripts.length > 0 ? scripts.map((script) => ({ script, allowed })) : USUAL;
  const expected = options.expected === undefined ? [] : readExpected(options.expected);
  const variables = variablesOf(options);
  const proxy = proxyOf(options);
  const timeoutMs = readDuration(options.timeout, '--timeout', { min: 1, max: TIMEOUT_SECONDS_MAX }) * 1_000;
  using output = options.output === undefined ? undefined : openOutput(options.output);

  const verdicts: JudgedReport[] = [];
  for (const planned of plays) {
    const { script } = planned;
    invocation.tell(`referee: playing ${script}`);
    const report = reportOf(await play(openProxy({ ...proxy, script }), { words, variables, timeoutMs, invocation }));
    verdicts.push({ report, allowed: { ...planned.allowed, known: knownUnder(script, expected) } });
    if (report.failure !== undefined) invocation.tell(`referee: ${report.failure}`);
  }

  const reports = verdicts.map(({ report }) => report);
  const suites = verdicts.map(({ report, allowed: faults }) => suiteOf(report, faults));
  const formatted = options.json ? JSON.stringify(reports) : written(suites, options);
  const style = invocation.hasColours() ? COLOURED : PLAIN;
  invocation.print((!output && formatted) || runText(verdicts, style));
  output?.write(formatted ?? runText(verdicts, PLAIN));
  const stale = staleLines(expected, reports);
  for (const sentence of stale) invocation.tell(`referee: ${sentence}`);
  const outcomes = verdicts.map(({ report, allowed: faults }) => outcomeOf(report, faults));
  const exitCode = exitCodeOf(stale.length > 0 ? [...outcomes, 'broken'] : outcomes);
  if (exitCode !== 0) throw new Mistake('', exitCode);
}

function exitCodeOf(outcomes: readonly Outcome[]): number {
  const first = (Object.keys(EXIT_CODES) as Outcome[]).find((outcome) => outcomes.includes(outcome)) ?? 'kept';
  return EXIT_CODES[first];
}

/** The proxy that the options ask for, whatever its script. Throws `Mistake`. */
export function proxyOf({ upstream, ca, errorBody, remote }: ProxyFlags): Omit<ProxyOptions, 'script'> {
  if (upstream === undefined) throw new Mistake('--upstream is missing; name the base address of the API');
  return {
    upstream,
    ca: readCertificates(ca),
    errorBody: errorBody === undefined ? undefined : readOptionFile('--error-body', errorBody),
    isRemote: remote === true,
  };
}

interface Playing extends Pick<Run, 'words' | 'invocation'> {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Plays the script of a proxy to the command. Throws `Mistake` if it could not be tried, or was interrupted. */
async function play(opening: Promise<OpenProxy>, { words, variables, timeoutMs, invocation }: Playing) {
  const { env, stop } = invocation;
  await using proxy = await opening;
  const { origin, port } = new URL(proxy.url);
  const filled = (text: string) =>
    text.replaceAll('{url}', proxy.url).replaceAll('{origin}', origin).replaceAll('{port}', port);
  const given = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, filled(value)]));
  const command = await runToEnd(words.map(filled), { env: { ...env, ...given }, timeoutMs, stop });
  if (stop.aborted) throw new Mistake('Interrupted', Number(stop.reason));
  return { ...(await proxy.end()), command };
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
  throw new Mistake(`--ca is ${file}, which is no certificate in PEM; name a file with BEGIN CERTIFICATE`);
}

function variablesOf({ env = [] }: Options): Record<string, string> {
  const variables: Record<string, string> = { REFEREE_URL: '{url}' };
  for (const assignment of env) {
    const [, name = '', value = ''] = ASSIGNMENT.exec(assignment) ?? [];
    if (name === '') throw new Mistake(`--env is "${assignment}"; write NAME=VALUE, such as API_URL={url}`);
    variables[name] = value;
  }
  return variables;
}

/** Opens the file before anything is tried. It and `write` throw `Mistake`. */
function openOutput(file: string): Disposable & { write(text: string): void } {
  const tried = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw new Mistake(`--output cannot be written: ${(error as Error).message}`);
    }
  };
  const descriptor = tried(() => openSync(file, 'w'));
  return {
    write: (text) => tried(() => writeFileSync(descriptor, `${text}\n`)),
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}
