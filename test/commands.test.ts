import assert from 'node:assert/strict';
import { type StdioOptions, spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newApiKey, secretRecord } from '../src/catalog/api-key.ts';
import { NO_COUNTS } from '../src/catalog/window-counts.ts';
import { systemTime, utc } from '../src/stdx/time.ts';
import { openStorage } from '../src/storage/open.ts';
import { storeBan } from './kit/bans.ts';
import { manualClock } from './kit/clock.ts';
import { OPERATOR } from './kit/operator.ts';
import { COMMAND, commandsOn, run, wordsOf } from './kit/process.ts';
import { temporaryFolder, testService } from './kit/service.ts';
import { LIST, usageAt } from './kit/usage.ts';

/** The operator's commands: their words, and what they do beside a service that runs. */

/** A folder with a database, and commands on it. */
function workplace() {
  const folder = temporaryFolder();
  const database = join(folder.path, 'data/pet-catalog.db');
  const options = { time: systemTime(), categoriesMax: 10, categoriesBytesMax: 10_000 };
  return {
    path: folder.path,
    database,
    open: () => openStorage({ engine: 'sqlite', file: database }, options),
    file: (name: string, content: string) => writeFileSync(join(folder.path, name), content),
    command: (line: string, env = {}) => run(wordsOf(line), { cwd: folder.path, env, invocation: {} }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

test('a wrong command line exits with 2 and says what to write, any other failure with 1', async () => {
  using place = workplace();
  await place.command('keys create --name first');
  place.file('one.ndjson', '{"name":""}\n');
  for (const [line, code, said] of [
    ['keys creat', 2, "unknown command 'creat'; did you mean create?"],
    ['bogus', 2, "unknown command 'bogus'; see --help"],
    ['serve --nonsense', 2, "unknown option '--nonsense'; see --help"],
    ['keys list --jsn', 2, "unknown option '--jsn'; did you mean --json?"],
    ['keys create', 2, "required option '--name <name>' not specified; see --help"],
    ['keys create --name', 2, "option '--name <name>' argument missing; see --help"],
    ['keys set-plan key_1', 2, "missing required argument 'plan'; see --help"],
    ['keys list more', 2, "too many arguments for 'list'. Expected 0 arguments but got 1: more; see --help"],
    ['keys list --state gone', 2, '--state is "gone"; send one of active, expired, revoked, paused, banned'],
    ['keys create --name x --expires 99999999d', 2, 'The expiry of a key must be in the future and within 100 years'],
    ['serve --port x', 2, 'PORT: it must be a whole number from 0 to 65535, not "x" (from --port)'],
    ['keys show key_none', 1, 'There is no key key_none; the list of keys shows them all'],
    [
      'usage --since x',
      2,
      '--since is "x"; send a date and time such as 2027-01-31 18:00 (UTC), a date, RFC 3339, or a duration such as 90s or 30d',
    ],
    ['usage --by minute --group route', 2, 'Minutes know no routes; send --by as hour, day or month'],
    ['categories export --format xml', 2, 'There is no format xml; the formats are json, ndjson, csv'],
    ['categories import names', 2, 'Cannot tell the format of names by its extension; add --format'],
    ['categories import one.ndjson', 1, 'Nothing was imported: one.ndjson has 1 invalid record'],
    ['transfer --from sqlite:x.db', 2, '--to: name the database with --to, or in TO_URL or TO_URL_FILE'],
    ['serve --bootstrap-key x', 2, '--bootstrap-key needs --ephemeral; without it, see `pet-catalog keys create`'],
    [
      'serve --ephemeral --bootstrap-key x',
      2,
      '--bootstrap-key is no key of production; take one that `pet-catalog keys create` printed',
    ],
    ...['config', 'serve'].map(
      (command) =>
        [
          `${command} --database-url postgres://h/d --backup-dir b`,
          2,
          'BACKUP_DIR: it must be empty with PostgreSQL, which has its own tools for backups',
        ] as const,
    ),
    ['console login --url ftp://x', 2, '--url is "ftp://x"; write an address such as http://127.0.0.1:8081'],
  ] as const) {
    const ran = await place.command(line);
    const last = ran.stderr.trim().split('\n').at(-1);
    assert.deepEqual([ran.code, ran.stdout, last], [code, '', `pet-catalog: ${said}`], line);
  }
  for (const [command, tool] of Object.entries({ backup: 'pg_dump', restore: 'pg_restore' })) {
    const ran = await place.command(`${command} x.db`, { DATABASE_URL: 'postgres://test@127.0.0.1:1/none' });
    const said = `pet-catalog: This command needs an embedded database; for PostgreSQL use ${tool}\n`;
    assert.deepEqual([ran.code, ran.stderr], [2, said]);
  }
});

test('every command has a help: its usage, and its own options before the settings', async () => {
  using place = workplace();
  const shown: string[] = [];
  const show = async (command: readonly string[]) => {
    const { code, stdout } = await place.command(`${command.join(' ')} --help`);
    assert.equal(code, 0, command.join(' '));
    assert.ok(stdout.startsWith(`Usage: ${['pet-catalog', ...command].join(' ')} `), stdout);
    const [own, settings] = [stdout.indexOf('\nOptions:'), stdout.indexOf('\nSettings:')];
    assert.ok(own > 0 && (settings < 0 || own < settings), stdout);
    shown.push(command.join(' '));
    const [, commands = ''] = /\nCommands:\n([\s\S]*)$/.exec(stdout) ?? [];
    for (const [, name = ''] of commands.matchAll(/^ {2}(\w[\w-]*)/gm))
      if (name !== 'help') await show([...command, name]);
  };
  await show([]);
  const group = await place.command('keys');
  assert.deepEqual([group.code, group.stdout], [2, '']);
  assert.match(group.stderr, /^Usage: pet-catalog keys [\s\S]* help \[command\] +Show the help of a command\n$/);
  const words = (await place.command('serve --help')).stdout.replaceAll(/\s+/g, ' ');
  assert.match(words, / --port <value> port of the public listener; 0 picks .* \(default: 8080\) /);
  for (const command of ['serve', 'keys create', 'categories import', 'doctor']) assert.ok(shown.includes(command));
});

test('what each command prints, for people and for programs', async () => {
  using place = workplace();
  const told = async (line: string) => {
    const { code, stdout, stderr } = await place.command(line);
    const [out = '', err = ''] = [stdout, stderr].map((text) =>
      text
        .replaceAll(/(key|op)_\w{16}/g, '$1_ID')
        .replaceAll(/petcat_(live|op)_\w{4,6}…/g, 'petcat_$1_X…')
        .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
        .replaceAll(userInfo().username, 'USER')
        .replaceAll(/ {2,}/g, ' | ')
        .trimEnd(),
    );
    return [code, ...out.split('\n'), ...(err ? [`! ${err}`] : [])];
  };
  place.file('some.ndjson', '{"name":"Dog","description":"Loyal"}\n{"name":"Cat"}\n');
  await place.command('migrate');
  const none = 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one';
  const bound = 'The catalog holds 2 categories, which is its bound (CATEGORIES_MAX)';
  const prints = async (line: string, ...said: unknown[]) => assert.deepEqual(await told(line), said, line);
  await prints('migrate', 0, '', '! The tables are up to date');
  await prints('categories list', 0, '', '! No categories yet; `pet-catalog categories import FILE`');
  await prints('categories list --json', 0, '[]');
  await prints('operators list', 0, '', `! ${none}`);
  await prints('audit --since 2h', 0, '', '! No change matches');
  await prints('usage', 0, '', '! No requests yet');
  await prints('categories import some.ndjson', 0, '', '! Imported 2 categories');
  await prints(
    'categories list',
    0,
    'ID | NAME | DESCRIPTION | CREATED | BY',
    '2 | Cat | TIME | cli',
    '1 | Dog | Loyal | TIME | cli',
  );
  await prints('categories rename 2 Cats --json', 0, '{"id":2,"name":"Cats"}');
  await prints('categories delete 2', 0, '', '! Deleted the category 2');
  const dog = '{"id":1,"name":"Dog","description":"Loyal"}';
  await prints('categories export', 0, '[', ` | ${dog}`, ']');
  await prints('categories export --format ndjson', 0, dog);
  const full = `! pet-catalog: ${bound}; of the 2 categories the first 1 would fit`;
  await prints('categories import some.ndjson --again --categories-max 2', 1, '', full);
  await prints('backup one.db', 0, '', '! The backup one.db is complete and verified');
  await place.command('keys create --name shop --plan enterprise --per-minute 12345 --per-day 1000000000');
  await place.command('operators create --name billing --role keys --expires 90d');
  await prints(
    'keys list',
    0,
    'ID | NAME | KEY | PLAN | LIMITS | OWNER | DAY USED | LAST USED | STATE',
    'key_ID | shop | petcat_live_X… | enterprise | 12345/min 1000000000/day | 0 % | never | active',
  );
  await prints(
    'operators list',
    0,
    'ID | NAME | TOKEN | ROLE | ISSUED BY | CREATED | STATE',
    'op_ID | billing | petcat_op_X… | keys | USER | TIME | active until TIME',
  );
  const [token] = JSON.parse((await place.command('operators list --json')).stdout);
  await place.command(`operators revoke ${token.id}`);
  assert.match((await place.command('operators list')).stdout, / revoked \d{4}-/);
  const [, headings, ...rows] = await told('audit');
  assert.equal(headings, 'AT | ACTOR | VIA | ACTION | TARGET | CHANGE');
  assert.deepEqual(
    rows.filter((row) => `${row}`.includes('category')),
    [
      'TIME | USER | cli | category.delete | 2 | {"id":2,"name":"Cats","createdAt":"TIME","createdBy":"cli"} → null',
      'TIME | USER | cli | category.rename | 2 | {"name":"Cat"} → {"name":"Cats"}',
    ],
  );
  const { id } = JSON.parse((await place.command('keys list --json')).stdout)[0];
  const rotated = JSON.parse((await place.command(`keys rotate ${id} --json`)).stdout);
  assert.deepEqual([rotated.id, rotated.key.slice(0, 16)], [id, rotated.prefix]);
  const transfer = await place.command('transfer --from sqlite:one.db --to sqlite:two.db --json');
  const copied = JSON.parse(transfer.stdout).map(({ table, rows }: Record<string, string>) => `${table} ${rows}`);
  assert.ok(copied.includes('categories 1'), `${copied}`);
});

test('a key is created with what its flags say', async () => {
  using place = workplace();
  let id = '';
  const made = async (line: string) => {
    const key = JSON.parse((await place.command(`keys ${line} --json`)).stdout);
    id = key.id;
    const { scopes, owner, environment, createdAt, expiresAt } = key;
    const lifetime = expiresAt === null ? null : (Date.parse(expiresAt) - Date.parse(createdAt)) / 1_000;
    return { scopes, owner, environment, lifetime };
  };
  const flags = "--scopes 'pets:read, store:read' --environment staging --owner cus_1 --expires 2h";
  const given = { scopes: ['pets:read', 'store:read'], environment: 'staging', owner: 'cus_1', lifetime: 7_200 };
  assert.deepEqual(await made(`create --name shop ${flags}`), given);
  assert.equal((await made(`update ${id} --owner never`)).owner, 'never');
  const taken = await made(`update ${id} --owner '' --expires never`);
  assert.deepEqual(taken, { ...given, owner: null, lifetime: null }, 'and each can be taken away');
});

test('a key is rotated in its own environment', async () => {
  using place = workplace();
  const { id } = JSON.parse((await place.command('keys create --name shop --json')).stdout);
  const stderr = `pet-catalog: The key ${id} belongs to production; rotate it where ENVIRONMENT is production\n`;
  const elsewhere = await place.command(`keys rotate ${id}`, { ENVIRONMENT: 'staging' });
  assert.deepEqual(elsewhere, { code: 2, stdout: '', stderr });
  assert.equal(JSON.parse((await place.command('audit --json')).stdout).length, 1);
});

test('usage is complete to the last request of a stopped service, and is that of the time and key asked for', async () => {
  using place = workplace();
  const time = manualClock();
  const service = await testService({ DATABASE_URL: `sqlite:${place.database}` }, time);
  const { key, secret } = await service.issue({ name: 'shop' });
  for (let i = 0; i < 7; i += 1) await service.call(secret, '/categories');
  await service[Symbol.asyncDispose]();
  const command = (...args: string[]) => run(args, { cwd: place.path, invocation: { time } });
  const { stdout } = await command('usage', '--json');
  const now = utc(time.now().unix);
  const counts = { served: 7, clientErrors: 0, refused: 0, serverErrors: 0 };
  assert.deepEqual(JSON.parse(stdout), [{ id: key.id, name: 'shop', owner: null, ...counts, first: now, last: now }]);
  time.advance(6 * 86_400);
  assert.equal((await command('usage', '--since', '5d')).stderr, 'No request matches\n');
  const shown = (await command('usage', key.id, '--since', '7d')).stdout.trim().split('\n');
  assert.deepEqual(
    shown.map((line) => line.split(/ {2,}/).join()),
    ['ID,NAME,OWNER,SERVED,REFUSED,CLIENT ERRORS,SERVER ERRORS,FIRST,LAST', `${key.id},shop,7,0,0,0,${now},${now}`],
  );
  const audited = async () => JSON.parse((await command('audit', '--json')).stdout).length;
  assert.equal(await audited(), 1);
  time.advance(2 * 86_400);
  assert.equal(await audited(), 0, 'of a week');
});

test('usage of up to two days is that of minutes, which are complete after a kill; that of more is of whole hours', async () => {
  using place = workplace();
  const now = systemTime().now().unix;
  const [at, day] = [now - 3_600, now - (now % 86_400) - 3 * 86_400];
  {
    await using storage = await place.open();
    const { key, secret } = newApiKey({ name: 'shop', environment: 'production', plan: 'free' }, at);
    await storage.keys.insert(key, secretRecord(secret), OPERATOR);
    // Its hour was not written.
    await storage.usage.add(at - (at % 60), [usageAt(key.id, at, { served: 2 })]);
    await storage.usage.addHours(day, [{ ...usageAt(key.id, day, { served: 5 }), route: LIST }]);
  }
  const served = async (since: string) => {
    const { stdout } = await place.command(`usage --json --since ${since}`);
    return (JSON.parse(stdout) as { served: number }[]).map((each) => each.served);
  };
  assert.deepEqual([await served('48h'), await served('2d'), await served('49h')], [[2], [2], []]);
  const ago = now - day;
  assert.deepEqual([await served(`${ago + 60}s`), await served(`${ago - 7_200}s`)], [[5], []]);
});

test('keys list shows each key with its state: active, banned, expired or revoked', async () => {
  using place = workplace();
  const now = Math.floor(Date.now() / 1000);
  const expected: string[][] = [];
  {
    await using storage = await place.open();
    const issue = async (name: string, state: string, life: object = {}) => {
      const at = now - 1_000 + expected.length;
      const { key, secret } = newApiKey({ name, environment: 'production', plan: 'free', ...life }, at);
      await storage.keys.insert(key, secretRecord(secret), OPERATOR);
      expected.push([key.id, name, `${key.prefix}…`, 'free', '60/min 1000/day', '0 %', 'never', state]);
      return key.id;
    };
    await issue('lasting', `active until ${utc(now + 10_000)}`, { expiresAt: now + 10_000 });
    await issue('over', `expired ${utc(now - 1)}`, { expiresAt: now - 1 });
    const banned = await issue('loud', `banned until ${utc(now + 3_600)}`);
    const ban = { keyId: banned, startedAt: now, endsAt: now + 3_600, level: 1, reason: 'loud' };
    await storeBan(storage, ban);
    // Revoked says more than expired.
    const revoked = await issue('gone', `revoked ${utc(now - 5)}`, { expiresAt: now - 1 });
    await storage.keys.revoke(revoked, now - 5, OPERATOR);
    await storeBan(storage, { ...ban, keyId: revoked });
  }
  const { stdout } = await place.command('keys list');
  const rows = stdout.trim().split('\n').slice(1);
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/)),
    expected.toReversed(),
  );
});

