import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../../src/rehearsal/verdict/report.ts';
import { runProcess } from '../../kit/process.ts';
import { temporaryFolder } from '../../kit/service.ts';
import { CLIENTS, type JudgedClient } from './clients.ts';

/**
 * Judges ten HTTP clients by their defaults and by the settings that make them right, under the same scripts, before a
 * small API; writes the tables of docs/rehearsal.md. Takes minutes, and needs the registry, curl and Python.
 */

const SCRIPTS = [
  'limit:1,ok',
  'limit-date:2,ok',
  'unavailable:1,ok',
  'error*4,ok',
  'error*12',
  'lost*4,ok',
  'cut,ok',
  'grease,ok',
  'ok,error,ok',
  'ok,lost,ok',
  'ok,unavailable:1,ok',
];
const PROGRAMS = { mjs: [process.execPath], sh: ['sh'], py: ['python3'] } as const;
/** A busy machine can hide that a client does not wait, and accuses none: what was broken once is broken. */
const TIMES = 2;
/** Clients mostly wait. */
const AT_ONCE = 4;
const PAGE = fileURLToPath(new URL('../../../docs/rehearsal.md', import.meta.url));
const [BEGIN, END] = ['<!-- clients -->', '<!-- /clients -->'];

/** The rules that a client broke, by script. */
type Broken = ReadonlyMap<string, readonly string[]>;

interface Row {
  readonly client: JudgedClient;
  readonly version: string;
  readonly broken: Broken;
  /** With the setting. */
  readonly stillBroken: Broken;
}

using folder = temporaryFolder();
install();
const api = createServer((incoming, response) => {
  incoming.resume().on('end', () => {
    const one = { id: 'x_1', object: 'list', data: [{ id: 'x_2', embedding: [0.5] }], usage: { total_tokens: 1 } };
    response.writeHead(incoming.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(one));
  });
});
api.listen(0, '127.0.0.1');
await once(api, 'listening');
const upstream = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;

const rows: Row[] = [];
for (let first = 0; first < CLIENTS.length; first += AT_ONCE) {
  rows.push(...(await Promise.all(CLIENTS.slice(first, first + AT_ONCE).map(rowOf))));
}
api.close();
api.closeAllConnections();
write();

function install(): void {
  writeFileSync(join(folder.path, 'package.json'), '{"private":true}');
  // The clients of an API know its errors by their shape.
  writeFileSync(join(folder.path, 'error.json'), '{"error":{"type":"api_error","message":"rehearsed"}}');
  const packages = CLIENTS.flatMap(({ packages: all }) => Object.entries(all).map((each) => each.join('@')));
  execFileSync('npm', ['install', '--no-audit', '--no-fund', ...new Set(packages)], {
    cwd: folder.path,
    stdio: 'ignore',
  });
}

async function rowOf(client: JudgedClient): Promise<Row> {
  const [broken, stillBroken] = await Promise.all(
    [client.program, client.setting?.program ?? client.program].map((program) => judge(client, program)),
  );
  if (!broken || !stillBroken) throw new Error('There are two programs');
  console.error(client.name, [...broken].flat(2).join(' '), '| with the setting:', [...stillBroken].flat(2).join(' '));
  return { client, version: versionOf(client), broken, stillBroken };
}

async function judge({ name, language }: JudgedClient, program: string): Promise<Broken> {
  const file = join(folder.path, `program-${randomUUID()}.${language}`);
  writeFileSync(file, program);
  const options = ['--upstream', upstream, '--error-body', 'error.json', '--json', '--partial', '--allow-failure'];
  const command = [...PROGRAMS[language], file];
  const scripts = Array.from({ length: TIMES }, () => SCRIPTS).flat();
  const { stdout, stderr, code } = await runProcess(['rehearse', 'run', ...scripts, ...options, '--', ...command], {
    cwd: folder.path,
  });
  if (code === 2) throw new Error(`${name} could not be judged: ${stderr}`);
  const reports = JSON.parse(stdout) as Report[];
  if (reports.some(({ requests }) => requests.length === 0)) throw new Error(`${name} sent nothing: ${stderr}`);
  const broken = new Map<string, readonly string[]>();
  for (const { script, rules } of reports) {
    const found = rules.filter(({ verdict }) => verdict === 'broken').map(({ rule }) => rule);
    if (found.length > 0) broken.set(script, [...new Set([...(broken.get(script) ?? []), ...found])]);
  }
  return broken;
}

function versionOf({ packages, version }: JudgedClient): string {
  if (!version) return Object.values(packages).join(', ');
  const [program = '', ...args] = version;
  return execFileSync(program, args, { encoding: 'utf8' }).split(' ')[1]?.trim() ?? '';
}

function write(): void {
  const names = rows.map(({ client }) => client.name);
  const verdicts = SCRIPTS.map((script) => [`\`${script}\``, ...rows.map(({ broken }) => cell(broken.get(script)))]);
  const settings = rows.map(({ client, version, broken, stillBroken }) => {
    if (broken.size === 0) return [client.name, version, 'none needed'];
    const left = [...stillBroken].map(([script, rules]) => `\`${script}\` (${rules.join(', ')})`).join(', ');
    return [client.name, version, `${client.setting?.text ?? ''}${left && `; still broken: ${left}`}`];
  });
  const text = [table(['Script', ...names], verdicts), table(['Client', 'Version', 'Smallest setting'], settings)];
  const page = readFileSync(PAGE, 'utf8');
  const [before, after] = [page.slice(0, page.indexOf(BEGIN)), page.slice(page.indexOf(END))];
  writeFileSync(PAGE, `${before}${BEGIN}\n\n${text.join('\n\n')}\n\n${after}`);
}

function cell(rules: readonly string[] | undefined): string {
  return rules === undefined ? 'kept' : `**${rules.join(', ')}**`;
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
