import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { untilEqual } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run } from '../kit/process.ts';
import { overwrite } from '../kit/storage/files.ts';

test('damage in a database that is too large to be checked first is found beside the work, and stops every write', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const secret = await issueKey(folder.path);
  const file = join(folder.path, 'data/pet-catalog.db');
  {
    using database = new DatabaseSync(file);
    database.exec(`INSERT INTO outcomes (key_id, idempotency_key, fingerprint, resource, created_at)
      VALUES ('', '', '', hex(zeroblob(34000000)), 99999999999)`);
  }
  {
    await using sound = await serveHere({ DATABASE_URL: `sqlite:${file}` });
    const created = await send(new Agent(), `${sound.url}/categories`, secret, { name: 'Dog' });
    assert.equal(created.status, 201);
  }
  assert.ok(statSync(file).size > 64 * 1024 * 1024);
  overwrite(file, { at: 40 * 1024 * 1024 });

  {
    await using service = await serveHere({ DATABASE_URL: `sqlite:${file}` });
    const ready = async () =>
      (await fetch(`${service.operatorUrl}/readyz`, { headers: { connection: 'close' } })).status;
    await untilEqual(ready, 503);
    const refused = await send(new Agent(), `${service.url}/categories`, secret, { name: 'Cat' });
    assert.deepEqual([refused.status, JSON.parse(refused.body).code], [503, 'unavailable']);
    const listed = await send(new Agent(), `${service.url}/categories`, secret);
    assert.deepEqual([listed.status, listed.body], [200, '[{"id":1,"name":"Dog"}]']);
    assert.match(service.log(), /"storage_failing","work":"write".*is damaged: .*pet-catalog restore BACKUP/);
  }
  const bytes = readFileSync(file);
  for (const command of [['doctor'], ['backup', 'copy.db']]) {
    const { code, stdout, stderr } = await run(command, options);
    assert.deepEqual([code, /is damaged: /.test(stdout + stderr)], [1, true], stdout + stderr);
  }
  assert.deepEqual(readFileSync(file), bytes);
});
