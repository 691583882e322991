import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { httpServer } from '../../test/kit/http-server.ts';
import { findOperator, noteOperator } from './operator-note.ts';

/** Something that listens at a port. */
const listening = () => httpServer(({ socket }) => socket.destroy());

test('the note of a service stands beside its database, for its user alone, until the service ends', async () => {
  using folder = temporaryFolder();
  await using operator = await listening();
  const file = join(folder.path, 'x.db');
  const noted = { database: { engine: 'sqlite', file }, operatorPort: 8081 } as const;
  assert.equal(await findOperator(noted), undefined);
  {
    using _note = noteOperator(noted.database, { url: `http://0.0.0.0:${operator.port}`, secret: 'hidden' });
    assert.equal(statSync(`${file}.operator`).mode & 0o777, 0o600);
    assert.deepEqual(await findOperator(noted), { url: operator.origin, secret: 'hidden' });
  }
  assert.deepEqual(readdirSync(folder.path), []);
  noteOperator(noted.database, { url: 'http://127.0.0.1:1', secret: 'of a killed service' });
  assert.equal(await findOperator(noted), undefined);
  using _inMemory = noteOperator({ engine: 'sqlite', file: ':memory:' }, { url: operator.origin, secret: 'hidden' });
  assert.deepEqual(
    readdirSync('.').filter((name) => name.endsWith('.operator')),
    [],
  );
});

test('a file or a link that others left in the place of the note does not get the secret', () => {
  using folder = temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  writeFileSync(at('readable'), '', { mode: 0o644 });
  symlinkSync(at('readable'), at('x.db.operator'));
  using _note = noteOperator({ engine: 'sqlite', file: at('x.db') }, { url: 'http://127.0.0.1:1', secret: 'hidden' });
  assert.deepEqual([readFileSync(at('readable'), 'utf8'), statSync(at('x.db.operator')).mode & 0o777], ['', 0o600]);
  const nowhere = { engine: 'sqlite', file: at('none/x.db') } as const;
  assert.throws(() => noteOperator(nowhere, { url: 'http://127.0.0.1:1', secret: 'hidden' }), { code: 'ENOENT' });
});

test('notes of instances on one server lie in the data or working folder, by port, and that of the set port is first', async () => {
  using folder = temporaryFolder();
  await using one = await listening();
  await using other = await listening();
  const before = process.cwd();
  process.chdir(folder.path);
  try {
    const at = (password: string, name = 'd') =>
      ({ engine: 'postgres', url: `postgres://u:${password}@h/${name}` }) as const;
    const find = (operatorPort: number, name?: string) => findOperator({ database: at('new', name), operatorPort });
    using _one = noteOperator(at('old'), { url: one.origin, secret: '1' });
    const [name = ''] = readdirSync('.');
    assert.deepEqual(
      [name.replace(/^postgres-[0-9a-f]{16}-/, ''), statSync(name).mode & 0o777],
      [`${one.port}.operator`, 0o600],
    );
    assert.deepEqual([(await find(8081))?.secret, await find(one.port, 'other')], ['1', undefined]);
    mkdirSync('data');
    using _two = noteOperator(at('old'), { url: one.origin, secret: '2' });
    using _three = noteOperator(at('old'), { url: other.origin, secret: '3' });
    using _killed = noteOperator(at('old'), { url: 'http://127.0.0.1:1', secret: '4' });
    assert.deepEqual([readdirSync('.').length, readdirSync('data').length], [2, 3]);
    assert.deepEqual([(await find(one.port))?.secret, (await find(other.port))?.secret], ['2', '3']);
    assert.match((await find(1))?.secret ?? '', /^[23]$/);
  } finally {
    process.chdir(before);
  }
});
