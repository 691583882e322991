import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { type RunOptions, run, runProcess, serveProcess } from '../kit/process.ts';
import { releaseBefore } from '../kit/releases/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

/**
 * The release before takes every row that the present code made or changed. 0.2.0 puts a checksum into each row of
 * categories, pets, orders, keys and secrets, and leaves a row out that its checksum does not fit.
 */

const CHECKED = ['categories', 'pets', 'orders', 'api_keys', 'api_key_secrets'];

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  test(`the release before serves what the present code changed, on ${engine}`, {
    skip: engine === 'PostgreSQL' && noPostgres,
  }, async () => {
    using folder = temporaryFolder();
    await using server = engine === 'PostgreSQL' ? await temporaryDatabase() : undefined;
    const file = join(folder.path, 'x.db');
    const options = { cwd: folder.path, env: { DATABASE_URL: server?.url ?? `sqlite:${file}` } };
    const { version, command: program } = releaseBefore(folder.path);
    const before = { ...options, command: program };
    const hasChecksums = version === '0.2.0';
    const withChecksums = async (table: string) => {
      const counted = `select count(checksum) as sealed from ${table}`;
      if (server) return Number(((await query(server.url, counted))[0] as { sealed: string }).sealed);
      using database = new DatabaseSync(file, { readOnly: true });
      return Number(database.prepare(counted).get()?.sealed);
    };
    const command = async (line: string, on: RunOptions) => {
      const { code, stdout, stderr } = await (on === before ? runProcess : run)(line.split(' '), on);
      assert.equal(code, 0, `${line}: ${stderr}`);
      return stdout.trim();
    };

    const secrets = [];
    for (const name of ['stays', 'rotated', 'revoked', 'changed'])
      secrets.push(await command(`keys create --name ${name} --plan business --json`, before));
    const [stays, rotated, revoked, changed] = secrets.map((key) => JSON.parse(key) as { id: string; key: string });
    await calls(before, stays?.key, [
      ...['Dog', 'Cat'].map((name) => ['POST', '/categories', { name }] as const),
      ...['Rex', 'Tom', 'Kit'].map((name) => ['POST', '/pets', { name, categoryId: 1, status: 'available' }] as const),
      ...[1, 2].map((petId) => ['POST', '/store/orders', { petId, quantity: 1 }] as const),
    ]);
    if (hasChecksums) for (const table of CHECKED) assert.ok((await withChecksums(table)) >= 2, table);

    await command('migrate', options);
    await command('categories rename 1 Ox', options);
    const { key } = JSON.parse(await command(`keys rotate ${rotated?.id} --grace 24h --json`, options));
    await command(`keys revoke ${revoked?.id}`, options);
    await command(`keys set-plan ${changed?.id} pro`, options);
    const made = await command('keys create --name made --plan pro', options);
    writeFileSync(join(folder.path, 'some.json'), '[{"name":"Bird"}]');
    await command('categories import some.json', options);
    await calls(options, changed?.key, [
      ['POST', '/categories', { name: 'Fish' }],
      ['POST', '/pets', { name: 'Nemo', categoryId: 1, status: 'available' }],
      ['PATCH', '/pets/1', { name: 'Max', categoryId: 2 }],
      ['PATCH', '/inventory/2', { quantity: 7 }],
      ['POST', '/store/orders', { petId: 3, quantity: 1 }],
      ['DELETE', '/store/orders/2', undefined],
    ]);

    const doctor = await command('doctor', before);
    if (hasChecksums) assert.match(doctor, /rows: Every row is as it was written/);
    const read = [stays?.key, rotated?.key, key, changed?.key, made].flatMap((secret) =>
      ['/categories', '/pets', '/store/orders'].map((path) => ['GET', path, undefined, secret] as const),
    );
    const answers = await calls(before, undefined, read);
    for (let at = 0; at < answers.length; at += 3) {
      assert.deepEqual(namesIn(answers[at]), ['Ox', 'Cat', 'Bird', 'Fish']);
      assert.deepEqual(namesIn(answers[at + 1]), ['Max', 'Tom', 'Kit', 'Nemo']);
      assert.equal((answers[at + 2] as unknown[]).length, 2);
    }
  });
}

/** Makes calls on a service of its own, each with its own key or this one, and returns what it answers. */
async function calls(
  options: RunOptions,
  secret: string | undefined,
  made: readonly (readonly [method: string, path: string, body: object | undefined, own?: string | undefined])[],
): Promise<unknown[]> {
  await using service = await serveProcess([], options);
  const answers = [];
  for (const [method, path, body, own = secret] of made) {
    const response = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${own}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${text}`);
    answers.push(text === '' ? undefined : JSON.parse(text));
  }
  await service.end();
  return answers;
}

function namesIn(list: unknown): string[] {
  return (list as { name: string }[]).map(({ name }) => name);
}
