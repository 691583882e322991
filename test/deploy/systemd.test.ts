import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '../../src/config.ts';
import { parseDuration } from '../../src/stdx/duration.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder } from '../kit/service.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/systemd', import.meta.url));
/** Of 100; what is left is that it listens, and that it compiles at run time. */
const EXPOSURE_MAX = 15;
const units = readdirSync(FOLDER).filter((file) => /\.(service|timer)$/.test(file));
const skip = missingPrograms('systemd-analyze');

test('the unit runs the packed service in its folder, and leaves it time to stop', () => {
  const unit = read('pet-catalog.service');
  assert.equal(setting(unit, 'ExecStart'), '/usr/local/bin/pet-catalog serve');
  assert.equal(setting(unit, 'RestartPreventExitStatus'), '2', 'wrong settings end it');
  const home = setting(unit, 'WorkingDirectory');
  assert.equal(setting(unit, 'ReadWritePaths'), `${home}/data ${home}/backups`);
  assert.ok(
    (parseDuration(setting(unit, 'TimeoutStopSec')) ?? 0) > (parseDuration(SETTINGS.SHUTDOWN_GRACE.default) ?? 0),
  );
  assert.equal(setting(unit, 'User'), /^u (\S+) /m.exec(read('pet-catalog.sysusers.conf'))?.[1]);
});

test('systemd understands every line of the units', { skip }, () => {
  using folder = temporaryFolder();
  assert.equal(units.length, 1);
  const { status, stdout, stderr } = analyze(folder.path, ['verify', '--man=no']);
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
});

test('a line that systemd does not understand would be found', { skip }, () => {
  using folder = temporaryFolder();
  const { stderr } = analyze(folder.path, ['verify', '--man=no'], (text) => `${text}\n[Service]\nNoSuchSetting=yes\n`);
  assert.match(stderr, /NoSuchSetting/);
});

test('systemd-analyze finds little exposure in the services', { skip }, () => {
  for (const unit of units.filter((file) => file.endsWith('.service'))) {
    using folder = temporaryFolder();
    const only = ['security', '--offline=yes', `--threshold=${EXPOSURE_MAX}`];
    const { status, stdout } = analyze(folder.path, only, undefined, [unit]);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /Overall exposure level for pet-catalog[\w-]*\.service: \d/);
  }
});

function read(file: string): string {
  return readFileSync(join(FOLDER, file), 'utf8');
}

function setting(unit: string, name: string): string {
  return new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';
}

/** Looks at copies of the units, with a stand-in for the command. */
function analyze(folder: string, args: string[], change = (text: string) => text, files = units) {
  const command = join(folder, 'pet-catalog');
  writeFileSync(command, '');
  chmodSync(command, 0o755);
  const copies = join(folder, 'units');
  mkdirSync(copies);
  for (const file of files)
    writeFileSync(join(copies, file), change(read(file).replace('/usr/local/bin/pet-catalog', command)));
  return spawnSync('systemd-analyze', [...args, ...files.map((file) => join(copies, file))], {
    encoding: 'utf8',
    env: { ...process.env, SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
    timeout: 30_000,
  });
}
