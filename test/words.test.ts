import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { VERSION } from '../src/version.ts';
import { run } from './kit/process.ts';
import { temporaryFolder } from './kit/service.ts';

/** The flags, exits and words of each command. */

test('a wrong command line exits with 2 and says what to write, any other failure with 1', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await run(['keys', 'create', '--name', 'first'], { cwd });
  writeFileSync(join(cwd, 'bad.ndjson'), '{"name":""}\n{"name":1}\n');
  writeFileSync(join(cwd, 'one.ndjson'), '{"name":""}\n');
  const enterprise = ['keys', 'create', '--name', 'x', '--plan', 'enterprise'];
  for (const [args, code, said] of [
    [[...enterprise, '--per-minute', '5'], 2, '--per-minute and --per-day go together'],
    [[...enterprise, '--per-day', '5'], 2, '--per-minute and --per-day go together'],
    [[...enterprise, '--per-minute', 'x', '--per-day', '5'], 2, '--per-minute is "x"; write a whole number'],
    [[...enterprise, '--per-minute', '5', '--per-day', 'x'], 2, '--per-day is "x"; write a whole number'],
    [[...enterprise, '--per-minute', '5', '--per-day', '-1'], 2, '--per-day is "-1"; write a whole number'],
    [['keys', 'create', '--name', ' '], 2, 'The name of a key is 1 to 100 visible characters'],
    [
      ['keys', 'create', '--name', 'x', '--expires', 'soon'],
      2,
      '--expires is "soon"; write a duration such as 90s, 10m, 24h or 30d',
    ],
    [['keys', 'show', 'key_none'], 1, 'There is no key key_none; the list of keys shows them all'],
    [['usage', '--since', 'x'], 2, '--since is "x"; send a date and time such as 2026-01-01T12:00:00Z'],
    [['usage', 'key_none'], 1, 'There is no key key_none'],
    [['categories', 'export', '--format', 'xml'], 2, 'There is no format xml; the formats are json, ndjson, csv'],
    [['categories', 'import', 'names'], 2, 'Cannot tell the format of names by its extension; add --format'],
    [['categories', 'delete', '0'], 1, 'There is no category 0; the list of categories shows them all'],
    [['categories', 'import', 'bad.ndjson'], 1, 'Nothing was imported: bad.ndjson has 2 invalid records'],
    [['categories', 'import', 'one.ndjson'], 1, 'Nothing was imported: one.ndjson has 1 invalid record'],
    [['transfer', '--to', 'sqlite:x.db'], 2, '--from: name the database with --from, or in FROM_URL or FROM_URL_FILE'],
    [['transfer', '--from', 'sqlite:x.db'], 2, '--to: name the database with --to, or in TO_URL or TO_URL_FILE'],
    [
      ['serve', '--bootstrap-key', 'x'],
      2,
      '--bootstrap-key needs --ephemeral; without it, see `pet-catalog keys create`',
    ],
    [
      ['serve', '--ephemeral', '--bootstrap-key', 'x'],
      2,
      '--bootstrap-key is no key of production; take one that `pet-catalog keys create` printed',
    ],
    [['console', 'login', '--url', 'ftp://x'], 2, '--url is "ftp://x"; write an address such as http://127.0.0.1:8081'],
  ] as const) {
    const ran = await run(args, { cwd });
    const last = ran.stderr.trim().split('\n').at(-1);
    assert.deepEqual([ran.code, ran.stdout, last], [code, '', `pet-catalog: ${said}`], args.join(' '));
  }
  const env = { DATABASE_URL: 'postgres://test@127.0.0.1:1/none' };
  for (const [command, tool] of [
    ['backup', 'pg_dump'],
    ['restore', 'pg_restore'],
  ] as const) {
    const { code, stderr } = await run([command, 'x.db'], { cwd, env });
    const said = `pet-catalog: This command needs an embedded database; for PostgreSQL use ${tool}\n`;
    assert.deepEqual([code, stderr], [2, said]);
  }
});

