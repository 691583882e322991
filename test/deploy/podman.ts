import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What the steps of the build and the probe of the container call. */
const PROGRAMS = ['/bin/bash', '/bin/sh', '/usr/bin/install', '/bin/rm'];
const COMMAND_MS_MAX = 100_000;
/** Below what a machine without CAP_SYS_RESOURCE allows, where the defaults of podman are above it. */
const LIMITS = ['--ulimit', 'nofile=1024:4096', '--ulimit', 'nproc=4096:4096'];

/** podman with its images and containers in a folder, where nothing of the machine's own is seen or left. */
export interface Podman {
  /** Runs a command of podman. Throws, with all its output, when it fails. */
  run(...args: readonly string[]): string;
  /** Imports a base image of this machine's own programs, and of the libraries that they and `program` name. */
  importBase(name: string, program: string): void;
  readonly runOptions: readonly string[];
}

/** Why no container can be run here, in podman's own words, or podman. */
export function openPodman(folder: string): Podman | string {
  const runtime = ['/usr/sbin/runc', '/usr/bin/runc', '/usr/bin/crun'].find((file) => existsSync(file));
  if (!runtime) return 'podman or its runtime is not installed: the image is neither built nor run';
  const own = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')];
  const options = [...own, '--cgroup-manager', 'cgroupfs', '--runtime', runtime];
  const podman: Podman = {
    runOptions: ['--network', 'host', ...LIMITS],
    run: (...args) =>
      execFileSync('podman', [...options, ...args], {
        encoding: 'utf8',
        stdio: 'pipe',
        timeout: COMMAND_MS_MAX,
      }).trim(),
    importBase(name, program) {
      const files = [...PROGRAMS, ...librariesOf([...PROGRAMS, program])];
      const root = join(folder, name);
      for (const file of files) {
        mkdirSync(join(root, dirname(file)), { recursive: true });
        cpSync(realpathSync(file), join(root, file));
      }
      // The libraries are those of this machine, so there is nothing to install.
      writeFileSync(join(root, 'usr/bin/apt-get'), '#!/bin/sh\n', { mode: 0o755 });
      execFileSync('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
      podman.run('import', `${root}.tar`, name);
    },
  };
  try {
    podman.importBase('trial', '/bin/bash');
    podman.run('run', '--rm', ...podman.runOptions, 'localhost/trial', 'bash', '-c', 'true');
    return podman;
  } catch (error) {
    return `podman runs no container here, so the image is not built: ${(error as Error).message}`;
  }
}

/** What `ldd` names, of all programs together. */
function librariesOf(programs: readonly string[]): string[] {
  const { stdout } = spawnSync('ldd', [...programs], { encoding: 'utf8' });
  return [...new Set(stdout.match(/(?<=\s)\/[^ :]+(?= \()/g))];
}
