import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PetCatalog } from '../client/src/pet-catalog.ts';
import { runReferee } from '../referee/test/kit/fixtures.ts';
import { brokenIn, judged } from '../referee/test/kit/stage.ts';
import { testService } from './kit/service.ts';

/** The referee and the catalog: our own client before it, and a suite as docs/ and the referee's README say. */

const CATALOG = fileURLToPath(new URL('../bin/pet-catalog.js', import.meta.url));

test('our own client keeps every rule for every kind of request, under all plays', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } });
  let round = 0;
  const report = await judged(
    async (baseUrl) => {
      const catalog = new PetCatalog({ baseUrl, apiKey: secret, timeoutMs: 12_000 });
      round += 1;
      const { id: categoryId } = await catalog.categories.create({ name: `Category ${round}` });
      await catalog.categories.list();
      const { id: petId } = await catalog.pets.create({ name: 'Rex', categoryId });
      const { headers } = await catalog.pets.get(petId).withResponse();
      // A PATCH has no key: with If-Match a second try fails if the first was carried out; without, there is none.
      await catalog.pets.update(petId, { status: 'pending' }, { ifMatch: headers.get('etag') ?? undefined });
      await catalog.inventory.update(petId, { quantity: 5 });
    },
    { upstream: service.url, isWhole: true, jobs: 24 },
  );
  assert.deepEqual(brokenIn(report), []);
  assert.ok(report.calls.length >= 5, JSON.stringify(report.calls));
  const untested = report.rules.filter(({ verdict }) => verdict === 'not tested');
  assert.deepEqual(untested, []);
  const given = report.rules.filter(({ rule, verdict }) => rule === 'recovers' && verdict !== 'kept');
  assert.deepEqual(
    given.map(({ kind }) => kind),
    ['PATCH /v1/inventory/{}'],
  );
});

test('a suite is judged before an ephemeral catalog that is started for each play', async () => {
  // Well-formed, and not a secret.
  const key = 'petcat_live_EphemeralServiceOfATest000000011RJLY';
  const start = `'${process.execPath}' '${CATALOG}' serve --ephemeral --port 0 --bootstrap-key ${key}`;
  const program = `
    const url = process.env.PET_CATALOG_URL;
    const headers = { authorization: 'Bearer ' + process.env.PET_CATALOG_KEY, 'content-type': 'application/json' };
    for (let tries = 0; tries < 2; tries += 1) {
      const answer = await fetch(url + '/categories', { method: 'POST', headers, body: '{"name":"Dog"}' }).catch(() => undefined);
      if (answer?.status === 201) process.exit(0);
    }
    process.exit(1)`;
  const env = ['--env', 'PET_CATALOG_URL={url}', '--env', `PET_CATALOG_KEY=${key}`];
  const words = [
    'client',
    'lost@POST',
    '--start',
    start,
    ...env,
    '--',
    process.execPath,
    '--input-type=module',
    '-e',
    program,
  ];
  const { code, stdout, stderr } = await runReferee(words);
  assert.equal(code, 1, stdout + stderr);
  assert.match(stdout, /\n {2}BROKEN once for POST \/v1\/categories\n/);
});
