import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../kit/clock.ts';
import { noPostgres } from '../kit/postgres.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';
import { ENGINES, readRecorded, restored } from '../kit/releases/database.ts';
import { called, type Recorded, SETTINGS } from '../kit/releases/recorded.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { releaseBefore } from './programs.ts';

/** The release before takes every row that the present code made or changed in its database. */

for (const engine of ENGINES) {
  test(`the release before serves what the present code changed, on ${engine}`, {
    skip: engine === 'postgres' && noPostgres,
  }, async () => {
    using programs = temporaryFolder();
    const { version, command: program } = releaseBefore(programs.path);
    await using database = await restored({ version, engine });
    const { keys, answers, leftAt } = readRecorded<Recorded>({ version, engine });
    const { business: stays, enterprise: rotated, pro: revoked, free: changed } = keys;
    assert.ok(stays && rotated && revoked && changed);
    const options = { cwd: database.folder, env: { DATABASE_URL: database.url } };
    const command = async (line: string) => {
      const { code, stdout, stderr } = await run(line.split(' '), options);
      assert.equal(code, 0, `${line}: ${stderr}`);
      return stdout.trim();
    };
    await command('migrate');
    await command('categories rename 1 Ox');
    const { key } = JSON.parse(await command(`keys rotate ${rotated.id} --grace 24h --json`));
    await command(`keys revoke ${revoked.id}`);
    await command(`keys set-plan ${changed.id} pro`);
    const made = await command('keys create --name made --plan pro');
    writeFileSync(join(database.folder, 'some.json'), '[{"name":"Bird"}]');
    await command('categories import some.json');
    const pets = namesOf(answers['/pets?limit=100']);
    const orders = (answers['/store/orders?limit=100'] as unknown[]).length;
    {
      await using service = await testService({ DATABASE_URL: database.url, ...SETTINGS }, manualClock(leftAt));
      for (const [method, path, body, status] of [
        ['POST', '/categories', { name: 'Eel' }, 201],
        ['POST', '/pets', { name: 'Nemo', categoryId: 1, status: 'available' }, 201],
        ['PATCH', '/pets/1', { name: 'Max', categoryId: 2 }, 200],
        ['PATCH', '/inventory/2', { quantity: 7 }, 200],
        ['POST', '/store/orders', { petId: 1, quantity: 1 }, 201],
        ['DELETE', '/store/orders/1', undefined, 204],
      ] as const)
        await called(service, changed.secret, path, { method, status, ...(body && { body }) });
    }

    const before = { ...options, command: program };
    const doctor = await runProcess(['doctor'], before);
    assert.equal(doctor.code, 0, doctor.stdout);
    await using service = await serveProcess([], before);
    const list = async (secret: string, path: string) => {
      const response = await fetch(service.url + path, { headers: { authorization: `Bearer ${secret}` } });
      assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
      return response.json();
    };
    for (const secret of [stays.secret, rotated.secret, key, changed.secret, made]) {
      const [, ...categories] = namesOf(answers['/categories']);
      assert.deepEqual(namesOf(await list(secret, '/categories')), ['Ox', ...categories, 'Bird', 'Eel']);
      assert.deepEqual(namesOf(await list(secret, '/pets?limit=100')), ['Max', ...pets.slice(1), 'Nemo']);
      assert.equal(((await list(secret, '/store/orders?limit=100')) as unknown[]).length, orders);
    }
    const refused = await fetch(`${service.url}/categories`, {
      headers: { authorization: `Bearer ${revoked.secret}` },
    });
    assert.equal(refused.status, 401);
    assert.equal(await service.end(), 0);
  });
}

function namesOf(list: unknown): string[] {
  return (list as { name: string }[]).map(({ name }) => name);
}
