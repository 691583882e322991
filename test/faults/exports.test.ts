import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { temporaryFolder } from '../kit/folder.ts';
import { COMMAND, run, serveProcess } from '../kit/process.ts';

/** CSV of long lists: what one viewer downloads ends no process and holds no other request up. */

const ENTRIES = 50_000;
const HEAP_MEBIBYTES = 64;

test('a CSV of 50,000 entries is written as it is read, in a heap of 64 MiB; a second one at once is 503', async () => {
  using folder = temporaryFolder();
  await run(['migrate'], { cwd: folder.path });
  const { stdout } = await run(['operators', 'create', '--name', 'eve', '--role', 'viewer'], { cwd: folder.path });
  const database = new DatabaseSync(join(folder.path, 'data', 'pet-catalog.db'));
  const [entry] = database.prepare('select * from audit_entries').all() as Record<string, never>[];
  const columns = Object.keys(entry ?? {}).filter((name) => name !== 'id');
  const values = columns.map((name) => (name === 'after' ? `'{"name":"${'x'.repeat(1_000)}"}'` : name)).join();
  database.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${ENTRIES - 1})
    insert into audit_entries (id, ${columns.join()}) select i + 1, ${values} from n, (select * from audit_entries limit 1)`);
  database.close();

  await using service = await serveProcess([], {
    cwd: folder.path,
    env: { OPERATOR_PORT: '0' },
    command: [process.execPath, `--max-old-space-size=${HEAP_MEBIBYTES}`, COMMAND],
  });
  const url = `${await service.operatorUrl()}/api/v1/audit?since=1y`;
  const headers = { authorization: `Bearer ${stdout.trim()}`, accept: 'text/csv' };
  // Nothing is read of the first one yet, so it is still written when the second is asked for.
  const first = await fetch(url, { headers });
  assert.deepEqual([first.status, first.headers.get('content-length')], [200, null]);
  const second = await fetch(url, { headers });
  assert.deepEqual([second.status, second.headers.get('retry-after')], [503, '1']);
  const json = await fetch(`${url}&limit=2`, { headers: { ...headers, accept: 'application/json' } });
  assert.equal(((await json.json()) as object[]).length, 2, 'the list is answered meanwhile');
  const lines = (await first.text()).trim().split('\n');
  assert.equal(lines.length - 1, ENTRIES);
  assert.equal(new Set(lines.slice(1, -1).map((line) => line.split(',').length)).size, 1, 'each line is whole');
  const third = await fetch(url, { headers });
  assert.equal(third.status, 200);
  await third.body?.cancel();
  assert.equal(await service.end('SIGTERM'), 0);
});
