import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SETTINGS } from '../../../src/config.ts';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { COMMAND } from '../process.ts';
import { freePort } from './port.ts';
import { openShell, type Shell } from './runbook.ts';

/**
 * A machine as the runbook expects it, in a folder: `/srv/pet-catalog` with its `.env`, and programs in the place of
 * those that need root. `sudo` runs the command as it is; `systemctl` and `journalctl` start, stop and read the
 * service in that folder; `pet-catalog` is the checkout's command, or the file that
 * the runbook installs.
 */
export interface Machine extends AsyncDisposable {
  /** The folder in the place of /srv/pet-catalog. */
  readonly home: string;
  readonly url: string;
  readonly shell: Shell;
  /** What the runbook names, and what it is here. */
  readonly names: Map<string, string>;
  /** Runs a command that has to succeed, and gives what it printed. */
  prepare(command: string): Promise<string>;
}

export interface MachineOptions {
  readonly settings?: Record<string, string>;
  /** Takes the executable that the runbook installs, which is in the folder too, not the checkout. */
  readonly installed?: boolean;
  /** What `systemctl` runs to start units that are not the service: a shell command by unit. */
  readonly units?: Record<string, string>;
}

export async function openMachine({
  settings = {},
  installed = false,
  units = {},
}: MachineOptions = {}): Promise<Machine> {
  const folder = temporaryFolder();
  const home = join(folder.path, 'srv');
  for (const name of ['data', 'backups']) mkdirSync(join(home, name), { recursive: true, mode: 0o700 });
  const [port, operatorPort] = [`${await freePort()}`, `${await freePort()}`];
  const env = { PORT: port, OPERATOR_PORT: operatorPort, ...settings };
  writeFileSync(join(home, '.env'), lines(Object.entries(env).map(([name, value]) => `${name}=${value}`)));
  const place = join(folder.path, 'bin');
  mkdirSync(place);
  const command = installed ? join(place, 'pet-catalog') : `node '${COMMAND}'`;
  const programs = join(folder.path, 'programs');
  mkdirSync(programs);
  const program = (name: string, text: readonly string[]) => {
    writeFileSync(join(programs, name), lines(['#!/bin/sh', ...text]));
    chmodSync(join(programs, name), 0o755);
  };
  program('sudo', ['[ "$1" = -u ] && shift 2', 'exec "$@"']);
  program('journalctl', [`cat ${home}/service.log`]);
  program('systemctl', systemctl(home, command, units));
  if (!installed) {
    program('pet-catalog', [`exec ${command} "$@"`]);
    program('npx', ['exec "$@"']);
  }
  const path = `${programs}:${place}:${installed ? '' : `${dirname(process.execPath)}:`}${process.env.PATH ?? ''}`;
  const shell = openShell({ cwd: home, env: { ...context(), PATH: path } });
  return {
    home,
    url: `http://127.0.0.1:${port}/v1`,
    shell,
    names: new Map([
      ['/srv/pet-catalog', home],
      ['/usr/local/bin', place],
      ['127.0.0.1:8080', `127.0.0.1:${port}`],
      ['127.0.0.1:8081', `127.0.0.1:${operatorPort}`],
    ]),
    async prepare(wanted) {
      const { output, code } = await shell.run(wanted);
      assert.equal(code, 0, `${wanted}\n${output}`);
      return output;
    },
    async [Symbol.asyncDispose]() {
      await shell[Symbol.asyncDispose]();
      await endProcess(join(home, 'service.pid'));
      folder[Symbol.dispose]();
    },
  };
}

/** Ends the process whose number is in a file, and waits until it is gone. */
export async function endProcess(file: string): Promise<void> {
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (!pid) return;
  if (isAlive(pid)) process.kill(pid, 'SIGTERM');
  await untilTrue(() => !isAlive(pid), `the end of ${pid}`);
}

function isAlive(pid: number): boolean {
  return !/^\s*$|^\s*Z/.test(spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' }).stdout);
}

/** The environment of the tests, without settings of the service: npm may need what is in it to reach its registry. */
export function context(): Record<string, string> {
  const isSetting = (name: string) => name in SETTINGS || name.replace(/_FILE$/, '') in SETTINGS;
  const all = Object.entries(process.env).filter(([name]) => !isSetting(name));
  return Object.fromEntries(all.map(([name, value = '']) => [name, value]));
}

/** Knows the unit pet-catalog, and the units that are given. */
function systemctl(home: string, command: string, units: Record<string, string>): string[] {
  return [
    'verb=$1; shift',
    '[ "$1" = --now ] && shift',
    `cd ${home} || exit 1`,
    'alive() { [ -f service.pid ] && kill -0 "$(cat service.pid)" 2>/dev/null; }',
    `start() { nohup ${command} serve </dev/null >service.log 2>&1 & echo $! >service.pid; }`,
    'stop() { alive || return 0; kill "$(cat service.pid)"; while alive; do sleep 0.1; done; rm -f service.pid; }',
    'for unit in "$@"; do',
    '  case "$unit" in',
    '    pet-catalog)',
    '      case $verb in',
    '        start|enable) start ;;',
    '        stop) stop ;;',
    '        restart) stop; start ;;',
    '        is-active) if alive; then echo active; else echo inactive; exit 3; fi ;;',
    '        *) exit 9 ;;',
    '      esac ;;',
    ...Object.entries(units).map(([unit, start]) => `    ${unit}) ${start} ;;`),
    '    *) exit 9 ;;',
    '  esac',
    'done',
  ];
}

function lines(text: readonly string[]): string {
  return `${text.join('\n')}\n`;
}
