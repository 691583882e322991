import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('settings that `serve` refuses only together are refused by `config`, and a problem to `doctor`', async () => {
  using folder = temporaryFolder();
  const env = { DATABASE_URL: 'postgres://test@127.0.0.1:1/none', BACKUP_DIR: 'backups' };
  const options = { cwd: folder.path, env };
  const refusal = /BACKUP_DIR: it must be empty with PostgreSQL/;
  for (const command of ['serve', 'config']) {
    const { code, stderr } = await run([command], options);
    assert.deepEqual([code, refusal.test(stderr)], [2, true], `${command}: ${stderr}`);
  }
  const { code, stdout } = await run(['doctor', '--json'], options);
  const findings = JSON.parse(stdout) as { check: string; status: string; finding: string }[];
  const [mistake] = findings.filter(({ check }) => check === 'settings');
  assert.deepEqual([code, mistake?.status, refusal.test(mistake?.finding ?? '')], [1, 'problem', true]);
});
