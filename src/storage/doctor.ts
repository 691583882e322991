import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Config, withoutPassword } from '../config.ts';
import { utc } from '../stdx/time.ts';
import { type Finding, ok, problem, warning } from '../telemetry/finding.ts';
import { DatabaseNotOpened } from './engine.ts';
import { MIGRATION_NAMES, refusal } from './migrate.ts';
import { connect, endSoon } from './postgres/connection.ts';
import { tryWork } from './postgres/doctor.ts';
import { othersIn } from './scheduled-backups.ts';
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
import { isThere, sizeOf } from './sqlite/files.ts';

const DATABASE = 'database';
/** The log of the database needs so much for the next creates. */
const FREE_MIB_MIN = 16;

/** Each table with its greatest id or version, and the counter that gave it. */
const COUNTERS = [
  { table: 'categories', greatest: 'max(id)', counter: 'category_counter', last: 'last_id', row: '' },
  ...['pets', 'orders', 'audit_entries'].map((table) => ({
    table,
    greatest: 'max(id)',
    counter: 'last_ids',
    last: 'last_id',
    row: `where kind = '${table}'`,
  })),
  ...Object.entries({ category_changes: 'categories', key_changes: 'keys' }).map(([table, kind]) => ({
    table,
    greatest: 'max(version)',
    counter: 'change_versions',
    last: 'version',
    row: `where kind = '${kind}'`,
  })),
];
const SUMS = ', count = (select count(*) from categories), bytes = (select max(bytes) from category_counter)';

type Expected = Pick<Config, 'categoriesMax' | 'backups' | 'environment'>;
type Read = (statement: string) => Promise<Record<string, unknown>[]>;

/** Checks the database of a service without changing anything in it. */
export function inspectDatabase({ database, ...expected }: Expected & Pick<Config, 'database'>): Promise<Finding[]> {
  return database.engine === 'sqlite' ? inspectFile(database.file, expected) : inspectServer(database.url, expected);
}

async function inspectFile(file: string, expected: Expected): Promise<Finding[]> {
  try {
    if (!isThere(file)) return [missingFile(file)];
  } catch (error) {
    return [notRead(notOpened(file, error))];
  }
  return [...(await fileContent(file, expected)), writing(file)];
}

function missingFile(file: string): Finding {
  let folder = dirname(resolve(file));
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    assertNothingLeft(file);
    accessSync(folder, constants.W_OK);
    return ok(DATABASE, `There is no ${file} yet; \`pet-catalog serve\` creates it`);
  } catch (error) {
    if (error instanceof DatabaseNotOpened) return notRead(error);
    return problem(DATABASE, `${file} cannot be created in ${folder}`, 'set DATABASE_URL to a writable place');
  }
}

async function fileContent(file: string, expected: Expected): Promise<Finding[]> {
  try {
    using database = openSound(file);
    const names = appliedIn(database, file);
    return [
      ok(DATABASE, `${file} is sound`),
      ...(await contents(async (text) => database.prepare(text).all(), names, expected)),
    ];
  } catch (error) {
    return [notRead(notOpened(file, error))];
  }
}

function notRead(error: DatabaseNotOpened): Finding {
  const advice = 'do what it says; nothing is known to be damaged';
  const isDamaged = error instanceof DatabaseDamaged;
  return problem(DATABASE, error.message, isDamaged ? 'see "It is damaged" in docs/operations.md' : advice);
}

/** True if a service that is started as this command was could write. */
function writing(file: string): Finding {
  const free = Math.floor(sizeOf(file).diskFreeBytes / 1024 / 1024);
  const full = { finding: `${free} MiB are free beside ${file}`, advice: 'make room' };
  const obstacle = findReadOnlyMount(file) ?? findObstacle(file) ?? findOtherOwner(file) ?? findFileMount(file);
  const found = obstacle ?? (free < FREE_MIB_MIN ? full : undefined);
  if (found) return problem('writing', found.finding, found.advice);
  return ok('writing', `${file} and its folder may be written to, and ${free} MiB are free`);
}

