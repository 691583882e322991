import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { keepCreating, send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';

/** A file or log that another program cuts or overwrites in place under a running service. */

/** A service, with a key, and a copy of its file from before it had categories. */
async function servedIn(folder: string) {
  const file = join(folder, 'data/pet-catalog.db');
  const options = { cwd: folder, env: { DATABASE_URL: `sqlite:${file}` } };
  const secret = await issueKey(folder);
  const older = join(folder, 'older.db');
  copyFileSync(file, older);
  writeFileSync(join(folder, 'some.json'), JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ name: `${id}` }))));
  assert.equal((await run(['categories', 'import', 'some.json'], options)).code, 0);
  const service = await serveProcess([], options);
  return { file, older, options, secret, service };
}

const NOTICED = /"storage_failing".* or its log was cut or overwritten while the service runs/;
/** SQLite itself may be the first to meet pages of another time. */
const DAMAGED = /"storage_failing".*( is damaged: |was cut or overwritten)/;

for (const [what, overwrite, noticed] of [
  ['its log is emptied', (file) => truncateSync(`${file}-wal`), NOTICED],
  ['its log loses its second half', (file) => truncateSync(`${file}-wal`, statSync(`${file}-wal`).size / 2), NOTICED],
  ['its file is emptied', (file) => truncateSync(file), DAMAGED],
  ['an older copy is copied over its file', (file, older) => copyFileSync(older, file), DAMAGED],
  ['a copy of the same size is copied over its file', (file) => writeFileSync(file, readFileSync(file)), NOTICED],
] as [what: string, overwrite: (file: string, older: string) => void, noticed: RegExp][]) {
  test(`a busy service notices that ${what}, and leaves both as they are when it stops`, async () => {
    using folder = temporaryFolder();
    const { file, older, options, secret, service } = await servedIn(folder.path);
    await using _ended = service;
    const creating = keepCreating(service.url, secret);
    const probe = `${await service.operatorUrl()}/readyz`;
    const ready = async () => (await fetch(probe, { headers: { connection: 'close' } })).status;
    await untilTrue(() => creating.acknowledged.length > 100, 'creates before');
    assert.equal(await ready(), 200);
    overwrite(file, older);
    await untilEqual(ready, 503);
    await creating.stop();
    const agent = new Agent();
    assert.equal((await send(agent, `${service.url}/categories`, secret, { name: 'late' })).status, 503);
    agent.destroy();
    assert.match(service.output.stderr, noticed);
    const bytes = () => [file, `${file}-wal`].map((path) => readFileSync(path));
    const before = bytes();
    assert.equal(await service.end('SIGTERM'), 0);
    assert.deepEqual(bytes(), before);
    if (what.includes('same size')) return;
    await assert.rejects(serveHere(options.env), /is damaged: .*`pet-catalog restore BACKUP`/);
  });
}

test('an older copy that lies beside a later log is told by the number of categories', async () => {
  using folder = temporaryFolder();
  const { file, options, service } = await servedIn(folder.path);
  await using _ended = service;
  assert.equal(await service.end('SIGTERM'), 0);
  using database = new DatabaseSync(file);
  database.exec('delete from categories where id > 5');
  database.close();
  const { code, stderr } = await runProcess(['serve'], options);
  assert.equal(code, 1);
  assert.match(stderr, /is damaged: it has 5 categories, and counts \d+ \(after .*\); put a backup in its place/);
});

test('commits and checkpoints of other processes beside a busy service are no damage', async () => {
  using folder = temporaryFolder();
  const { file, options, secret, service } = await servedIn(folder.path);
  await using _ended = service;
  const creating = keepCreating(service.url, secret);
  const other = new DatabaseSync(file, { timeout: 5_000 });
  other.exec('create table beside (text text)');
  const started = performance.now();
  for (let round = 0; round < 40 || performance.now() - started < 3_000; round += 1) {
    const done = creating.acknowledged.length;
    await untilTrue(() => creating.acknowledged.length > done + 10, 'creates beside it');
    assert.equal((await run(['keys', 'create', '--name', `${round}`], options)).code, 0);
    other.exec(`insert into beside values (hex(randomblob(${round * 1_000})))`);
    const mode = ['PASSIVE', 'RESTART', 'TRUNCATE'][round % 3];
    other.exec(`PRAGMA wal_checkpoint(${mode})`);
    if (round % 10 === 9) other.exec('delete from beside; VACUUM');
  }
  await creating.stop();
  assert.deepEqual(creating.unexpected, []);
  assert.doesNotMatch(service.output.stderr, /storage_failing/);
  other.close();
  assert.equal(await service.end('SIGTERM'), 0);
  assert.equal(statSync(`${file}-wal`, { throwIfNoEntry: false }), undefined, 'a usual stop folds the log in');
});
