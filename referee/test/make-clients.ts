import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../test/kit/folder.ts';
import type { ClientReport } from '../src/client/report.ts';
import { judged, NotEnded } from './kit/stage.ts';

/** Judges the HTTP clients of the registries, and writes the table of docs/clients.md. Takes some minutes. */

const PAGE = fileURLToPath(new URL('../docs/clients.md', import.meta.url));
const SIDE_BY_SIDE = 6;
const JOBS = 6;
/** Longer than the time-outs of clients that have one, but for those of minutes. */
const RUN_MS_MAX = 90_000;
const [BEGIN, END] = ['<!-- clients -->', '<!-- /clients -->'];

/** An HTTP client of the registries, with a program of three calls: a list, a create, a list. */
interface RegistryClient {
  readonly name: string;
  /** The program; `SETTING=yes` asks for its setting. */
  readonly file: string;
  /** From npm, in these versions. */
  readonly packages?: readonly string[];
  /** Prints the version of a client that comes with the machine. */
  readonly version?: readonly string[];
  /** The smallest setting that makes it right, in Markdown; absent where none is needed. */
  readonly setting?: string;
}

const PROGRAMS = fileURLToPath(new URL('../examples/clients', import.meta.url));
/** How a program of a language is run. */
const RUN: Readonly<Record<string, readonly string[]>> = {
  '.mjs': ['node'],
  '.py': ['python3', '-B'],
  '.sh': ['sh'],
  '.pl': ['perl'],
};

const CLIENTS: readonly RegistryClient[] = JSON.parse(readFileSync(join(PROGRAMS, 'clients.json'), 'utf8'));

using folder = temporaryFolder();
install();
const rows: string[][] = [];
const queue = [...CLIENTS.entries()];
// Mostly they wait.
const work = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) rows[next[0]] = await rowOf(next[1]);
};
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
const lines = [
  ['Client', 'Version', 'Breaks by default', 'Retries', 'Smallest setting that makes it right'],
  ['---', '---', '---', '---', '---'],
  ...rows,
];
const page = readFileSync(PAGE, 'utf8');
const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
writeFileSync(PAGE, `${page.slice(0, page.indexOf(BEGIN))}${BEGIN}\n\n${table}\n\n${page.slice(page.indexOf(END))}`);

async function rowOf(client: RegistryClient): Promise<string[]> {
  const { name, setting } = client;
  const byDefault = await judgeClient(client, false);
  const broken = brokenText(byDefault);
  let advice = broken && setting ? setting : 'none needed';
  if (broken && setting) {
    const left = brokenText(await judgeClient(client, true));
    if (left) advice += `; still breaks ${left}`;
  }
  const row = [name, versionOf(client), broken || 'nothing', retriesOf(byDefault), advice];
  console.error(row.join(' | '));
  return row;
}

/** The broken rules, each with the methods for which it is. */
function brokenText({ rules }: ClientReport): string {
  const broken = rules.filter(({ verdict }) => verdict === 'broken');
  return [...Map.groupBy(broken, ({ rule }) => rule)]
    .map(([rule, cells]) => `\`${rule}\` (${[...new Set(cells.map(({ kind }) => kind.split(' ')[0]))].join(', ')})`)
    .join(', ');
}

function retriesOf({ rules, plays, calls }: ClientReport): string {
  if (rules.every(({ rule, verdict }) => rule !== 'recovers' || verdict === 'kept')) return 'yes';
  const usual = calls.reduce((sum, { count }) => sum + count, 0);
  return plays.some(({ requests }) => requests.length > usual) ? 'some failures' : 'no';
}

/** Copies every program into the folder, and installs its packages there. Needs the registry. */
function install(): void {
  cpSync(PROGRAMS, folder.path, { recursive: true });
  writeFileSync(join(folder.path, 'package.json'), '{"private":true}');
  const packages = new Set(CLIENTS.flatMap((each) => each.packages ?? []));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder.path, stdio: 'ignore' });
}

/** Judges a client by its defaults or with its setting. */
function judgeClient(client: RegistryClient, isSet: boolean): Promise<ClientReport> {
  const command = commandOf(client);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, SETTING: isSet ? 'yes' : 'no' };
  return judged(
    async (url) => {
      const code = await exitOf(command, { cwd: folder.path, env: { ...env, REFEREE_URL: url } });
      if (code !== 0) throw new Error('the program failed');
    },
    { jobs: JOBS, api: service },
  );
}

/** An API whose one answer every client understands. */
function service(): RequestListener {
  return (request, response) => {
    request.resume().on('end', () => {
      const data = request.url === '/graphql' ? { pets: [] } : [{ id: 'x_2', embedding: [0.5] }];
      const one = { id: 'x_1', object: 'list', data, usage: { total_tokens: 1 } };
      response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(one));
    });
  };
}

/** The command of a client's program, which it builds where that is in Go or Java. */
function commandOf({ file }: RegistryClient): readonly string[] {
  const [language, path] = [extname(file), join(folder.path, file)];
  if (language === '.java') {
    execFileSync('javac', [path], { stdio: 'inherit' });
    return ['java', '-cp', folder.path, file.slice(0, -language.length)];
  }
  if (language !== '.go') return [...(RUN[language] ?? []), path];
  const built = path.slice(0, -language.length);
  execFileSync('go', ['build', '-o', built, path], { stdio: 'inherit' });
  return [built];
}

async function exitOf(command: readonly string[], options: { cwd: string; env: Record<string, string | undefined> }) {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { ...options, stdio: 'ignore', timeout: RUN_MS_MAX });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code === null) throw new NotEnded();
  return code;
}

/** The version of a client. */
function versionOf({ packages = [], version }: RegistryClient): string {
  if (!version) return packages.map((each) => each.replace(/^.*@/, '')).join(', ');
  const [program = '', ...args] = version;
  return /\d+(\.\d+)+\w*/.exec(execFileSync(program, args, { encoding: 'utf8' }))?.[0] ?? '';
}
