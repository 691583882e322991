import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { send } from '../kit/faults/creating.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';
import { COLUMNS, READS, WRITES } from '../kit/releases/next.ts';
import { laterRelease } from '../kit/releases/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

/** A pretended next release adds a column to tables with checksums, and writes checksums that cover it. */

/** The versions of the checksums in a table. */
function versionsIn(file: string, table: string): number[] {
  using database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(`SELECT checksum / 4294967296 AS version FROM ${table} ORDER BY created_at, id`).all();
  return rows.map(({ version }) => Number(version));
}

for (const [what, edits, version] of [
  ['first reads a version of checksums', READS, 1],
  ['writes a version of checksums', [...READS, ...WRITES], 2],
] as const) {
  test(`what a release wrote that ${what} is served by this one, and the other way round`, async () => {
    using folder = temporaryFolder();
    const cwd = folder.path;
    const file = join(cwd, 'data/pet-catalog.db');
    const { command } = laterRelease(cwd, '98.0.0', [COLUMNS], edits);
    const later = async (...args: string[]) => {
      const { code, stdout, stderr } = await runProcess(args, { cwd, command });
      assert.deepEqual([code, stderr.includes('damaged')], [0, false], stderr);
      return stdout;
    };
    const here = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(args, { cwd });
      assert.deepEqual([code, stderr.includes('damaged')], [0, false], stderr);
      return stdout;
    };
    writeFileSync(join(cwd, 'some.csv'), 'name\nDog\nCat\nBird\n');
    const secret = (await later('keys', 'create', '--name', 'new customer')).trim();
    await later('categories', 'import', 'some.csv');
    assert.deepEqual(versionsIn(file, 'categories'), [version, version, version]);
    assert.deepEqual(versionsIn(file, 'api_keys'), [version]);

    assert.match(await here('doctor'), /Every row is as it was written/);
    await here('categories', 'rename', '2', 'Ox');
    {
      await using service = await serveProcess([], { cwd });
      const { status, body } = await send(new Agent(), `${service.url}/categories`, secret);
      assert.deepEqual(
        [status, JSON.parse(body)],
        [200, ['Dog', 'Ox', 'Bird'].map((name, index) => ({ id: index + 1, name }))],
      );
      assert.equal(await service.end(), 0);
    }
    assert.deepEqual(versionsIn(file, 'categories'), [version, 1, version]);
    const listed = JSON.parse(await later('categories', 'list', '--json')) as { name: string }[];
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['Dog', 'Ox', 'Bird'],
    );
    assert.match(await later('keys', 'list'), /new customer/);
  });
}
