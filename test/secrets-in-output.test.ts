import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from './kit/folder.ts';
import { noPostgres, temporaryDatabase } from './kit/postgres.ts';
import { run, runProcess, serveProcess } from './kit/process.ts';

/** No command prints the password of a database, whether it works or fails. */

const PASSWORD = 'S3cret-pass';
const ENCODED = 'S3cret%2Dpass';

/** The address with a password. The server trusts its users, and asks for none. */
function withPassword(url: string): string {
  const address = new URL(url);
  address.password = ENCODED;
  return address.href;
}

test('commands that work on PostgreSQL, or fail there, print no password', { skip: noPostgres }, async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await using database = await temporaryDatabase();
  await using other = await temporaryDatabase();
  const [url, empty] = [withPassword(database.url), withPassword(other.url)];
  const gone = withPassword(database.url).replace(/:\d+\//, ':1/');
  const missing = withPassword(database.url).replace(/[^/]+$/, 'none_such_database');
  assert.ok(url.includes(ENCODED) && gone.includes(ENCODED));
  assert.equal((await run(['keys', 'create', '--name', 'a'], { cwd })).code, 0);
  const from = ['transfer', '--from', 'sqlite:data/pet-catalog.db', '--to'];
  for (const [args, databaseUrl, code] of [
    [[...from, url], '', 0],
    [[...from, url], '', 1],
    [[...from, gone], '', 1],
    [[...from, missing], '', 1],
    [['transfer', '--from', url, '--to', empty], '', 0],
    [['transfer', '--from', url, '--to', url], '', 1],
    [['transfer', '--from', url, '--to', `${url}?sslmode=wrong`], '', 1],
    [['keys', 'list'], url, 0],
    [['migrate'], url, 0],
    [['doctor'], url, 0],
    [['config'], url, 0],
    [['backup', 'x.db'], url, 2],
    [['keys', 'list'], gone, 1],
    [['serve'], missing, 1],
    [['serve'], `${gone}?password=${PASSWORD}`, 1],
    [['serve'], `${url}?password=${PASSWORD}&sslmode=wrong`, 1],
  ] as const) {
    const env = databaseUrl === '' ? {} : { DATABASE_URL: databaseUrl };
    const ran = args[0] === 'serve' ? runProcess(args, { cwd, env }) : run(args, { cwd, env });
    const { code: exit, stdout, stderr } = await ran;
    assert.equal(exit, code, `${args.join(' ')}: ${stdout}${stderr}`);
    assert.doesNotMatch(stdout + stderr, /S3cret/, args.join(' '));
  }
  await using service = await serveProcess(['--log-level', 'debug'], { cwd, env: { DATABASE_URL: url } });
  const second = await runProcess(['serve'], { cwd, env: { DATABASE_URL: url } });
  assert.match(second.stderr, /Another service runs on this database/);
  assert.equal(await service.end(), 0);
  const { stdout, stderr } = service.output;
  assert.doesNotMatch(stdout + stderr + second.stderr, /S3cret/);
});
