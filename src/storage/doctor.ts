import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type pg from 'pg';
import { type Config, withoutPassword } from '../config.ts';
import { utc } from '../stdx/time.ts';
import { BACKUP_INTERVALS_MAX, compareClocks, type Finding, ok, problem, warning } from '../telemetry/finding.ts';
import { DatabaseNotOpened } from './engine.ts';
import { MIGRATION_NAMES, releaseNeeded } from './migrate.ts';
import { connect, endSoon } from './postgres/connection.ts';
import { tryWork } from './postgres/doctor.ts';
import { lastRestored, newestBackup } from './scheduled-backups.ts';
import type { Tables } from './sql/tables.ts';
import { appliedIn } from './sqlite/contents.ts';
import { assertNothingLeft, openSound } from './sqlite/database-file.ts';
import {
  DatabaseDamaged,
  findFileMount,
  findObstacle,
  findOtherOwner,
  findReadOnlyMount,
  notOpened,
} from './sqlite/failure.ts';
import { sizeOf } from './sqlite/files.ts';

const DATABASE = 'database';
/** Below this the log of the database may find no room, and creates are refused. */
const FREE_BYTES_NEEDED = 16 * 1024 * 1024;
const FREE_BYTES_MIN = 512 * 1024 * 1024;
const ROUND_TRIP_MS_MAX = 20;
const OTHERS_MODE = 0o077;

const MARK = 'select turned_by from rehearsal';
const COUNTER = 'select count, bytes from category_counter';
const FULL_SHARE = 0.9;

type Counter = Pick<Tables['category_counter'], 'count' | 'bytes'>;

/** The settings of the database: how full the catalog may become, and where its backups are. */
type Expected = Pick<Config, 'categoriesMax' | 'categoriesBytesMax' | 'backups'>;

/** Checks the database of a service without changing anything in it. */
export function inspectDatabase({ database, ...expected }: Expected & Pick<Config, 'database'>): Promise<Finding[]> {
  return database.engine === 'sqlite' ? inspectFile(database.file, expected) : inspectServer(database.url, expected);
}

async function inspectFile(file: string, expected: Expected): Promise<Finding[]> {
  if (!existsSync(file)) return [missingFile(file)];
  const kept = expected.backups ? keptBackups(expected.backups) : noBackups();
  return [...fileContent(file, expected), writing(file), filePermissions(file), freeSpace(file), kept];
}

function missingFile(file: string): Finding {
  let folder = dirname(resolve(file));
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    assertNothingLeft(file);
    accessSync(folder, constants.W_OK);
    return ok(DATABASE, `There is no ${file} yet; \`pet-catalog serve\` creates it`);
  } catch (error) {
    if (error instanceof DatabaseNotOpened) return notRead(file, error);
    return problem(DATABASE, `${file} cannot be created in ${folder}`, 'set DATABASE_URL to a writable place');
  }
}

function fileContent(file: string, expected: Expected): Finding[] {
  try {
    using database = openSound(file);
    const names = appliedIn(database, file);
    const marks = names.length > 0 ? database.prepare(MARK).all() : [];
    const sound = ok(DATABASE, `${file} is sound`);
    const counters = missingOf(names).length === 0 ? database.prepare(COUNTER).all() : [];
    const full = catalogs(counters as unknown as Counter[], expected);
    return [sound, tables(names), ...marked(marks), ...full];
  } catch (error) {
    return [notRead(file, notOpened(file, error))];
  }
}

function notRead(file: string, error: DatabaseNotOpened): Finding {
  if (!(error instanceof DatabaseDamaged)) {
    return problem(DATABASE, error.message, 'do what it says; nothing is known to be damaged');
  }
  const advice =
    'stop the service and run `pet-catalog restore FILE` with your last backup, or see "It is damaged" in docs/operations.md';
  return problem(DATABASE, `${file} is damaged: ${error.damage}`, advice);
}

/** True if a service that is started as this command was could write. */
function writing(file: string): Finding {
  const obstacle = findReadOnlyMount(file) ?? findObstacle(file) ?? findOtherOwner(file) ?? findFileMount(file);
  if (obstacle) return problem('writing', obstacle.finding, obstacle.advice);
  return ok('writing', `${file} and its folder may be written to`);
}

function tables(names: readonly string[]): Finding {
  const check = 'tables';
  const needed = releaseNeeded(names.toSorted());
  if (needed) {
    const advice = 'install that version, or restore a backup from before it';
    return problem(check, `The tables need ${needed} or later`, advice);
  }
  const missing = missingOf(names);
  const later = names.length > MIGRATION_NAMES.length ? '; a later version has added to them' : '';
  if (missing.length === 0) return ok(check, `The tables are up to date${later}`);
  const advice = 'run `pet-catalog migrate`; `serve` does so when it starts';
  return warning(check, `The tables lack ${missing.length} migrations`, advice);
}

function missingOf(names: readonly string[]): string[] {
  return MIGRATION_NAMES.filter((name) => !names.includes(name));
}

/** Says whether the database was used in rehearsal, which keeps its service from starting. */
function marked(marks: readonly unknown[]): Finding[] {
  if (marks.length === 0) return [];
  const advice = 'set DATABASE_URL to a new one, or copy this one without its rehearsal by `pet-catalog transfer`';
  return [problem('rehearsal', 'The database was used in rehearsal, so no service starts on it', advice)];
}