test('keys lift-ban lifts the ban, and tells until when the windows refuse', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const { id } = (await service.issue()).key;
  const now = clock.now().unix;
  await storeBan(storage, { keyId: id, startedAt: now, endsAt: now + 300, level: 2, reason: 'r' });
  const day = Math.floor(now / 86_400);
  await storage.limits.saveCounts([
    { ...NO_COUNTS, keyId: id, minuteEnds: now + 59, minuteUsed: 60, day, dayUsed: 60 },
  ]);
  const lifted = await commandsOn(service)(`keys lift-ban ${id} --json`);
  assert.deepEqual([lifted.code, lifted.stdout], [0, '{}\n']);
  assert.equal(lifted.stderr, `Its counts were not reset: requests are refused until ${utc(now + 59)}\n`);
});

test('no command but those that begin a catalog begins one, and each names the file that is missing', async () => {
  using place = workplace();
  for (const line of [
    ...[
      'keys list',
      'keys show x',
      'keys set-plan x pro',
      'keys rotate x',
      'keys revoke x',
      'keys lift-ban x',
      'usage',
    ],
    ...['audit', 'operators list', 'operators create --name x --role viewer', 'operators revoke x'],
    ...['categories list', 'categories export', 'categories rename 1 x', 'categories delete 1', 'backup copy.db'],
  ]) {
    const { code, stdout, stderr } = await place.command(line);
    assert.deepEqual([code, stdout], [1, ''], line);
    const looked = join(realpathSync(place.path), 'data/pet-catalog.db');
    assert.match(stderr, /^pet-catalog: There is no database .*DATABASE_URL.*\n$/, line);
    assert.ok(stderr.includes(` ${looked};`), stderr);
  }
  assert.deepEqual(readdirSync(place.path), []);
});

