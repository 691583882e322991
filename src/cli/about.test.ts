import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { VERSION } from '../version.ts';

test('version tells the release, the interface and Node.js apart', async () => {
  using folder = temporaryFolder();
  const version = (...args: string[]) => run(['version', ...args], { cwd: folder.path });
  assert.equal((await version()).stdout, `${VERSION}\n`);
  assert.deepEqual(JSON.parse((await version('--json')).stdout), {
    version: VERSION,
    interface: '1.0.0',
    node: process.versions.node,
  });
});
