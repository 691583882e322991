import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStorage } from '../../src/storage/open.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { create, names, readiness, UNLIMITED } from '../kit/faults/outage.ts';
import { OPERATOR } from '../kit/operator.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { openProxy } from '../kit/proxy.ts';
import { type TestService, testService } from '../kit/service.ts';

test('nothing of before is believed after a standby without the last changes was promoted, though their versions are equal', {
  skip: noPostgresPrograms,
}, async () => {
  await using primary = await startPostgres();
  const place = { host: '127.0.0.1', port: primary.port };
  await using proxy = await openProxy(place);
  const settings = { DATABASE_URL: primary.url.replace(`:${primary.port}/`, `:${proxy.port}/`) };
  await using one = await testService(settings);
  await using other = await testService(settings);
  const services = [one, other];
  const [reader, revoked, changed] = [
    await one.issue(UNLIMITED),
    await one.issue(UNLIMITED),
    await one.issue(UNLIMITED),
  ];
  assert.equal((await create(one, reader.secret, 'kept')).status, 201);
  await using standby = await primary.startStandby();
  await standby.hold();

  await one.storage.keys.update(changed.key.id, { name: 'a change that is lost' }, OPERATOR);
  assert.equal((await create(one, reader.secret, 'lost')).status, 201);
  for (const service of services) {
    await untilEqual(() => names(service, reader.secret), ['kept', 'lost']);
    assert.equal(await statusOf(service, revoked.secret), 200);
  }
  const before = await primary.query(VERSIONS);
  await primary.stop('SIGKILL');
  await standby.promote();
  // The new primary is changed before an instance has seen what it lacks.
  await using elsewhere = await openStorage(
    { engine: 'postgres', url: standby.url },
    { time: one.clock, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  await elsewhere.keys.revoke(revoked.key.id, one.clock.now().unix, OPERATOR);
  await elsewhere.categories.insert({ name: 'new' }, { keyId: reader.key.id });
  assert.deepEqual(await standby.query(VERSIONS), before, 'no version tells of it');

  place.port = standby.port;
  await untilTrue(async () => (await readiness(one)).ok && (await readiness(other)).ok);
  for (const service of services) {
    await untilEqual(() => statusOf(service, revoked.secret), 401);
    await untilEqual(() => names(service, reader.secret), ['kept', 'new']);
  }
});

const VERSIONS = `select kind, version from change_versions
  union all select 'ids', last_id from category_counter order by kind`;

async function statusOf(service: TestService, secret: string): Promise<number> {
  const response = await service.call(secret, '/categories');
  await response.arrayBuffer();
  return response.status;
}
