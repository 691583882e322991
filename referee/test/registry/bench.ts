import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { ClientReport } from '../../src/client/report.ts';
import { judged, type StageOptions } from '../kit/stage.ts';
import { CLIENTS, LANGUAGES, type RegistryClient } from './clients.ts';

/** Installs the packages of every client into a folder. Needs the registry. */
export function install(folder: string): void {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const packages = new Set(CLIENTS.flatMap((each) => each.packages ?? []));
  mkdirSync(join(folder, 'dialect'));
  // Some clients know a failure by its body alone.
  const body = { error: { type: 'api_error', message: 'made up' } };
  for (const status of [401, 429, 500, 503]) {
    writeFileSync(join(folder, 'dialect', `${status}.json`), JSON.stringify({ body }));
  }
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
    { jobs: JOBS, api: service, proxy: { dialect: join(folder, 'dialect') }, ...options },
  );
}

const JOBS = 6;

/** An API whose one answer every client understands. */
export function service(): RequestListener {
  return (request, response) => {
    request.resume().on('end', () => {
      const one = { id: 'x_1', object: 'list', data: [{ id: 'x_2', embedding: [0.5] }], usage: { total_tokens: 1 } };
      response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(one));
    });
  };
}

/** The command of a client's program, which it writes and, in Go and Java, builds. */
function commandOf({ name, language = 'mjs', code }: RegistryClient, folder: string): readonly string[] {
  const own = join(folder, name.replaceAll(/\W+/g, '-'));
  mkdirSync(own, { recursive: true });
  const file = join(own, language === 'java' ? 'Program.java' : `program.${language}`);
  const { run, program } = LANGUAGES[language];
  writeFileSync(file, program(code));
  if (language === 'java') {
    execFileSync('javac', [file], { stdio: 'inherit' });
    return [...run, '-cp', own, 'Program'];
  }
  if (language !== 'go') return [...run, file];
  const built = join(own, 'program');
  execFileSync('go', ['build', '-o', built, file], { stdio: 'inherit' });
  return [built];
}

async function exitOf(command: readonly string[], options: { cwd: string; env: Record<string, string | undefined> }) {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { ...options, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

/** The version of a client. */
export function versionOf({ packages = [], version }: RegistryClient): string {
  if (!version) return packages.map((each) => each.replace(/^.*@/, '')).join(', ');
  const [program = '', ...args] = version;
  return /\d+(\.\d+)+\w*/.exec(execFileSync(program, args, { encoding: 'utf8' }))?.[0] ?? '';
}
