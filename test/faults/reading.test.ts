import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run, serveProcess } from '../kit/process.ts';
import { contentsOf } from '../kit/storage/files.ts';

/** Commands that only read change nothing. */

/** Each with what it prints of a database with the category Dog and one key. */
const READING: readonly (readonly [command: string, printed: RegExp])[] = [
  ['keys list', /load/],
  ['usage --json', /^\[/],
  ['audit', /key\.create/],
  ['categories list', /Dog/],
  ['categories export', /Dog/],
  ['operators list --json', /^\[\]/],
  ['doctor', /is sound/],
];

test('commands that only read change no byte of file and log, at rest, beside a service and after a kill', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  const data = join(cwd, 'data');
  mkdirSync(join(cwd, 'backups'));
  const secret = await issueKey(cwd);
  const reads = async (when: string, env: Record<string, string> = {}, look: (of: string) => unknown = bytesOf) => {
    const before = look(data);
    const backups = contentsOf(join(cwd, 'backups'));
    for (const [command, printed] of READING) {
      const { code, stdout, stderr } = await run(command.split(' '), { cwd, env });
      // Who was killed is told, each time.
      const isTold = command === 'doctor' && when === 'after a kill';
      assert.equal(code, isTold ? 1 : 0, `${command} ${when}: ${stdout}${stderr}`);
      assert.match(stdout, printed, `${command} ${when}`);
      assert.deepEqual(look(data), before, `${command} ${when}`);
      assert.deepEqual(contentsOf(join(cwd, 'backups')), backups, `${command} ${when}`);
    }
  };
  await using service = await serveProcess([], { cwd });
  const { status } = await send(new Agent(), `${service.url}/categories`, secret, { name: 'Dog' });
  assert.equal(status, 201);
  // The service itself writes its counts to the log.
  await reads('beside a service', {}, (of) => bytesOf(of)['pet-catalog.db']);
  assert.equal((await run(['backup', 'backups/pets.db'], { cwd })).code, 0);
  await service.end('SIGKILL');
  await reads('after a kill');
  await reads('of a backup', { DATABASE_URL: 'sqlite:backups/pets.db' });
  await using again = await serveProcess([], { cwd });
  await again.end('SIGTERM');
  await reads('at rest');
});

/** The bytes of the database and of its log, if that holds anything; SQLite's index of the log is no part of either. */
function bytesOf(folder: string) {
  const kept = Object.entries(contentsOf(folder)).filter(([name]) => !name.endsWith('-shm'));
  return Object.fromEntries(kept.filter(([name]) => statSync(join(folder, name)).size > 0));
}

test('on tables of an earlier release every command but `migrate` and `serve` says what to run, and changes nothing', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  mkdirSync(join(cwd, 'data'), { mode: 0o700 });
  writeFileSync(
    join(cwd, 'data/pet-catalog.db'),
    gunzipSync(readFileSync(new URL('../releases/0.2.0/sqlite.db.gz', import.meta.url))),
    { mode: 0o600 },
  );
  const before = bytesOf(join(cwd, 'data'));
  const writing = ['keys create --name late', 'categories delete 1'];
  for (const command of [...READING.map(([each]) => each), ...writing].filter((each) => each !== 'doctor')) {
    const { code, stderr } = await run(command.split(' '), { cwd });
    assert.deepEqual(
      [code, stderr],
      [
        1,
        'pet-catalog: Cannot open the database ./data/pet-catalog.db: its tables are of an earlier release; run `pet-catalog migrate`\n',
      ],
      command,
    );
    assert.deepEqual(bytesOf(join(cwd, 'data')), before, command);
  }
  const doctor = await run(['doctor'], { cwd });
  assert.match(doctor.stdout, /ok +tables: They are not up to date: `serve` does that/);
  assert.deepEqual(bytesOf(join(cwd, 'data')), before);
  assert.equal((await run(['migrate'], { cwd })).code, 0);
  assert.match((await run(['keys', 'list'], { cwd })).stdout, /enterprise/);
});
