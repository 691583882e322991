import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/** Flips the lowest bit of one letter of a text, wherever the file has it. */
function flip(file: string, text: string): void {
  const bytes = readFileSync(file);
  let found = 0;
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) {
    bytes[at + 2] = (bytes[at + 2] ?? 0) ^ 1;
    found += 1;
  }
  assert.ok(found > 0, `${text} is not in the file`);
  writeFileSync(file, bytes);
}

/** A database with a category, a pet and an order of each number from 1 to 3, and two keys. */
async function filled(folder: string) {
  const options = { cwd: folder };
  const secret = await issueKey(folder);
  const other = (await run(['keys', 'create', '--name', 'damaged-key', '--plan', 'pro'], options)).stdout.trim();
  await using service = await serveProcess([], options);
  const agent = new Agent({ keepAlive: true });
  for (let i = 1; i <= 3; i += 1) {
    const create = async (path: string, body: unknown) => {
      const { status, body: text } = await send(agent, `${service.url}${path}`, secret, body);
      assert.equal(status, 201, text);
    };
    await create('/categories', { name: `category-${i}`, description: `described-${i}` });
    await create('/pets', { name: `pet-${i}`, categoryId: i, status: 'available' });
    await create('/store/orders', { petId: i, quantity: 1, shipDate: `21${i}0-01-02T03:04:05Z` });
  }
  agent.destroy();
  assert.equal(await service.end(), 0);
  return { options, secret, other, file: join(folder, 'data', 'pet-catalog.db') };
}

test('a row with a flipped bit is not listed, is a 500 by its id, authenticates nothing, and is reported', async () => {
  using folder = temporaryFolder();
  const { options, secret, other, file } = await filled(folder.path);
  for (const text of ['described-2', 'pet-2', '2120-01-02', 'damaged-key']) flip(file, text);

  await using service = await serveProcess([], options);
  const agent = new Agent({ keepAlive: true });
  const call = (path: string, key = secret) => send(agent, `${service.url}${path}`, key);
  const ids = async (path: string) => JSON.parse((await call(path)).body).map(({ id }: { id: number }) => id);
  for (const path of ['/categories', '/categories?limit=2', '/pets', '/pets?ids=1,2,3&limit=2', '/store/orders']) {
    assert.deepEqual(await ids(path), [1, 3], path);
  }
  for (const path of ['/pets?ids=2', '/pets?categoryId=2', '/pets?categoryId=2&status=sold', '/store/orders?petId=2']) {
    assert.deepEqual(await ids(path), [], path);
  }
  const inventory = JSON.parse((await call('/inventory')).body);
  assert.deepEqual(
    inventory.map(({ petId }: { petId: number }) => petId),
    [1, 3],
  );
  for (const path of ['/categories/2', '/pets/2', '/store/orders/2', '/inventory/2']) {
    const { status, body } = await call(path);
    assert.deepEqual([status, JSON.parse(body).code], [500, 'internal_error'], path);
  }
  assert.equal((await call('/categories', other)).status, 401);
  const created = await send(agent, `${service.url}/categories`, secret, { name: 'after' });
  assert.deepEqual([created.status, JSON.parse(created.body).id], [201, 4]);

  const lines = () => service.output.stderr.split('\n').filter((line) => line.includes('"row_damaged"'));
  await untilTrue(async () => lines().length >= 4);
  const told = lines()
    .map((line) => JSON.parse(line))
    .map(({ table, id }) => `${table} ${id}`);
  assert.match(told.sort().join(), /^api_keys key_\w+,categories 2,orders 2,pets 2$/);
  const [, operatorUrl] = /"operatorUrl":"([^"]+)"/.exec(service.output.stderr) ?? [];
  const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
  for (const table of ['api_keys', 'categories', 'orders', 'pets']) {
    assert.ok(metrics.includes(`pet_catalog_damaged_rows{table="${table}"} 1\n`), table);
  }
  agent.destroy();
});

test('the doctor names damaged rows, a backup of them overwrites none, and commands report what they skip', async () => {
  using folder = temporaryFolder();
  const { options, file } = await filled(folder.path);
  assert.match((await run(['doctor'], options)).stdout, /rows: Every row is as it was written/);
  assert.equal((await run(['backup', 'copy.db'], options)).code, 0);
  const good = readFileSync(join(folder.path, 'copy.db'));
  for (const text of ['category-3', 'petcat_live_']) flip(file, text);

  const doctor = await run(['doctor'], options);
  assert.equal(doctor.code, 1);
  assert.match(
    doctor.stdout,
    /PROBLEM rows: Damaged rows \(3\): categories 3, api_key_secrets key_\w+, api_key_secrets/,
  );
  const backup = await run(['backup', 'copy.db', '--force'], options);
  assert.equal(backup.code, 1);
  assert.match(backup.stderr, /The database .* has damaged rows \(3\): the copy is copy\.db\.damaged/);
  assert.deepEqual(readFileSync(join(folder.path, 'copy.db')), good);
  assert.ok(existsSync(join(folder.path, 'copy.db.damaged')));

  const exported = await run(['categories', 'export'], options);
  assert.deepEqual(
    JSON.parse(exported.stdout).map(({ id }: { id: number }) => id),
    [1, 2],
  );
  assert.match(exported.stderr, /3 of categories is damaged and left out/);
});

test('every written row has a valid checksum, also after changes', async () => {
  using folder = temporaryFolder();
  const { options, secret, file } = await filled(folder.path);
  {
    await using service = await serveProcess([], options);
    const change = (method: string, path: string, body?: unknown) =>
      fetch(`${service.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    assert.equal((await change('PATCH', '/inventory/1', { quantity: 7 })).status, 200);
    assert.equal((await change('PATCH', '/pets/2', { name: 'renamed', categoryId: 1, status: 'pending' })).status, 200);
    assert.equal((await change('DELETE', '/store/orders/3')).status, 204);
    await service.end();
  }
  const keys = JSON.parse((await run(['keys', 'list', '--json'], options)).stdout);
  const [first, second] = keys.map(({ id }: { id: string }) => id);
  for (const command of [
    ['categories', 'rename', '1', 'renamed'],
    ['keys', 'rotate', first],
    ['keys', 'set-plan', second, 'business'],
    ['keys', 'revoke', second],
  ]) {
    assert.equal((await run(command, options)).code, 0, command.join(' '));
  }
  assert.match((await run(['doctor'], options)).stdout, /rows: Every row is as it was written/);
  using database = new DatabaseSync(file);
  for (const table of ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets']) {
    const { rows, sealed } =
      database.prepare(`SELECT count(*) AS rows, count(checksum) AS sealed FROM ${table}`).get() ?? {};
    assert.ok(Number(rows) > 0 && rows === sealed, `${table}: ${sealed} of ${rows}`);
  }
});
