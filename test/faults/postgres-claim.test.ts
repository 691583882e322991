import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { claimForService } from '../../src/storage/open.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { noPostgresPrograms, query, startPostgres } from '../kit/postgres-server.ts';
import { serveProcess } from '../kit/process.ts';
import { openProxy } from '../kit/proxy.ts';

const LONE = { together: false };

test('of two services that each count alone, the first one stops if the second claimed the new primary while the old one hangs', {
  skip: noPostgresPrograms,
}, async () => {
  using folder = temporaryFolder();
  await using postgres = await startPostgres();
  const place = { host: '127.0.0.1', port: postgres.port };
  await using proxy = await openProxy(place);
  const at = (port: number) => ({ DATABASE_URL: postgres.url.replace(`:${postgres.port}/`, `:${port}/`) });
  const env = { ...at(proxy.port), OPERATOR_PORT: '0' };
  await using first = await serveProcess([], { cwd: folder.path, env });
  await using standby = await postgres.startStandby();
  postgres.freeze();
  await standby.promote();
  await using second = await serveHere({ DATABASE_URL: standby.url });
  place.port = standby.port;
  const code = await first.ended;
  assert.equal(code, 1);
  assert.match(
    first.output.stderr,
    /^pet-catalog: Stopped, because the claim of the database was lost with its server\. Another service runs on this database: stop it, or give both REDIS_URL and INSTANCES, so that they count together$/m,
  );
  assert.equal((await fetch(`${second.url}/categories`)).status, 401, 'the second one serves');
});

test('a claim whose connection broke is claimed again, though the server has not heard of the break', {
  skip: noPostgres,
}, async () => {
  await using database = await temporaryDatabase();
  const server = new URL(database.url);
  const clients = new Set<Socket>();
  // To the server every connection stays open.
  const half = createServer((client) => {
    const upstream = connect({ host: server.hostname, port: Number(server.port || 5432) });
    clients.add(client.on('error', () => {}));
    client.pipe(
      upstream.on('error', () => {}),
      { end: false },
    );
    upstream.pipe(client);
  }).listen(0, '127.0.0.1');
  await once(half, 'listening');
  const url = new URL(database.url);
  url.host = `127.0.0.1:${(half.address() as AddressInfo).port}`;
  // Of this database: others of the server have claims of their own.
  const holders = () =>
    query(
      database.url,
      `select pid from pg_locks where locktype = 'advisory' and objid = 7251003
        and database = (select oid from pg_database where datname = current_database())`,
    );
  {
    await using claim = await claimForService({ engine: 'postgres', url: url.href }, LONE);
    const [before] = await holders();
    for (const client of clients) client.destroy();
    await untilTrue(async () => (await holders()).some(({ pid }) => pid !== before?.pid));
    assert.equal(await Promise.race([claim.taken, 'held']), 'held');
  }
  half.close();
  await untilEqual(async () => (await holders()).length, 0);
});