test('categories are imported from stdin, and in a pipe no progress is shown', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path, input: 'name\nDog\nCat\n', encoding: 'utf8' } as const;
  const importing = [COMMAND, 'categories', 'import', '-', '--format', 'csv'];
  const { status, stderr } = spawnSync(process.execPath, importing, options);
  assert.deepEqual([status, stderr], [0, 'Imported 2 categories\n']);
});

test('a full stdout is reported in one line', async () => {
  using folder = temporaryFolder();
  const full = openSync('/dev/full', 'w');
  const stdio: StdioOptions = ['ignore', full, 'pipe'];
  const options = { cwd: folder.path, stdio, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, [COMMAND, 'keys', 'create', '--name', 'x'], options);
  closeSync(full);
  assert.equal(status, 1);
  assert.match(stderr, /^pet-catalog: Cannot write to stdout: .*no space left.*\n$/);
});

test('a backup overwrites no file unless forced, and its message names the given file', async () => {
  using place = workplace();
  await place.command('migrate');
  assert.equal((await place.command('backup one.db')).code, 0);
  const { code, stderr } = await place.command('backup one.db');
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: one\.db is there already; .*--force.*\n$/);
  assert.equal((await place.command('backup one.db --force')).code, 0);
});

test('the doctor explains what is wrong and what to do, and changes nothing', async () => {
  using place = workplace();
  const doctor = (env: Record<string, string>) => place.command('doctor', env);
  const together = { BACKUP_DIR: 'b', DATABASE_URL: 'postgres://h/d' };
  const settings = await doctor({ PORT: 'x', REDIS_URL: 'redis://h', ...together });
  assert.equal(settings.code, 1);
  assert.match(settings.stdout, /PROBLEM settings: PORT: .*\n +→ correct it[\s\S]*PROBLEM settings: INSTANCES: /);
  assert.match(settings.stdout, /PROBLEM settings: BACKUP_DIR: it must be empty with PostgreSQL/);
  assert.deepEqual([(await doctor({})).code, readdirSync(place.path)], [0, []]);
  place.file('no.db', 'x'.repeat(10_000));
  const damaged = await doctor({ DATABASE_URL: 'sqlite:no.db' });
  assert.equal(damaged.code, 1);
  assert.match(
    damaged.stdout,
    /PROBLEM database: The database no\.db is damaged: file is not a database; .*restore BACKUP`\n +→ see "It is damaged"/,
  );
  const [DATABASE_URL, REDIS_URL] = ['postgres://u:hidden@127.0.0.1:1/d', 'redis://:hidden@127.0.0.1:1'];
  const { code, stdout, stderr } = await doctor({ DATABASE_URL, REDIS_URL, INSTANCES: '2' });
  assert.equal(code, 1);
  const away = /PROBLEM database: postgres:\/\/u:\*\*\*@127\.0\.0\.1:1\/d cannot be used: .*[\s\S]*PROBLEM redis: /;
  assert.match(stdout, away);
  assert.ok(!`${stdout}${stderr}`.includes('hidden'));
});

test('the doctor and the service do not touch a database that needs a later version', async () => {
  using place = workplace();
  await place.command('keys create --name shop');
  using database = new DatabaseSync(place.database);
  database.exec("insert into kysely_migration (name, timestamp) values ('998-later', '2030-01-01')");
  const added = /ok +tables: .* up to date; a later version has added to them\n/;
  assert.match((await place.command('doctor')).stdout, added);
  database.exec("insert into kysely_migration (name, timestamp) values ('999-later@0.3.0', '2030-01-01')");
  assert.match((await place.command('doctor')).stdout, /PROBLEM tables: The tables need 0\.3\.0 or later\n +→ /);
  const { code, stderr } = await place.command('serve --port 0');
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: Cannot open the database .*need 0\.3\.0 or later; install that.*\n$/);
});
