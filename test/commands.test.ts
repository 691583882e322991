import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { newApiKey, secretRecord } from '../src/catalog/api-key.ts';
import { systemTime, utc } from '../src/stdx/time.ts';
import { openStorage } from '../src/storage/open.ts';
import type { Finding } from '../src/telemetry/finding.ts';
import { storeBan } from './kit/bans.ts';
import { untilEqual, untilTrue } from './kit/clock.ts';
import { OPERATOR } from './kit/operator.ts';
import { COMMAND, type Finished, run, type ServiceProcess, serveProcess } from './kit/process.ts';
import { type TestService, temporaryFolder, testService } from './kit/service.ts';
import { addUsage } from './kit/usage.ts';

/** The operator's commands, beside a service that runs. */

/** A folder with a database, and commands on it. */
function workplace() {
  const folder = temporaryFolder();
  const database = join(folder.path, 'data/pet-catalog.db');
  const options = { time: systemTime(), categoriesMax: 10, categoriesBytesMax: 10_000 };
  return {
    path: folder.path,
    database,
    open: () => openStorage({ engine: 'sqlite', file: database }, options),
    file: (name: string, content: string | Uint8Array) => writeFileSync(join(folder.path, name), content),
    command: (...args: string[]): Promise<Finished> => run(args, { cwd: folder.path }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** With a service in a process of its own. */
async function bench() {
  const place = workplace();
  const service = await serveProcess(['--bootstrap'], { cwd: place.path });
  return withClient(place, service, /petcat_live_\w+/.exec(service.output.stdout)?.[0]);
}

/** With a service in this process, which takes a tenth of the time. */
async function benchHere() {
  const place = workplace();
  const service = await testService({ DATABASE_URL: `sqlite:${place.database}` });
  return withClient(place, service, (await service.issue()).secret);
}

function withClient<S extends ServiceProcess | TestService>(
  place: ReturnType<typeof workplace>,
  service: S,
  secret = '',
) {
  const headers = { authorization: `Bearer ${secret}`, connection: 'close', 'content-type': 'application/json' };
  const call = (path: string, init: RequestInit = {}) => fetch(service.url + path, { ...init, headers });
  return {
    ...place,
    service,
    call,
    list: async () => (await (await call('/categories')).json()) as unknown[],
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

test('categories are imported, renamed, deleted and exported beside a running service, which follows', async () => {
  await using place = await bench();
  place.file('some.csv', 'name,description\nDog,"Loyal,\nsocial"\nCat,\nRabbit,""\n');
  const imported = await place.command('categories', 'import', 'some.csv');
  assert.deepEqual([imported.code, imported.stdout, imported.stderr], [0, '', 'Imported 3 categories\n']);
  await untilEqual(async () => (await place.list()).length, 3);
  assert.equal((await place.command('categories', 'rename', '2', 'Kitten ')).code, 0);
  assert.equal((await place.command('categories', 'delete', '1')).code, 0);
  const expected = [
    { id: 2, name: 'Kitten ' },
    { id: 3, name: 'Rabbit', description: '' },
  ];
  await untilTrue(async () => JSON.stringify(await place.list()) === JSON.stringify(expected));
  assert.deepEqual(JSON.parse((await place.command('categories', 'export')).stdout), expected);
  const lines = (await place.command('categories', 'export', '--format', 'ndjson')).stdout.trim().split('\n');
  assert.deepEqual(JSON.parse(`[${lines.join()}]`), expected);
  assert.match((await place.command('categories', 'list')).stdout, /^ID {2}NAME .*\n2 {3}Kitten\n/);
});

test('an import with bad records names each with its line and changes nothing', async () => {
  await using place = await benchHere();
  place.file('bad.ndjson', '{"name":"a"}\n{"name":""}\nno\n{"name":"b"}\n');
  const { code, stdout, stderr } = await place.command('categories', 'import', 'bad.ndjson');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^bad\.ndjson:2: name is empty; .*\nbad\.ndjson:3: The line is not valid JSON\n.*Nothing was imported/,
  );
  assert.deepEqual(await place.list(), []);
  place.file('latin1.csv', Buffer.from('name\ncaf\xe9\n', 'latin1'));
  assert.match((await place.command('categories', 'import', 'latin1.csv')).stderr, /Cannot read latin1\.csv: .*UTF-8/);
  assert.equal((await place.command('categories', 'import', 'no-such.csv')).code, 1);
  assert.equal((await place.command('categories', 'import', 'bad.ndjson', '--format', 'xml')).code, 2);
});

test('usage is complete to the last request of a stopped service', async () => {
  await using place = await bench();
  for (let i = 0; i < 7; i += 1) await place.list();
  const [key] = JSON.parse((await place.command('keys', 'list', '--json')).stdout) as {
    id: string;
    plan: string;
  }[];
  assert.equal(key?.plan, 'business');
  await place.service.end('SIGTERM');
  const [used] = JSON.parse((await place.command('usage', '--json')).stdout);
  const { first, last, ...counts } = used;
  assert.deepEqual(counts, {
    id: key?.id,
    name: 'bootstrap',
    owner: null,
    served: 7,
    clientErrors: 0,
    refused: 0,
    serverErrors: 0,
  });
  assert.ok(first <= last && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(first));
  assert.match((await place.command('usage', key?.id ?? '')).stdout, /bootstrap +7 +0 +0 +0/);
  await using again = await serveProcess(['--bootstrap'], { cwd: place.path });
  assert.match(again.output.stdout, /^There is an API key already\. To issue another:\n/);
  assert.equal((await place.command('keys', 'list')).stdout.trim().split('\n').length, 2);
  assert.equal((await place.command('usage', 'key_unknown')).code, 1);
  assert.equal((await place.command('usage', '--since', 'long')).code, 2);
});

test('usage and audit show what happened since the time asked for, usage also of one key', async () => {
  using place = workplace();
  const now = systemTime().now().unix;
  const ids: string[] = [];
  {
    await using storage = await place.open();
    for (const [name, hoursAgo] of [
      ['old', 30],
      ['busy', 3],
    ] as const) {
      const at = now - hoursAgo * 3_600;
      const { key, secret } = newApiKey({ name, environment: 'production', plan: 'free' }, at);
      await storage.keys.insert(key, secretRecord(secret), OPERATOR);
      const counts = { served: name === 'busy' ? 2 : 1, clientErrors: 2, refused: 3, serverErrors: 4 };
      await addUsage(storage, at, [{ keyId: key.id, ...counts, first: at, last: at + 1 }]);
      ids.push(key.id);
    }
  }
  const [old = '', busy = ''] = ids;
  const usage = (...args: string[]) => place.command('usage', ...args);
  const found = async (...args: string[]) =>
    (JSON.parse((await usage('--json', ...args)).stdout) as { id: string }[]).map(({ id }) => id);
  assert.deepEqual(await found(), [busy]);
  assert.deepEqual(await found('--since', '1h'), []);
  assert.deepEqual(await found('--since', '3d'), [busy, old], 'most served first');
  assert.deepEqual(await found('--since', '3d', old), [old]);
  assert.equal((await usage('--since', '2h')).stderr, 'No requests with a key in the last 2h\n');
  const shown = await usage(busy);
  assert.equal(
    shown.stderr,
    'Usage is stored every five seconds, and for ranges above 2 days every minute; a kill may lose the latest\n',
  );
  const [headings = '', row = ''] = shown.stdout.trim().split('\n');
  const names = ['ID', 'NAME', 'SERVED', 'REFUSED', 'CLIENT ERRORS', 'SERVER ERRORS', 'FIRST', 'LAST'];
  assert.deepEqual(headings.split(/ {2,}/), names);
  const at = now - 3 * 3_600;
  assert.deepEqual(row.split(/ {2,}/), [busy, 'busy', '2', '3', '2', '4', utc(at), utc(at + 1)]);
  const audited = async (...args: string[]) =>
    (JSON.parse((await place.command('audit', '--json', ...args)).stdout) as { target: string }[]).map(
      ({ target }) => target,
    );
  assert.deepEqual(await audited('--since', '24h'), [busy]);
  assert.deepEqual(await audited(), [busy, old], 'of a week');
  const database = new DatabaseSync(place.database);
  database.exec(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1001) insert into audit_entries (id, at, actor, via, action, target, before, after) select 1000 + i, ${now}, 'a', 'cli', 'key.revoke', 'key_' || i, 'null', 'null' from n`,
  );
  database.close();
  const targets = await audited('--since', '24h');
  assert.deepEqual([targets.length, targets[0], targets[1_000], targets[1_001]], [1_002, 'key_1001', 'key_1', busy]);
});

test('a killed service loses at most the last seconds of usage', async () => {
  await using place = await bench();
  await place.list();
  const served = async () => JSON.parse((await place.command('usage', '--json')).stdout)[0]?.served;
  await untilEqual(() => served(), 1);
  await place.service.end('SIGKILL');
  assert.equal(await served(), 1);
});

test('a rotation in another environment or of a revoked key is refused, and changes nothing', async () => {
  using place = workplace();
  const made = JSON.parse((await place.command('keys', 'create', '--name', 'shop', '--json')).stdout);
  const elsewhere = await run(['keys', 'rotate', made.id], { cwd: place.path, env: { ENVIRONMENT: 'staging' } });
  assert.deepEqual([elsewhere.code, elsewhere.stdout], [2, '']);
  assert.match(
    elsewhere.stderr,
    /^pet-catalog: The key \S+ belongs to production; rotate it where ENVIRONMENT is production\n$/,
  );
  const revoked = JSON.parse((await place.command('keys', 'revoke', made.id)).stdout);
  const late = await place.command('keys', 'rotate', made.id);
  assert.deepEqual([late.code, late.stdout], [1, '']);
  assert.equal(late.stderr, `pet-catalog: The key ${made.id} is revoked; issue a new one\n`);
  assert.deepEqual(JSON.parse((await place.command('keys', 'show', made.id)).stdout), revoked);
  const { stdout } = await place.command('audit', '--json');
  assert.deepEqual(
    JSON.parse(stdout).map(({ action }: { action: string }) => action),
    ['key.revoke', 'key.create'],
  );
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
    await issue('lasting', 'active', { expiresAt: now + 10_000 });
    await issue('over', `expired ${utc(now - 1)}`, { expiresAt: now - 1 });
    const banned = await issue('loud', `banned until ${utc(now + 3_600)}`);
    const ban = { keyId: banned, startedAt: now, endsAt: now + 3_600, level: 1, reason: 'loud' };
    await storeBan(storage, ban);
    // Revoked says more than expired.
    const revoked = await issue('gone', `revoked ${utc(now - 5)}`, { expiresAt: now - 1 });
    await storage.keys.revoke(revoked, now - 5, OPERATOR);
    await storeBan(storage, { ...ban, keyId: revoked });
  }
  const { stdout } = await place.command('keys', 'list');
  const rows = stdout.trim().split('\n').slice(1);
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/)),
    expected.toReversed(),
  );
  const found = async (...args: string[]) =>
    JSON.parse((await place.command('keys', 'list', '--json', ...args)).stdout).map(
      ({ name }: { name: string }) => name,
    );
  assert.deepEqual(await found('--state', 'banned'), ['loud']);
  assert.deepEqual(await found('--q', 'LO', '--limit', '1'), ['loud']);
  assert.deepEqual(await found('--sort', 'oldest', '--expires-before', '30d'), ['lasting', 'over', 'gone']);
  assert.deepEqual(await found('--unused', '30d', '--plan', 'free', '--near', '80'), []);
  const wrong = await place.command('keys', 'list', '--state', 'gone');
  assert.deepEqual(
    [wrong.code, wrong.stderr],
    [2, 'pet-catalog: --state is "gone"; send one of active, expired, revoked, paused, banned\n'],
  );
});

test('keys unban lifts the ban, and tells until when the windows refuse', async () => {
  using place = workplace();
  const now = Math.floor(Date.now() / 1000);
  const day = Math.floor(now / 86_400);
  const unban = async (counts: { minuteEnds: number; minuteUsed: number; day: number; dayUsed: number }) => {
    const { key, secret } = newApiKey({ name: 'loud', environment: 'production', plan: 'free' }, now);
    {
      await using storage = await place.open();
      await storage.keys.insert(key, secretRecord(secret), OPERATOR);
      await storeBan(storage, { keyId: key.id, startedAt: now, endsAt: now + 300, level: 2, reason: 'r' });
      await storage.limits.saveCounts([{ keyId: key.id, ...counts }]);
    }
    const lifted = await place.command('keys', 'unban', key.id, '--json');
    assert.equal(JSON.parse(lifted.stdout).ban, null);
    return { told: lifted.stderr, again: (await place.command('keys', 'unban', key.id)).stderr };
  };
  const until = (unix: number) => `Its counts were not reset: requests are refused until ${utc(unix)}\n`;
  const ofDay = await unban({ minuteEnds: now - 5, minuteUsed: 60, day, dayUsed: 1_000 });
  assert.equal(ofDay.told, until((day + 1) * 86_400));
  assert.match(ofDay.again, /is not banned/);
  const ofMinute = await unban({ minuteEnds: now + 59, minuteUsed: 60, day, dayUsed: 60 });
  assert.equal(ofMinute.told, until(now + 59));
  assert.equal((await unban({ minuteEnds: now + 59, minuteUsed: 59, day, dayUsed: 999 })).told, '');
});

test('reading commands create no database, and name the file that is missing', async () => {
  using folder = temporaryFolder();
  const commands = ['keys list', 'keys show x', 'usage', 'audit', 'categories list', 'categories export'];
  for (const command of [...commands, 'console login', 'backup copy.db', 'keys revoke x', 'categories delete 1']) {
    const { code, stdout, stderr } = await run(command.split(' '), { cwd: folder.path });
    assert.deepEqual([code, stdout], [1, ''], command);
    const looked = join(realpathSync(folder.path), 'data/pet-catalog.db');
    assert.match(stderr, /^pet-catalog: There is no database .*DATABASE_URL.*\n$/, command);
    assert.ok(stderr.includes(` ${looked};`), stderr);
  }
  assert.deepEqual(readdirSync(folder.path), []);
});

test('categories are imported from stdin, and bad records there are named', async () => {
  using folder = temporaryFolder();
  const load = (input: string, ...args: string[]) => {
    const options = { cwd: folder.path, input, encoding: 'utf8' } as const;
    return spawnSync(process.execPath, [COMMAND, 'categories', 'import', '-', ...args], options);
  };
  const { status, stderr } = load('name\nDog\nCat\n', '--format', 'csv');
  assert.deepEqual([status, stderr], [0, 'Imported 2 categories\n']);
  assert.equal(load('[{"name":"Fish"}]', '--format', 'json').stderr, 'Imported 1 category\n');
  assert.match(load('{"name":""}\n', '--format', 'ndjson').stderr, /^stdin:1: name is empty/);
  const unnamed = load('[]');
  assert.equal(unnamed.status, 2);
  assert.match(unnamed.stderr, /stdin .*--format/);
});

test('a full stdout is reported in one line', async () => {
  using folder = temporaryFolder();
  const full = openSync('/dev/full', 'w');
  try {
    for (const command of [['openapi'], ['keys', 'create', '--name', 'x']]) {
      const { status, stderr } = spawnSync(process.execPath, [COMMAND, ...command], {
        cwd: folder.path,
        stdio: ['ignore', full, 'pipe'],
        encoding: 'utf8',
      });
      assert.equal(status, 1);
      assert.match(stderr, /^pet-catalog: Cannot write to stdout: .*no space left.*\n$/);
    }
  } finally {
    closeSync(full);
  }
});

test('a backup overwrites no file unless forced, and messages name the given files', async () => {
  await using place = await benchHere();
  assert.equal((await place.command('backup', 'one.db')).code, 0);
  const again = await place.command('backup', 'one.db');
  assert.equal(again.code, 1);
  assert.match(again.stderr, /^pet-catalog: one\.db is there already; .*--force.*\n$/);
  assert.equal((await place.command('backup', 'one.db', '--force')).code, 0);
  const nowhere = await place.command('backup', '/nonexist/x');
  assert.equal(nowhere.code, 1);
  assert.match(nowhere.stderr, /^pet-catalog: There is no folder \/nonexist for the backup; .*\n$/);
  const folder = await place.command('backup', 'data', '--force');
  assert.match(folder.stderr, /^pet-catalog: Cannot back \.\/data\/pet-catalog\.db up to data: .*\n$/);
  assert.doesNotMatch(folder.stderr, /unfinished/);
  place.file('bad.db', 'x'.repeat(10_000));
  const { code, stderr } = await place.command('restore', 'bad.db');
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: The backup bad\.db is damaged: .*\n$/);
  assert.ok(!readdirSync(place.path).some((name) => name.includes('unfinished')));
});

test('--version prints what `version` prints', async () => {
  using place = workplace();
  const [flag, command] = [await place.command('--version'), await place.command('version')];
  assert.deepEqual([flag.code, flag.stdout], [0, command.stdout]);
});

test('the doctor finds nothing wrong with a database in use, and says so', async () => {
  await using place = await benchHere();
  const { code, stdout } = await place.command('doctor', '--json');
  assert.equal(code, 0, stdout);
  const findings = JSON.parse(stdout) as { check: string; status: string }[];
  for (const check of ['versions', 'settings', 'database', 'tables', 'permissions', 'disk']) {
    assert.equal(findings.find((finding) => finding.check === check)?.status, 'ok', check);
  }
});

test('the doctor explains what is wrong and what to do, and changes nothing', async () => {
  using folder = temporaryFolder();
  const command = (env: Record<string, string>) => run(['doctor'], { cwd: folder.path, env });
  const settings = await command({ PORT: 'x', REDIS_URL: 'redis://h' });
  assert.equal(settings.code, 1);
  assert.match(settings.stdout, /PROBLEM settings: PORT: .*\n +→ correct it[\s\S]*PROBLEM settings: INSTANCES: /);
  const nothing = await command({});
  assert.deepEqual([nothing.code, readdirSync(folder.path)], [0, []]);
  writeFileSync(join(folder.path, 'no.db'), 'x'.repeat(10_000));
  const damaged = await command({ DATABASE_URL: 'sqlite:no.db' });
  assert.equal(damaged.code, 1);
  assert.match(damaged.stdout, /PROBLEM database: no\.db is damaged: file is not a database\n +→ .*restore/);
  const gone = {
    DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/d',
    REDIS_URL: 'redis://:hidden@127.0.0.1:1',
    INSTANCES: '2',
  };
  const unreachable = await command(gone);
  assert.equal(unreachable.code, 1);
  assert.match(
    unreachable.stdout,
    /PROBLEM database: postgres:\/\/u:\*\*\*@127\.0\.0\.1:1\/d cannot be used: .*[\s\S]*PROBLEM redis: /,
  );
  assert.ok(!`${unreachable.stdout}${unreachable.stderr}`.includes('hidden'));
});

test('settings without an effect are named, and stop nothing', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, '.env'), 'INSTNCE=2\nLOG_LEVEL=error\nCITY=Oslo\nprot=0\nREDIS_URL_FIEL=x\n');
  const told = await run(['doctor', '--json'], { cwd: folder.path, env: { THREADS: '4' } });
  const warnings = (JSON.parse(told.stdout) as Finding[]).filter(({ status }) => status === 'warning');
  assert.deepEqual(
    [told.code, warnings.map((each) => [each.finding, 'advice' in each && each.advice])],
    [
      0,
      [
        ['THREADS has no effect since 0.2.0; start more instances (from the environment)', 'remove it'],
        ['INSTNCE is no setting; is INSTANCES meant? (from .env)', 'rename it to INSTANCES, or remove it'],
        [
          'REDIS_URL_FIEL is no setting; is REDIS_URL_FILE meant? (from .env)',
          'rename it to REDIS_URL_FILE, or remove it',
        ],
        ['prot is no setting; is PORT meant? (from .env)', 'rename it to PORT, or remove it'],
      ],
    ],
  );
  await using service = await serveProcess(['--threads', 'auto'], { cwd: folder.path });
  assert.equal((await fetch(new URL('/livez', service.url))).status, 200);
  assert.match(
    service.output.stderr,
    /^pet-catalog: THREADS has no effect since 0\.2\.0; start more instances \(from --threads\)\npet-catalog: INSTNCE is no .*\npet-catalog: REDIS_URL_FIEL .*\npet-catalog: prot .*\nlistening on /,
  );
});

test('the doctor and the service do not touch a database that needs a later version', async () => {
  using place = workplace();
  await place.command('keys', 'create', '--name', 'shop');
  using database = new DatabaseSync(place.database);
  database.exec("insert into kysely_migration (name, timestamp) values ('998-later', '2030-01-01')");
  assert.match(
    (await place.command('doctor')).stdout,
    /ok +tables: .* up to date; a later version has added to them\n/,
  );
  database.exec("insert into kysely_migration (name, timestamp) values ('999-later@0.3.0', '2030-01-01')");
  assert.match((await place.command('doctor')).stdout, /PROBLEM tables: The tables need 0\.3\.0 or later\n +→ /);
  const { code, stderr } = await place.command('serve', '--port', '0');
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: Cannot open the database .*need 0\.3\.0 or later; install that.*\n$/);
});

test('wrong usage is told in the words of the other messages', async () => {
  using place = workplace();
  for (const [args, told] of [
    [['keys', 'creat'], 'There is no command creat; did you mean create?'],
    [['bogus'], 'There is no command bogus; see --help'],
    [['keys', 'list', '--jsn'], 'There is no option --jsn; did you mean --json?'],
    [['keys', 'create'], '--name <name> is missing; see --help'],
    [['keys', 'create', '--name'], '--name <name> has no value; see --help'],
    [['keys', 'set-plan', 'key_1'], '<plan> is missing; see --help'],
    [['keys', 'list', 'more'], 'list takes fewer words; see --help'],
  ] as const) {
    const { code, stderr, stdout } = await place.command(...args);
    assert.deepEqual([code, stderr, stdout], [2, `pet-catalog: ${told}\n`, ''], args.join(' '));
  }
  const group = await place.command('keys');
  assert.deepEqual([group.code, group.stdout], [2, '']);
  assert.match(group.stderr, /^Usage: pet-catalog keys [\s\S]*[^\n]\n$/);
  const help = await place.command('keys', '--help');
  assert.equal(help.code, 0);
  assert.match(help.stdout, /-h, --help +Show this help\n[\s\S]* help \[command\] +Show the help of a command/);
});