test('a group without a command shows its help, and a port that is taken is told in one line', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  const help = await run(['keys'], { cwd });
  assert.deepEqual([help.code, help.stdout], [2, '']);
  assert.match(help.stderr, /^Usage: pet-catalog keys [\s\S]* Show the help of a command\n$/);
  await run(['migrate'], { cwd });
  const none = await run(['keys', 'list'], { cwd });
  assert.equal(none.stderr, 'No keys yet; `pet-catalog keys create --name NAME` issues one\n');
  await using taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await run(['serve', '--port', `${port}`, '--operator-port', '0'], { cwd });
  const said = 'something else listens there; set PORT to another port, or to 0 for a free one';
  assert.deepEqual([code, stderr], [1, `pet-catalog: Cannot listen on 127.0.0.1:${port}: ${said}\n`]);
});

test('a key is created with what its flags say, and free with all scopes without them', async () => {
  using folder = temporaryFolder();
  const create = async (...args: string[]) => {
    const { stdout } = await run(['keys', 'create', '--json', '--name', 'shop', ...args], { cwd: folder.path });
    const { plan, limits, scopes, owner, environment, createdAt, expiresAt } = JSON.parse(stdout);
    const lifetime = expiresAt === null ? null : (Date.parse(expiresAt) - Date.parse(createdAt)) / 1_000;
    return { plan, limits, scopes, owner, environment, lifetime };
  };
  const free = {
    plan: 'free',
    limits: { minute: 60, day: 1_000 },
    scopes: ['categories:read', 'categories:write', 'pets:read', 'pets:write', 'store:read', 'store:write'],
    owner: null,
    environment: 'production',
    lifetime: null,
  };
  assert.deepEqual(await create(), free);
  assert.deepEqual(
    await create('--plan', 'enterprise', '--per-minute', '7', '--per-day', '70', '--owner', 'cus_1', '--expires', '2h'),
    { ...free, plan: 'enterprise', limits: { minute: 7, day: 70 }, owner: 'cus_1', lifetime: 7_200 },
  );
  assert.deepEqual(await create('--scopes', 'pets:read, store:read', '--environment', 'staging'), {
    ...free,
    scopes: ['pets:read', 'store:read'],
    environment: 'staging',
  });
});

