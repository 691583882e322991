import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const BENCH = fileURLToPath(new URL('.', import.meta.url));

/** The machine and programs of the measurement. Programs that are not installed are undefined. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly wrk: string | undefined;
  readonly nginx: string | undefined;
  /** Whether servers and load can each be given a core of their own. */
  readonly pins: boolean;
  readonly revision: string;
  readonly date: string;
}

/** Looks at the machine. */
export function machine(): Machine {
  const cores = availableParallelism();
  const dirty = printed('git', ['status', '--porcelain', '--', 'src'], /./) === undefined ? '' : ', with changes';
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores,
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    wrk: printed('wrk', ['--version'], /wrk (?:debian\/)?([\w.]+)/),
    nginx: printed('nginx', ['-v'], /nginx\/([\d.]+)/),
    pins: cores > 1 && printed('taskset', ['--version'], /([\d.]+)/) !== undefined,
    revision: `${printed('git', ['rev-parse', '--short', 'HEAD'], /(\w+)/) ?? 'unknown'}${dirty}`,
    date: new Date().toISOString().slice(0, 10),
  };
}

/** The versions that a peer's lockfile pins for what it depends on. */
export function pinnedVersions(peer: string): string {
  const folder = join(BENCH, 'peers', peer);
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { packages = {} } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  return Object.keys(dependencies)
    .map((name) => `${name} ${packages[`node_modules/${name}`]?.version}`)
    .join(', ');
}

/** The part of a program's output that matches, or undefined without a match or the program. */
function printed(command: string, args: readonly string[], pattern: RegExp): string | undefined {
  const { stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', cwd: BENCH });
  if (error) return undefined;
  const match = pattern.exec(stdout + stderr);
  return match?.[1] ?? match?.[0];
}