function catalogs(counters: readonly Counter[], { categoriesMax, categoriesBytesMax }: Expected): Finding[] {
  return counters.map(({ count, bytes }) => {
    const finding = `${count} of ${categoriesMax} categories, in ${inMib(bytes)} of ${inMib(categoriesBytesMax)} MiB`;
    if (count < FULL_SHARE * categoriesMax && bytes < FULL_SHARE * categoriesBytesMax) return ok('catalog', finding);
    const advice = 'raise CATEGORIES_MAX or CATEGORIES_BYTES_MAX, or delete categories: a full catalog refuses creates';
    return warning('catalog', finding, advice);
  });
}

function inMib(bytes: number): number {
  return Math.ceil(bytes / 1024 / 1024);
}

function filePermissions(file: string): Finding {
  const isPrivate = [file, dirname(resolve(file))].some((path) => (statSync(path).mode & OTHERS_MODE) === 0);
  if (isPrivate) return ok('permissions', 'No other user of this machine may read the database');
  const advice = `run \`chmod 700 ${dirname(file)}\``;
  return warning('permissions', 'Other users of this machine may read the database', advice);
}

function noBackups(): Finding {
  const advice =
    'set BACKUP_DIR, best to a folder of another disk, or see that something else runs `pet-catalog backup`';
  return warning('backups', 'The service makes no backups: BACKUP_DIR is not set', advice);
}

/** When the newest backup was made, which a service also checks, and one was restored on trial. */
function keptBackups({ folder, everySeconds }: NonNullable<Config['backups']>): Finding {
  const now = Date.now() / 1_000;
  const [newest, restored] = [newestBackup(folder, now), lastRestored(folder, now)];
  const made = newest ? `${newest.file} was made and checked at ${utc(newest.at)}` : `${folder} holds no backup`;
  const finding = `${made}; ${restored ? `${restored.backup} was restored and compared at ${utc(restored.at)}` : 'none was restored on trial yet'}`;
  if (newest && now - newest.at <= BACKUP_INTERVALS_MAX * everySeconds) return ok('backups', finding);
  return warning('backups', finding, 'see `backup_failed` in the log of the service');
}

function freeSpace(file: string): Finding {
  const { databaseBytes, logBytes, diskFreeBytes: free } = sizeOf(file);
  const finding = `${Math.floor(free / 1024 / 1024)} MiB are free beside ${file} (${inMib(databaseBytes)} MiB, and ${inMib(logBytes)} MiB of log)`;
  if (free >= FREE_BYTES_MIN) return ok('disk', finding);
  const grade = free < FREE_BYTES_NEEDED ? problem : warning;
  return grade('disk', finding, 'make room: when the disk is full, creates are refused');
}

type Server = Record<'version' | 'now' | 'fsync' | 'synchronous_commit', string> &
  Record<'standby' | 'migrated', boolean>;

async function inspectServer(url: string, expected: Expected): Promise<Finding[]> {
  let client: pg.Client | undefined;
  try {
    client = await connect(url, 'doctor');
    const startedMs = performance.now();
    await client.query('select 1');
    const roundTripMs = performance.now() - startedMs;
    const found = await client.query<Server>(`
      select current_setting('server_version') as version, extract(epoch from clock_timestamp())::text as now,
        pg_is_in_recovery() as standby, current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as synchronous_commit,
        to_regclass('kysely_migration') is not null as migrated`);
    const [server] = found.rows;
    if (!server) throw new Error('it returned no row');
    const migrations = server.migrated
      ? (await client.query<{ name: string }>('select name from kysely_migration')).rows.map(({ name }) => name)
      : [];
    const marks = server.migrated ? (await client.query(MARK)).rows : [];
    return [
      reached(url, server.version, roundTripMs),
      ...durability(server),
      compareClocks('the database', Number(server.now), Date.now() / 1000),
      tables(migrations),
      ...marked(marks),
      ...(server.standby ? [] : await tryWork(client, url, missingOf(migrations).length === 0)),
      ...(missingOf(migrations).length === 0 ? catalogs((await client.query<Counter>(COUNTER)).rows, expected) : []),
    ];
  } catch (error) {
    const finding = `${withoutPassword(url)} cannot be used: ${(error as Error).message || (error as { code?: string }).code}`;
    return [problem(DATABASE, finding, 'start the server, or correct DATABASE_URL')];
  } finally {
    if (client) await endSoon(client);
  }
}

function reached(url: string, version: string, roundTripMs: number): Finding {
  const finding = `PostgreSQL ${version} at ${withoutPassword(url)} answers within ${roundTripMs.toFixed(1)} ms`;
  if (roundTripMs <= ROUND_TRIP_MS_MAX) return ok(DATABASE, finding);
  return warning(DATABASE, finding, 'move it closer: a create takes six such round trips');
}

function durability(server: Server): Finding[] {
  const findings: Finding[] = [];
  if (server.standby) {
    const advice = 'set DATABASE_URL to the primary, or promote this one';
    findings.push(problem('role', 'The server is a standby: nothing can be stored', advice));
  }
  for (const setting of ['fsync', 'synchronous_commit'] as const) {
    if (server[setting] !== 'off') continue;
    const finding = `The server has ${setting} = off: acknowledged writes may be lost in a crash`;
    findings.push(problem('durability', finding, `turn ${setting} on`));
  }
  return findings;
}