test('the audit is that of the last seven days, however many changes it has', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await run(['keys', 'create', '--name', 'first'], { cwd });
  using database = new DatabaseSync(join(cwd, 'data/pet-catalog.db'));
  const columns = database.prepare(`SELECT name FROM pragma_table_info('audit_entries') WHERE name <> 'id'`).all();
  const names = columns.map(({ name }) => name as string);
  const values = (at: string) => names.map((name) => (name === 'at' ? at : name)).join(', ');
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
    INSERT INTO audit_entries (${names.join(', ')}) SELECT ${values('at - i * 400 + 200')} FROM audit_entries, n WHERE id = 1`);
  const count = async (...args: string[]) =>
    (JSON.parse((await run(['audit', '--json', ...args], { cwd })).stdout) as object[]).length;
  // One every 400 s, far from the bounds: 604,800 s have 1,512 of them; 86,400 s have 216, and the key itself.
  assert.equal(await count('--since', '24h'), 217);
  assert.equal(await count(), 1_501);
  database.exec('UPDATE audit_entries SET at = at - 604800 WHERE id > 1001');
  assert.equal(await count(), 1_001);
});

test('no command but those that begin a catalog begins one', async () => {
  using folder = temporaryFolder();
  for (const command of [
    'operators list',
    'operators create --name x --role viewer',
    'operators revoke tok_1',
    'console login',
    'keys list',
    'keys show key_1',
    'keys set-plan key_1 business',
    'keys rotate key_1',
    'keys revoke key_1',
    'keys unban key_1',
    'usage',
    'audit',
    'categories list',
    'categories export',
    'categories rename 1 x',
    'categories delete 1',
  ]) {
    const { code, stderr } = await run(command.split(' '), { cwd: folder.path });
    assert.equal(code, 1, command);
    assert.match(stderr, /^pet-catalog: There is no database \S+; run this in the folder of the service/, command);
  }
  assert.deepEqual(readdirSync(folder.path), []);
});

test('a link of the console leads to where operators reach the listener', async () => {
  using folder = temporaryFolder();
  await run(['keys', 'create', '--name', 'first'], { cwd: folder.path });
  for (const [flags, origin] of [
    [[], 'http://127.0.0.1:8081'],
    [['--operator-host', '0.0.0.0'], 'http://127.0.0.1:8081'],
    [['--operator-host', '::'], 'http://[::1]:8081'],
    [['--operator-host', '10.0.0.1', '--operator-port', '9000'], 'http://10.0.0.1:9000'],
    [['--url', 'https://ops.example.com/console?x'], 'https://ops.example.com'],
  ] as const) {
    const { code, stdout } = await run(['console', 'login', ...flags], { cwd: folder.path });
    assert.deepEqual([code, new URL(stdout.trim()).origin], [0, origin], flags.join(' '));
  }
});

test('tokens are listed with their state, and a login has the role of an administrator unless told otherwise', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  const json = async (...args: string[]) => JSON.parse((await run([...args, '--json'], { cwd })).stdout);
  await run(['migrate'], { cwd });
  const create = (name: string, ...args: string[]) =>
    json('operators', 'create', '--name', name, '--role', 'viewer', ...args);
  const { createdAt } = await create('lasting');
  const short = await create('short', '--expires', '1h');
  const { id } = await create('gone');
  const { revokedAt } = await json('operators', 'revoke', id);
  using database = new DatabaseSync(join(cwd, 'data/pet-catalog.db'));
  const states = async () => {
    const rows = (await run(['operators', 'list'], { cwd })).stdout.trim().split('\n').slice(1);
    return Object.fromEntries(rows.map((row) => [row.split(/ {2,}/)[1], row.split(/ {2,}/)[5]]));
  };
  assert.match(
    (await run(['operators', 'list'], { cwd })).stdout,
    new RegExp(` lasting .* viewer  ${createdAt}  active`),
  );
  assert.deepEqual(await states(), {
    lasting: 'active',
    short: `active until ${short.expiresAt}`,
    gone: `revoked ${revokedAt}`,
  });
  database.exec(
    `UPDATE operator_tokens SET expires_at = ${Date.parse(short.expiresAt) / 1_000 - 7_200} WHERE name = 'short'`,
  );
  const ended = new Date(Date.parse(short.expiresAt) - 7_200_000).toISOString().replace('.000', '');
  assert.equal((await states()).short, `expired ${ended}`);
  const roles = async (...args: string[]) => {
    await run(['console', 'login', ...args], { cwd });
    return database.prepare('SELECT role FROM console_logins ORDER BY rowid DESC LIMIT 1').get()?.role;
  };
  assert.deepEqual([await roles(), await roles('--role', 'keys')], ['admin', 'keys']);
});

test('what a reading command prints is on one line for each row, without control characters', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await run(['keys', 'create', '--name', 'a\u202Eb'], { cwd });
  const { stdout } = await run(['keys', 'list'], { cwd });
  assert.equal(stdout.trim().split('\n').length, 2);
  assert.match(stdout, / {2}a b {2}/);
  const about = JSON.parse((await run(['version', '--json'], { cwd })).stdout);
  assert.deepEqual(Object.keys(about), ['version', 'interface', 'node']);
  assert.equal((await run(['version'], { cwd })).stdout.trim(), about.version);
  mkdirSync(join(cwd, 'kept'));
  await run(['backup', 'kept/one.db'], { cwd });
  assert.equal(statSync(join(cwd, 'kept/one.db')).mode & 0o777, 0o600);
  const { stderr } = await run(['restore', 'kept/one.db'], { cwd });
  assert.match(stderr, /^Restored the database \S+; the old one is \S+\n$/);
});

test('what each command prints, for people and for programs', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  const told = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, { cwd });
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
  writeFileSync(join(cwd, 'some.ndjson'), '{"name":"Dog","description":"Loyal"}\n{"name":"Cat"}\n');
  await run(['migrate'], { cwd });
  const none = 'No tokens yet; `pet-catalog operators create --name NAME --role ROLE` issues one';
  for (const [command, ...said] of [
    ['migrate', 0, '', '! The tables are up to date'],
    ['categories list', 0, '', '! No categories yet; `pet-catalog categories import FILE`'],
    ['categories list --json', 0, '[]'],
    ['operators list', 0, '', `! ${none}`],
    ['audit --since 2h', 0, '', '! No changes'],
    ['usage', 0, '', '! No requests with a key in the last 24h'],
    ['categories import some.ndjson', 0, '', '! Imported 2 categories'],
    ['categories list', 0, 'ID | NAME | DESCRIPTION', '1 | Dog | Loyal', '2 | Cat'],
    ['categories rename 2 Cats --json', 0, '{"id":2,"name":"Cats"}'],
    ['categories delete 2', 0, '', '! Deleted the category 2'],
    [
      'categories import some.ndjson --categories-max 2',
      1,
      '',
      '! pet-catalog: The catalog holds 2 categories, which is its bound (CATEGORIES_MAX); of the 2 categories the first 1 would fit',
    ],
    ['backup one.db', 0, '', '! The backup one.db is complete and verified'],
    ['keys unban key_none', 1, '', '! pet-catalog: There is no key key_none; the list of keys shows them all'],
  ] as const)
    assert.deepEqual(await told(...command.split(' ')), said, command);
  const large = '1000000000';
  await run(['keys', 'create', '--name', 'shop', '--plan', 'enterprise', '--per-minute', '12345', '--per-day', large], {
    cwd,
  });
  await run(['operators', 'create', '--name', 'billing', '--role', 'keys', '--expires', '90d'], { cwd });
  assert.deepEqual(await told('keys', 'list'), [
    0,
    'ID | NAME | KEY | PLAN | LIMITS | OWNER | DAY USED | LAST USED | STATE',
    `key_ID | shop | petcat_live_X… | enterprise | 12345/min ${large}/day | 0 % | never | active`,
  ]);
  assert.deepEqual(await told('operators', 'list'), [
    0,
    'ID | NAME | TOKEN | ROLE | CREATED | STATE',
    'op_ID | billing | petcat_op_X… | keys | TIME | active until TIME',
  ]);
  const [, headings, ...rows] = await told('audit');
  assert.equal(headings, 'AT | ACTOR | VIA | ACTION | TARGET | CHANGE');
  assert.deepEqual(
    rows.filter((row) => `${row}`.includes('category')),
    [
      'TIME | USER | cli | category.delete | 2 | {"id":2,"name":"Cats"} → null',
      'TIME | USER | cli | category.rename | 2 | {"name":"Cat"} → {"name":"Cats"}',
    ],
  );
  const { id } = JSON.parse((await run(['keys', 'list', '--json'], { cwd })).stdout)[0];
  const rotated = JSON.parse((await run(['keys', 'rotate', id, '--json'], { cwd })).stdout);
  assert.deepEqual([rotated.id, rotated.key.slice(0, 16)], [id, rotated.prefix]);
  const { stdout, stderr } = await run(['transfer', '--from', 'sqlite:one.db', '--to', 'sqlite:two.db'], { cwd });
  assert.match(stdout, /^TABLE +ROWS +CHECKSUM\n[\s\S]*^categories +1 +[0-9a-f]{16}$/m);
  assert.equal(stderr, 'Copied everything to sqlite:two.db; sqlite:one.db is unchanged\n');
  const about = JSON.parse((await run(['version', '--json'], { cwd })).stdout);
  assert.deepEqual(about, { version: VERSION, interface: '1.0.0', node: process.versions.node });
  const titles = [];
  for (const flags of [[], ['--operator'], ['--yaml']])
    titles.push(/title"?: "?([^"\n]*)/.exec((await run(['openapi', ...flags], { cwd })).stdout)?.[1]);
  assert.deepEqual(titles, ['Pet Catalog Service', 'Pet Catalog Service: operator API', 'Pet Catalog Service']);
  const licenses = await run(['licenses'], { cwd });
  assert.equal(licenses.code, 1);
  assert.equal(new URL((await run(['console', 'login', '--url', 'http://ops'], { cwd })).stdout).origin, 'http://ops');
});

test('the help of a command has the default of each setting', async () => {
  using folder = temporaryFolder();
  const { code, stdout } = await run(['serve', '--help'], { cwd: folder.path });
  assert.equal(code, 0);
  assert.match(
    stdout.replaceAll(/\s+/g, ' '),
    / --port <value> port of the public listener; 0 picks a free one \(default: 8080\) /,
  );
});
