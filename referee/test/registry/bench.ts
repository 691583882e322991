import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientReport } from '../../src/client/report.ts';
import { judged, NotEnded, type StageOptions } from '../kit/stage.ts';

/** An HTTP client of the registries, with a program of three calls: a list, a create, a list. */
export interface RegistryClient {
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

const PROGRAMS = fileURLToPath(new URL('../../examples/clients', import.meta.url));
/** How a program of a language is run. */
const RUN: Readonly<Record<string, readonly string[]>> = {
  '.mjs': ['node'],
  '.py': ['python3', '-B'],
  '.sh': ['sh'],
  '.pl': ['perl'],
};

export const CLIENTS: readonly RegistryClient[] = JSON.parse(readFileSync(join(PROGRAMS, 'clients.json'), 'utf8'));

/** Copies every program into a folder, and installs its packages there. Needs the registry. */
export function install(folder: string): void {
  cpSync(PROGRAMS, folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const packages = new Set(CLIENTS.flatMap((each) => each.packages ?? []));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder, stdio: 'ignore' });
}

/** Judges a client by its defaults or with its setting. `workers` programs run at once, as a pool does. */
export function judgeClient(
  client: RegistryClient,
  { folder, isSet, workers = 1, ...options }: StageOptions & { folder: string; isSet: boolean; workers?: number },
): Promise<ClientReport> {
  const command = commandOf(client, folder);
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  return judged(
    async (url) => {
      const given = { ...env, REFEREE_URL: url, SETTING: isSet ? 'yes' : 'no' };
      const exits = await Promise.all(
        Array.from({ length: workers }, () => exitOf(command, { cwd: folder, env: given })),
      );
      if (exits.some((code) => code !== 0)) throw new Error('the program failed');
    },
    { jobs: JOBS, api: service, ...options },
  );
}

const JOBS = 6;
/** Longer than the time-outs of clients that have one, but for those of minutes. */
const RUN_MS_MAX = 90_000;

/** An API whose one answer every client understands. */
export function service(): RequestListener {
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
function commandOf({ file }: RegistryClient, folder: string): readonly string[] {
  const [language, path] = [extname(file), join(folder, file)];
  if (language === '.java') {
    execFileSync('javac', [path], { stdio: 'inherit' });
    return ['java', '-cp', folder, file.slice(0, -language.length)];
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
export function versionOf({ packages = [], version }: RegistryClient): string {
  if (!version) return packages.map((each) => each.replace(/^.*@/, '')).join(', ');
  const [program = '', ...args] = version;
  return /\d+(\.\d+)+\w*/.exec(execFileSync(program, args, { encoding: 'utf8' }))?.[0] ?? '';
}
