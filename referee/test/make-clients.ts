import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ClientReport } from '../src/client/report.ts';
import { temporaryFolder } from './kit/fixtures.ts';
import { CLIENTS, install, judgeClient, type RegistryClient, versionOf } from './registry/bench.ts';

/** Judges the HTTP clients of the registries, and writes the table of docs/clients.md. Takes some minutes. */

const PAGE = fileURLToPath(new URL('../docs/clients.md', import.meta.url));
const SIDE_BY_SIDE = 6;
const [BEGIN, END] = ['<!-- clients -->', '<!-- /clients -->'];

using folder = temporaryFolder();
install(folder.path);
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
  const byDefault = await judgeClient(client, { folder: folder.path, isSet: false });
  const broken = brokenText(byDefault);
  let advice = broken && setting ? setting : 'none needed';
  if (broken && setting) {
    const left = brokenText(await judgeClient(client, { folder: folder.path, isSet: true }));
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
