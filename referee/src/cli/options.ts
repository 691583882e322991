import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expectedIn } from '../client/expected.ts';
import type { Asked } from '../client/report.ts';
import { RULE_NAMES, type RuleName, USUAL_CUSTOMS } from '../client/rules.ts';
import { Mistake } from '../mistake.ts';
import type { Scope } from '../proxy/follower.ts';
import type { ProxyOptions } from '../proxy/proxy.ts';
import { collect, readCount, readOptionFile } from './invocation.ts';

const FILE = 'referee.json';
const SCOPES: readonly Scope[] = ['key', 'route', 'all'];
/** Members of the file that are no options of a command. */
const OF_THE_FILE: Readonly<Record<string, string>> = { scripts: 'a list', thresholds: 'an object' };

/** What a proxy, and the judgement of what came by it, is told. */
export interface ProxyFlags {
  readonly upstream?: string;
  readonly ca?: string;
  readonly remote?: true;
  readonly dialect?: string;
  readonly idempotency?: readonly string[];
  readonly safe?: readonly string[];
  readonly scope?: string;
  readonly header?: readonly string[];
  readonly cert?: string;
  readonly certKey?: string;
  readonly seed?: string;
  readonly skip?: readonly string[];
  readonly only?: readonly string[];
  readonly thresholds?: { readonly tries?: number; readonly toleranceMs?: number };
}

/** Adds the options of a proxy. */
export function withProxyOptions(command: Command): Command {
  return command
    .option('--upstream <url>', 'the base address of the API')
    .option('--ca <file>', 'a certificate to trust at the upstream')
    .option('--remote', 'allow an upstream outside this machine and private networks')
    .option(
      '--dialect <name>',
      'made-up answers in the form of the API: openai, stripe, github, aws, graphql, or a folder with 429.json',
    )
    .option('--idempotency <name>', 'a header, or a member of the body ($.key), that has the key of a create', collect)
    .option('--safe <kind>', "a POST that only reads, such as 'POST /search'", collect)
    .option('--scope <scope>', 'the requests that share a limit: key, route or all')
    .option('--header <assignment>', 'NAME=VALUE, sent with every request; it is in no report', collect)
    .option('--cert <file>', 'a certificate to speak TLS to the client')
    .option('--cert-key <file>', 'its key')
    .option('--seed <text>', 'makes the unknown members of other runs')
    .option('--skip <rule>', 'leave a rule out', collect)
    .option('--only <rule>', 'judge this rule alone', collect);
}

/** The options of a command, those of `referee.json` beneath those of the command line. Throws `Mistake`. */
export function readOptions<Options extends object>(self: Command): Options {
  const given = self.opts<Record<string, unknown>>();
  if (!existsSync(FILE)) return given as Options;
  const file = parseFile();
  const options = (self.parent?.commands ?? []).flatMap((each) => each.options);
  for (const [name, value] of Object.entries(file)) {
    const option = options.find((each) => each.attributeName() === name);
    if (!option && !(name in OF_THE_FILE))
      throw new Mistake(`${FILE}: there is no option "${name}"; see --help, in camelCase`);
    const usual = option?.parseArg ? 'a list' : option?.isBoolean() ? 'true or false' : 'a text or a number';
    const wanted = OF_THE_FILE[name] ?? usual;
    if (formOf(value) !== wanted) throw new Mistake(`${FILE}: ${name} is ${JSON.stringify(value)}; write ${wanted}`);
  }
  const own = Object.entries(given).filter(([name]) => self.getOptionValueSource(name) !== 'default');
  return { ...given, ...file, ...Object.fromEntries(own) } as Options;
}

function formOf(value: unknown): string {
  if (typeof value === 'boolean') return 'true or false';
  if (Array.isArray(value)) return 'a list';
  return /^(string|number)$/.test(typeof value) ? 'a text or a number' : value ? 'an object' : 'nothing';
}

function parseFile(): Record<string, unknown> {
  try {
    const { env, ...file } = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, unknown>;
    if (env === undefined) return file;
    const isList = Array.isArray(env);
    return { ...file, env: isList ? env : Object.entries(env ?? {}).map(([name, value]) => `${name}=${value}`) };
  } catch (error) {
    throw new Mistake(`${FILE} cannot be read: ${(error as Error).message}`);
  }
}

