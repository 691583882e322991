import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ConfigMistakes, findConfig, readConfig } from '../src/config.ts';
import { temporaryFolder } from './kit/folder.ts';
import { run } from './kit/process.ts';

/** Passwords in the settings: where they come from, and that no message shows one, whatever is wrong. */

const SECRET = 'S3cret';

const MALFORMED = {
  DATABASE_URL: [
    `postgres://u:${SECRET}@127.0.0.1:port/d`,
    `postgres://u:a/${SECRET}@127.0.0.1/d`,
    `postgres://u:12/${SECRET}@127.0.0.1/d`,
    `postgres://u:12#${SECRET}@127.0.0.1/d`,
    `postgres://u:12?${SECRET}@127.0.0.1/d`,
    `postgres://u:p@12/${SECRET}@127.0.0.1/d`,
    `postgres://u:${SECRET}@[::x]/d`,
    `postgres:/u:${SECRET}@127.0.0.1/d`,
    `postgres//u:${SECRET}@127.0.0.1/d`,
    `postgress://u:${SECRET}@127.0.0.1/d`,
    `sqlite://u:${SECRET}@127.0.0.1/d`,
    `sqlite:./x.db?password=${SECRET}`,
    `u:${SECRET}@127.0.0.1/d`,
    `host=127.0.0.1 password=${SECRET}`,
    SECRET,
  ],
  REDIS_URL: [
    `redis://:${SECRET}@127.0.0.1:port`,
    `redis://:12/${SECRET}@127.0.0.1`,
    `redis://u:12#${SECRET}@127.0.0.1`,
    `redis://:${SECRET}%zz@127.0.0.1`,
    `redis://:${SECRET}@127.0.0.1/first`,
    `redis//:${SECRET}@127.0.0.1`,
    `:${SECRET}@127.0.0.1:6379`,
    SECRET,
  ],
};

test('an invalid address is reported by the name of its setting, and not shown', async () => {
  for (const [name, values] of Object.entries(MALFORMED)) {
    for (const value of values) {
      const env = { INSTANCES: '1', [name]: value };
      const isTold = ({ mistakes: [mistake = '', ...more] }: ConfigMistakes) => {
        assert.match(mistake, new RegExp(`^${name}: it must be .* \\(from the environment\\)$`));
        assert.ok(more.length === 0 && !mistake.includes(SECRET), mistake);
        return true;
      };
      assert.throws(() => readConfig({ flags: {}, env, file: {} }), isTold, value);
    }
  }
  using folder = temporaryFolder();
  const env = {
    INSTANCES: '1',
    DATABASE_URL: MALFORMED.DATABASE_URL[1] ?? '',
    REDIS_URL: MALFORMED.REDIS_URL[3] ?? '',
  };
  for (const command of ['serve', 'doctor', 'config']) {
    const { code, stdout, stderr } = await run([command], { cwd: folder.path, env, invocation: {} });
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /DATABASE_URL: .*\n[\s\S]*REDIS_URL: .*\n/);
    assert.ok(!`${stdout}${stderr}`.includes(SECRET), command);
  }
});

test('an address is shown without passwords, and without a user name that stands alone', () => {
  for (const [DATABASE_URL, expected] of Object.entries({
    'postgres://u:S3cret@db.example:5432/d': 'postgres://u:***@db.example:5432/d',
    'postgres://u:S3cret@x@db.example/d': 'postgres://u:***@db.example/d',
    'postgres://S3cret@db.example/d': 'postgres://***@db.example/d',
    'postgres://u@db.example/d?sslmode=verify-full&sslpassword=S3cret&passphrase=S3cret&sslkey=f':
      'postgres://***@db.example/d?sslmode=verify-full&sslpassword=***&passphrase=***&sslkey=f',
    'postgres://db.example/d?user=u&passwor%64=S3cret': 'postgres://db.example/d?user=u&passwor%64=***',
    'postgres://db.example/d?user=u&PASSWORD=S3cret': 'postgres://db.example/d?user=u&PASSWORD=***',
    'postgres://u:p@[fd00::1]/d?password=S3cret': 'postgres://u:***@[fd00::1]/d?password=***',
  })) {
    const env = { DATABASE_URL, REDIS_URL: 'redis://S3cret@redis.example:6379/1', INSTANCES: '1' };
    const found = new Map(
      findConfig({ flags: {}, env, file: {} }).map(({ name, value }): [string, string] => [name, value]),
    );
    assert.equal(found.get('DATABASE_URL'), expected);
    assert.equal(found.get('REDIS_URL'), 'redis://***@redis.example:6379/1');
  }
});

test('transfer takes its addresses from the environment and from files, so that no process list shows them', async () => {
  using folder = temporaryFolder();
  const made = { cwd: folder.path, env: { DATABASE_URL: 'sqlite:from.db' } };
  assert.equal((await run(['keys', 'create', '--name', 'shop'], made)).code, 0);
  writeFileSync(join(folder.path, 'to.txt'), 'sqlite:to.db\n');
  const env = { FROM_URL: 'sqlite:from.db', TO_URL_FILE: 'to.txt' };
  const { code, stdout, stderr } = await run(['transfer'], { cwd: folder.path, env });
  assert.match(stdout, /^TABLE +ROWS +CHECKSUM\n/);
  assert.match(stdout, /^api_keys +1 +[0-9a-f]{16}$/m);
  assert.deepEqual([code, stderr], [0, 'Copied everything to sqlite:to.db; sqlite:from.db is unchanged\n']);
  const moved = await run(['keys', 'list', '--json', '--database-url', 'sqlite:to.db'], { cwd: folder.path });
  assert.equal(JSON.parse(moved.stdout)[0].name, 'shop');

  const tell = async (more: Record<string, string>, ...args: string[]) => {
    const tried = await run(['transfer', ...args], { cwd: folder.path, env: more });
    assert.deepEqual([tried.code, tried.stdout], [2, '']);
    return tried.stderr;
  };
  const unnamed = 'pet-catalog: --from: name the database with --from, or in FROM_URL or FROM_URL_FILE\n';
  assert.equal(await tell({}), unnamed);
  const unread = await tell({ TO_URL_FILE: 'none.txt' }, '--from', 'sqlite:x');
  assert.match(unread, /^pet-catalog: TO_URL_FILE: cannot read none/);
  const malformed = await tell({ TO_URL: MALFORMED.DATABASE_URL[2] ?? '' }, '--from', 'sqlite:x');
  assert.match(malformed, /^pet-catalog: --to: it must be postgres:/);
  assert.ok(!malformed.includes(SECRET));
  assert.ok(!existsSync(join(folder.path, 'x')));
});