/** Checks tables to which these migrations were applied. */
async function contents(read: Read, names: readonly string[], expected: Expected): Promise<Finding[]> {
  const refused = refusal(names);
  if (refused) return [problem('tables', `The tables ${refused.finding}`, refused.advice)];
  if (!MIGRATION_NAMES.every((name) => names.includes(name))) {
    return [ok('tables', 'They are not up to date: `serve` does that when it starts')];
  }
  const later = names.length > MIGRATION_NAMES.length ? '; a later version has added to them' : '';
  const findings = [ok('tables', `The tables are up to date${later}`)];
  findings.push(...(await countersBehind(read)));
  for (const { count } of await read('select max(count) as count from category_counter'))
    findings.push(ok('catalog', `${count} of ${expected.categoriesMax} categories`));
  for (const { name, value } of await read('select * from database_properties')) {
    if (name === 'access_unchecked') {
      const finding = `Keys, bans and tokens are those of a backup of ${utc(Number(value))}: what was revoked later is valid`;
      findings.push(
        problem('access', finding, 'revoke what must stay out, then run `pet-catalog restore --access-checked`'),
      );
    }
    if (name === 'id' && expected.backups)
      findings.push(...backups(expected.backups.folder, `${expected.environment}-${value}`));
  }
  return findings;
}

/** A restore of data alone leaves the counters as the migrations made them, or puts its own beside them. */
async function countersBehind(read: Read): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { table, greatest, counter, last, row } of COUNTERS) {
    const given = `(select ${greatest} from ${table})`;
    const behind = await read(`select 1 as behind where ${given} > (select min(${last}) from ${counter} ${row})`);
    if (behind.length === 0) continue;
    const finding = `The counter of ${table} is behind their ids, as after a restore of data alone`;
    const line = `update ${counter} set ${last} = ${given}${table === 'categories' ? SUMS : ''} ${row};`;
    found.push(problem('tables', finding, `with every service stopped, run in the database: ${line}`));
  }
  return found;
}

/** Names other databases whose backups are in the folder: two services with one `BACKUP_DIR` easily mistake them. */
function backups(folder: string, owner: string): Finding[] {
  const others = existsSync(folder) ? othersIn(folder, owner) : [];
  const finding = `${folder} has backups of other databases, which count for nothing: ${others.join(', ')}`;
  return others.length > 0 ? [warning('backups', finding, 'give each service a folder of its own')] : [];
}

async function inspectServer(url: string, expected: Expected): Promise<Finding[]> {
  const connecting = connect(url, 'doctor');
  try {
    const client = await connecting;
    const read: Read = async (text) => (await client.query<Record<string, unknown>>(text)).rows;
    const [server] = (await read(`
      select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
        current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
        pg_is_in_recovery() as standby,
        to_regclass('kysely_migration') is not null as migrated`)) as [Record<string, unknown>];
    const names = server.migrated ? (await read('select name from kysely_migration')).map(({ name }) => `${name}`) : [];
    const found = await contents(read, names, expected);
    const isMigrated = found.some(({ check }) => check === 'catalog');
    const standby = problem('role', 'The server is a standby: it stores nothing', 'set DATABASE_URL to the primary');
    const unsafe = ['fsync', 'synchronous_commit'].filter((setting) => server[setting] === 'off');
    const risk = 'acknowledged writes may be lost in a crash';
    const { encoding } = server;
    const wrong = problem(DATABASE, `The encoding of the database is ${encoding}`, 'create it with UTF8');
    return [
      ok(DATABASE, `PostgreSQL ${server.version} at ${withoutPassword(url)} answers`),
      ...(encoding === 'UTF8' ? [] : [wrong]),
      ...unsafe.map((each) => problem('durability', `The server has ${each} = off: ${risk}`, `turn ${each} on`)),
      ...found,
      ...(server.standby ? [standby] : await tryWork(client, url, isMigrated)),
    ];
  } catch (error) {
    const finding = `${withoutPassword(url)} cannot be used: ${(error as Error).message || (error as { code?: string }).code}`;
    return [problem(DATABASE, finding, 'start the server, or correct DATABASE_URL')];
  } finally {
    await connecting.then(endSoon, () => {});
  }
}
