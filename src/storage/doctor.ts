import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type pg from 'pg';
import { type Config, withoutPassword } from '../config.ts';
import { utc } from '../stdx/time.ts';
import { BACKUP_INTERVALS_MAX, type Finding, ok, problem, warning } from '../telemetry/finding.ts';
import { DatabaseNotOpened } from './engine.ts';
import { MIGRATION_NAMES, refusal } from './migrate.ts';
import { connect, endSoon } from './postgres/connection.ts';
import { tryWork } from './postgres/doctor.ts';
import { lastRestored, newestBackup } from './scheduled-backups.ts';
import { appliedIn } from './sqlite/contents.ts';
import { assertNothingLeft, openSound } from './sqlite/database-file.ts';
import {
  DatabaseDamaged,
  findFileMount,
  findFullDisk,
  findObstacle,
  findOtherOwner,
  findReadOnlyMount,
  notOpened,
} from './sqlite/failure.ts';
import { sizeOf } from './sqlite/files.ts';

const DATABASE = 'database';
const MARK = 'select turned_by from rehearsal';
const COUNTER = 'select count from category_counter';

type Expected = Pick<Config, 'categoriesMax' | 'backups'>;

/** Checks the database of a service without changing anything in it. */
export function inspectDatabase({ database, ...expected }: Expected & Pick<Config, 'database'>): Promise<Finding[]> {
  return database.engine === 'sqlite' ? inspectFile(database.file, expected) : inspectServer(database.url, expected);
}

async function inspectFile(file: string, { categoriesMax, backups }: Expected): Promise<Finding[]> {
  if (!existsSync(file)) return [missingFile(file)];
  return [...fileContent(file, categoriesMax), writing(file), backups ? keptBackups(backups) : noBackups()];
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

function fileContent(file: string, categoriesMax: number): Finding[] {
  try {
    using database = openSound(file);
    const names = appliedIn(database, file);
    const marks = names.length > 0 ? database.prepare(MARK).all() : [];
    const counters = isMigrated(names) ? (database.prepare(COUNTER).all() as { count: number }[]) : [];
    return [ok(DATABASE, `${file} is sound`), tables(names), ...marked(marks), ...catalogs(counters, categoriesMax)];
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
  const obstacle =
    findReadOnlyMount(file) ?? findObstacle(file) ?? findOtherOwner(file) ?? findFileMount(file) ?? findFullDisk(file);
  if (obstacle) return problem('writing', obstacle.finding, obstacle.advice);
  const free = Math.floor(sizeOf(file).diskFreeBytes / 1024 / 1024);
  return ok('writing', `${file} and its folder may be written to, and ${free} MiB are free`);
}

function tables(names: readonly string[]): Finding {
  const check = 'tables';
  const refused = refusal(names);
  if (refused) return problem(check, `The tables ${refused.finding}`, refused.advice);
  const later = names.length > MIGRATION_NAMES.length ? '; a later version has added to them' : '';
  if (isMigrated(names)) return ok(check, `The tables are up to date${later}`);
  return ok(check, '`pet-catalog serve` brings the tables up to date when it starts, as does `pet-catalog migrate`');
}

function isMigrated(names: readonly string[]): boolean {
  return MIGRATION_NAMES.every((name) => names.includes(name));
}

function catalogs(counters: readonly { count: number }[], categoriesMax: number): Finding[] {
  return counters.map(({ count }) => ok('catalog', `${count} of ${categoriesMax} categories`));
}

/** Says whether the database was used in rehearsal, which keeps its service from starting. */
function marked(marks: readonly unknown[]): Finding[] {
  if (marks.length === 0) return [];
  const advice = 'set DATABASE_URL to a new one, or copy this one without its rehearsal by `pet-catalog transfer`';
  return [problem('rehearsal', 'The database was used in rehearsal, so no service starts on it', advice)];
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

type Server = Record<'version' | 'fsync' | 'synchronous_commit', string> & Record<'standby' | 'migrated', boolean>;

async function inspectServer(url: string, { categoriesMax }: Expected): Promise<Finding[]> {
  let client: pg.Client | undefined;
  try {
    client = await connect(url, 'doctor');
    const found = await client.query<Server>(`
      select current_setting('server_version') as version, pg_is_in_recovery() as standby,
        current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
        to_regclass('kysely_migration') is not null as migrated`);
    const [server] = found.rows;
    if (!server) throw new Error('it returned no row');
    const migrations = server.migrated
      ? (await client.query<{ name: string }>('select name from kysely_migration')).rows.map(({ name }) => name)
      : [];
    const marks = server.migrated ? (await client.query(MARK)).rows : [];
    const counters = isMigrated(migrations) ? (await client.query<{ count: number }>(COUNTER)).rows : [];
    return [
      ok(DATABASE, `PostgreSQL ${server.version} at ${withoutPassword(url)} answers`),
      ...durability(server),
      tables(migrations),
      ...marked(marks),
      ...(server.standby ? [] : await tryWork(client, url, isMigrated(migrations))),
      ...catalogs(counters, categoriesMax),
    ];
  } catch (error) {
    const finding = `${withoutPassword(url)} cannot be used: ${(error as Error).message || (error as { code?: string }).code}`;
    return [problem(DATABASE, finding, 'start the server, or correct DATABASE_URL')];
  } finally {
    if (client) await endSoon(client);
  }
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
