import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run, serveProcess } from '../kit/process.ts';
import { contentsOf, flip } from '../kit/storage/files.ts';

/** A database that is called by links: its log, its lock and its notes are beside the real file. */

const CREATES = 30;

/** A folder with a database in `data`, and names that lead to it; a service left some creates in the log. */
async function linked() {
  const folder = temporaryFolder();
  const cwd = folder.path;
  const secret = await issueKey(cwd);
  for (const name of ['by-file', 'by-both']) mkdirSync(join(cwd, name));
  symlinkSync('data', join(cwd, 'by-folder'));
  symlinkSync('../data/pet-catalog.db', join(cwd, 'by-file/link.db'));
  symlinkSync('../by-folder/pet-catalog.db', join(cwd, 'by-both/middle.db'));
  symlinkSync('middle.db', join(cwd, 'by-both/link.db'));
  const links = ['by-folder/pet-catalog.db', 'by-file/link.db', 'by-both/link.db'];
  return { folder, cwd, secret, links, file: join(cwd, 'data/pet-catalog.db') };
}

const by = (link: string) => ({ DATABASE_URL: `sqlite:${link}` });

test('by whatever link a damaged log is found and refused', async () => {
  const { folder, cwd, secret, links, file } = await linked();
  using _folder = folder;
  {
    await using service = await serveProcess([], { cwd, env: by(links[2] ?? '') });
    const agent = new Agent({ keepAlive: true });
    for (let i = 0; i < CREATES; i += 1) {
      assert.equal((await send(agent, `${service.url}/categories`, secret, { name: `${i}` })).status, 201);
    }
    agent.destroy();
    await service.end('SIGKILL');
  }
  for (const link of links) {
    const listed = await run(['categories', 'list', '--json'], { cwd, env: by(link) });
    assert.equal(JSON.parse(listed.stdout).length, CREATES, link);
  }
  const frame = 24 + readFileSync(`${file}-wal`).readUInt32BE(8);
  flip(`${file}-wal`, 32 + 12 * frame + 100);
  const bytes = () => [file, `${file}-wal`].map((each) => readFileSync(each));
  const before = bytes();
  for (const link of links) {
    await assert.rejects(serveHere(by(join(cwd, link))), /is damaged: its log is damaged at byte/, link);
    for (const command of [['doctor'], ['keys', 'list']]) {
      const { code, stdout, stderr } = await run(command, { cwd, env: by(link) });
      assert.equal(code, 1, `${command} ${link}`);
      assert.match(stdout + stderr, /is damaged: its log is damaged at byte/, `${command} ${link}`);
    }
  }
  assert.deepEqual(bytes(), before);
  assert.ok(!existsSync(join(cwd, 'by-file/link.db.lock')));
});

test('one service runs on a file, by whatever link, and commands find its listener', async () => {
  const { folder, cwd, links } = await linked();
  using _folder = folder;
  await using service = await serveProcess([], { cwd, env: by(links[1] ?? '') });
  const operatorUrl = await service.operatorUrl();
  for (const link of [...links, 'data/pet-catalog.db']) {
    await assert.rejects(serveHere(by(join(cwd, link))), /Another service runs on the database/, link);
    const { stdout } = await run(['console', 'login'], { cwd, env: by(link) });
    assert.ok(stdout.startsWith(operatorUrl), stdout);
  }
});

test('a link that leads nowhere is refused, and nothing is made', async () => {
  using folder = temporaryFolder();
  symlinkSync('gone/x.db', join(folder.path, 'link.db'));
  for (const command of [['serve'], ['keys', 'create', '--name', 'a'], ['keys', 'list']]) {
    const { code, stderr } = await run(command, { cwd: folder.path, env: by('link.db') });
    assert.deepEqual(
      [code, stderr],
      [
        2,
        `pet-catalog: DATABASE_URL: ${join(folder.path, 'link.db')} is a link that leads nowhere (from the environment)\n`,
      ],
    );
  }
  assert.deepEqual(contentsOf(folder.path), {});
});
