import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { temporaryFolder } from '../folder.ts';
import { temporaryDatabase } from '../postgres.ts';
import { query } from '../postgres-server.ts';
import { runProcess } from '../process.ts';

export const ENGINES = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof ENGINES)[number];
const RELEASES = fileURLToPath(new URL('../../releases', import.meta.url));

/** Which database of which release. */
export interface Release {
  readonly version: string;
  readonly engine: EngineName;
}

/** The releases whose databases are kept, the oldest first. */
export const VERSIONS: readonly string[] = readdirSync(RELEASES)
  .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
  .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));

/** A database that goes with the test, and the folder that commands run in. */
export interface Database extends AsyncDisposable {
  readonly url: string;
  readonly folder: string;
  /** The file of the embedded one. */
  readonly file: string;
}

/** An empty database. */
export async function emptyDatabase(engine: EngineName): Promise<Database> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'release.db');
  const server = engine === 'postgres' ? await temporaryDatabase() : undefined;
  return {
    url: server?.url ?? `sqlite:${file}`,
    folder: folder.path,
    file,
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** The database of a release, as it was left. */
export async function restored(release: Release): Promise<Database> {
  const database = await emptyDatabase(release.engine);
  if (release.engine === 'sqlite') writeFileSync(database.file, gunzipSync(readFileSync(fileOf(release, 'db.gz'))));
  else await query(database.url, readFileSync(fileOf(release, 'sql'), 'utf8'));
  return database;
}

/** What was recorded with the database of a release. */
export function readRecorded<T>(release: Release): T {
  return JSON.parse(readFileSync(fileOf(release, 'json'), 'utf8'));
}

/** Keeps a database, which no service uses any more, and what was recorded with it. */
export async function keep(database: Database, release: Release, recorded: unknown): Promise<void> {
  writeFileSync(fileOf(release, 'json'), `${JSON.stringify(recorded, null, 2)}\n`);
  if (release.engine === 'postgres') return writeFileSync(fileOf(release, 'sql'), await dump(database.url));
  const backup = join(database.folder, 'backup.db');
  const env = { DATABASE_URL: database.url };
  const { code, stderr } = await runProcess(['backup', backup], { cwd: database.folder, env });
  assert.equal(code, 0, stderr);
  writeFileSync(fileOf(release, 'db.gz'), gzipSync(readFileSync(backup), { level: 9 }));
}

/** As statements that every server since 14 runs: without what `pg_dump` sets for its own client. */
async function dump(url: string): Promise<string> {
  const args = ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', url];
  const { stdout } = await promisify(execFile)('pg_dump', args, { maxBuffer: 10_000_000 });
  const lines = stdout.split('\n').filter((line) => line !== '' && !/^(--|\\|SET |SELECT pg_catalog\.)/.test(line));
  return `${lines.join('\n')}\n`;
}

function fileOf({ version, engine }: Release, extension: string): string {
  return join(RELEASES, version, `${engine}.${extension}`);
}