/** The proxy that the options ask for, whatever its script and upstream. Throws `Mistake`. */
export function proxyOf(flags: ProxyFlags): Omit<ProxyOptions, 'script' | 'upstream'> {
  const { ca, remote, dialect, idempotency, header = [], cert, certKey, seed = '' } = flags;
  if ((cert === undefined) !== (certKey === undefined)) throw new Mistake('--cert and --cert-key go together');
  const headers = header.map((assignment) => {
    const [, name = '', value = ''] = /^([\w-]+)[=:]\s*(.*)$/.exec(assignment) ?? [];
    if (name === '') throw new Mistake('--header is no NAME=VALUE, such as X-Api-Key=K');
    return [name, value] as const;
  });
  const scope = scopeOf(flags);
  return {
    ca: readCertificates(ca),
    isRemote: remote === true,
    dialect: dialect === undefined ? undefined : dialectAt(dialect),
    headers,
    seed,
    ...(idempotency && { idempotency }),
    ...(scope && { scope }),
    tls: cert === undefined || certKey === undefined ? undefined : readPair(cert, certKey),
  };
}

/** The folder of a dialect: of the package by its name, or another. */
function dialectAt(name: string): string {
  const own = fileURLToPath(new URL(`../../dialects/${name}`, import.meta.url));
  return /^[a-z]+$/.test(name) && existsSync(own) ? own : name;
}

/** What the options ask of a verdict. Throws `Mistake`. */
export function askedBy(flags: ProxyFlags & { readonly expected?: string; readonly require?: string }): Asked {
  const { safe = [], skip = [], only = [], thresholds = {}, expected, require } = flags;
  if (require !== undefined && require !== 'recovers') {
    throw new Mistake(`--require is "${require}"; recovers is the one rule that is judged only on demand`);
  }
  const { tries = USUAL_CUSTOMS.triesMax, toleranceMs: tolerance = USUAL_CUSTOMS.toleranceMs, ...others } = thresholds;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw new Mistake(`thresholds has no "${unknown}"; it has tries and toleranceMs`);
  const triesMax = readCount(tries, 'thresholds.tries', { min: 1, max: 1_000 });
  const toleranceMs = readCount(tolerance, 'thresholds.toleranceMs', { min: 0, max: 60_000 });
  return {
    customs: { safe, scope: scopeOf(flags), triesMax, toleranceMs },
    skipped: rulesOf('--skip', skip),
    only: rulesOf('--only', only),
    isRecoveryRequired: require === 'recovers',
    isStrict: false,
    isFailureAllowed: false,
    isPartialAllowed: false,
    expected: expected === undefined ? [] : expectedIn(`${readOptionFile('--expected', expected)}`, expected),
  };
}

function scopeOf({ scope }: ProxyFlags): Scope | undefined {
  const known = SCOPES.find((each) => each === scope);
  if (scope !== undefined && !known) throw new Mistake(`--scope is "${scope}"; write ${SCOPES.join(', ')}`);
  return known;
}

function rulesOf(option: string, names: readonly string[]): RuleName[] {
  return names.map((name) => {
    const rule = RULE_NAMES.find((each) => each === name);
    if (!rule) throw new Mistake(`${option} is "${name}"; the rules are ${RULE_NAMES.join(', ')}`);
    return rule;
  });
}

function readPair(certFile: string, keyFile: string): { cert: Buffer; key: Buffer } {
  const pair = { cert: readOptionFile('--cert', certFile), key: readOptionFile('--cert-key', keyFile) };
  try {
    createSecureContext(pair);
  } catch {
    const what = `${certFile} and ${keyFile} are no certificate in PEM and its key`;
    throw new Mistake(`--cert and --cert-key: ${what}; a key with a passphrase cannot be read`);
  }
  return pair;
}

function readCertificates(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const text = readOptionFile('--ca', file).toString();
  try {
    new X509Certificate(text);
    return text;
  } catch {
    throw new Mistake(`--ca is ${file}, which is no certificate in PEM; name a file with BEGIN CERTIFICATE`);
  }
}
