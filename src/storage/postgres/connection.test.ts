import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import sql from 'sql-template-tag';
import { noPostgres, reusedDatabase, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { openEngine } from '../open.ts';
import { connect, openPool } from './connection.ts';

/** What a server sends that does not let a connection in, and one that does: AuthenticationOk and ReadyForQuery. */
const GREETINGS = ['', '520000000800000000' + '5a0000000549'];

test('a server that does not let a connection in, or answers nothing more, is given up after two seconds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const open = [(url: string) => connect(url, 'test'), (url: string) => openPool(url, {}, ['a = 1']).connect()];
  for (const [greeting, connection] of GREETINGS.flatMap((each) => open.map((one) => [each, one] as const))) {
    const server = createServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const failing = assert.rejects(connection(`postgres://u@127.0.0.1:${port}/d`), /timeout/);
    const [socket] = await once(server, 'connection');
    socket.on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'data');
    socket.write(Buffer.from(greeting, 'hex'));
    if (greeting) await once(socket, 'data');
    t.mock.timers.tick(2_000);
    await failing;
  }
});

test('the server drops a dead client within half a minute, and gives up what takes long', {
  skip: noPostgres,
}, async () => {
  await using database = await reusedDatabase();
  const client = await connect(database.url, 'probe');
  const names = ['application_name', 'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count'];
  const settings = names.map((name) => `current_setting('${name}') as ${name}`);
  const { rows } = await client.query(`select ${settings}`);
  await client.end();
  assert.deepEqual(Object.values(rows[0]), ['pet-catalog probe', '10', '5', '3']);
  for (const [patient, deadlines] of [
    [false, ['5s', '900ms', '6s', 'pet-catalog']],
    [true, ['0', '0', '0', 'pet-catalog']],
  ] as const) {
    const { db } = await openEngine({ engine: 'postgres', url: database.url }, { patient });
    const [found] = await db.all<object>(sql`select current_setting('statement_timeout') as a,
      current_setting('lock_timeout') as b, current_setting('idle_in_transaction_session_timeout') as c,
      current_setting('application_name') as d`);
    await db.close();
    assert.deepEqual(Object.values(found ?? {}), deadlines);
  }
});

test('a database that holds no UTF-8 is refused', { skip: noPostgres }, async () => {
  await using database = await temporaryDatabase(`SQL_ASCII' locale 'C`);
  const opening = openEngine({ engine: 'postgres', url: database.url });
  await assert.rejects(opening, /: the encoding of the database is SQL_ASCII; create it with UTF8$/);
});

test('the codes of the server are classified', { skip: noPostgres }, async () => {
  await using database = await reusedDatabase();
  const { db, classify } = await openEngine({ engine: 'postgres', url: database.url });
  await db.close();
  for (const [failure, codes] of [
    ['busy', ['40001', '40P01', '55P03']],
    ['full', ['53100']],
    [
      'unavailable',
      ['25006', '25P03', '25P04', '08006', '28P01', '3D000', '53200', '53300', '57P01', '57014', '58030', '23505'],
    ],
    [undefined, ['42P01', '22021', 'XX000', '25001', '40002']],
  ] as const) {
    for (const code of codes) {
      const error = Object.assign(new pg.DatabaseError('No', 2, 'error'), { code });
      assert.equal(classify(error), failure, code);
    }
  }
});

test('a weaker mode of TLS that encrypts becomes the strictest', () => {
  const addressOf = (url: string) => openPool(url, {}).options.connectionString;
  const postgres = (mode: string) => `postgres://h/d?a=b&sslmode=${mode}&c=d`;
  for (const [mode, strict] of [
    ['disable', 'disable'],
    ['no-verify', 'no-verify'],
    ['prefer', 'verify-full'],
    ['require', 'verify-full'],
    ['verify-ca', 'verify-full'],
    ['verify-full', 'verify-full'],
  ] as const)
    assert.equal(addressOf(postgres(mode)), postgres(strict));
  assert.equal(addressOf('postgres://h/d?sslmode=require'), 'postgres://h/d?sslmode=verify-full');
});
