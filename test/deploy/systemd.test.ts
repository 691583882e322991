import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { text } from '../kit/deploy/files.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/folder.ts';

const UNIT = 'pet-catalog.service';
/** Of 100; what is left is that it listens, and that it compiles at run time. */
const EXPOSURE_MAX = 15;
const unit = text(`systemd/${UNIT}`);
const skip = missingPrograms('systemd-analyze');

test('systemd understands every line of the unit, and finds little exposure', { skip }, () => {
  const verified = analyze(['verify', '--man=no']);
  assert.deepEqual([verified.status, verified.stdout, verified.stderr], [0, '', '']);
  assert.match(analyze(['verify', '--man=no'], '[Service]\nNoSuchSetting=yes\n').stderr, /NoSuchSetting/);
  const { status, stdout } = analyze(['security', '--offline=yes', `--threshold=${EXPOSURE_MAX}`]);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /Overall exposure level for pet-catalog\.service: \d/);
});

/** Looks at a copy of the unit, with a stand-in for the command. */
function analyze(args: string[], more = '') {
  using folder = temporaryFolder();
  const [command, copy] = [join(folder.path, 'pet-catalog'), join(folder.path, UNIT)];
  writeFileSync(command, '', { mode: 0o755 });
  writeFileSync(copy, `${unit.replace('/usr/local/bin/pet-catalog', command)}\n${more}`);
  return spawnSync('systemd-analyze', [...args, copy], {
    encoding: 'utf8',
    env: { ...process.env, SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
    timeout: 30_000,
  });
}
