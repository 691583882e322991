import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';

/** One instruction, continued lines joined: `RUN`, and what follows it. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Reads a Containerfile's instructions in their order. */
export function parseContainerfile(text: string): Instruction[] {
  return text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line.trim()) ?? [];
      assert.ok(name, `not an instruction: ${line}`);
      return { name, text: rest };
    });
}

/** The instructions of each stage, by its name; the last one is `final` if it has none. */
export function stagesOf(instructions: readonly Instruction[]): Map<string, Instruction[]> {
  const stages = new Map<string, Instruction[]>();
  for (const instruction of instructions) {
    if (instruction.name === 'FROM') stages.set(/ AS (\w+)$/.exec(instruction.text)?.[1] ?? 'final', [instruction]);
    else [...stages.values()].at(-1)?.push(instruction);
  }
  return stages;
}

/**
 * The files below a folder that an ignore file lets a build see. Knows what ours uses: `*`, `!path` for a file or a
 * folder, and globs that take away again.
 */
export function contextFiles(root: string, ignore: string): string[] {
  const patterns = ignore.split('\n').filter((line) => line && !line.startsWith('#'));
  const tops = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  const away = patterns.filter((pattern) => !pattern.startsWith('!') && pattern !== '*');
  assert.equal(patterns[0], '*', 'the ignore file begins by ignoring everything');
  const below = (path: string): string[] =>
    statSync(join(root, path)).isDirectory()
      ? readdirSync(join(root, path)).flatMap((name) => below(join(path, name)))
      : [path];
  return tops.flatMap(below).filter((file) => !away.some((pattern) => matchesGlob(file, pattern)));
}

export interface BuildOptions {
  /** The checkout. */
  readonly context: string;
  /** An empty folder; each stage has its file system in a folder below it. */
  readonly folder: string;
  readonly ignore: string;
}

/**
 * Carries out the instructions that change files, each stage in a folder instead of an image. Two things differ from a
 * build in an engine: `RUN` runs on this machine, with absolute paths moved below the folder; and what the full
 * `npm ci` would install is linked from the checkout, where the same command put it. Returns the last stage's folder.
 */
export function build(stages: Map<string, Instruction[]>, { context, folder, ignore }: BuildOptions): string {
  const visible = contextFiles(context, ignore);
  for (const [stage, instructions] of stages) {
    const root = join(folder, stage);
    mkdirSync(root);
    chmodSync(root, 0o755);
    let workdir = '/';
    for (const { name, text } of instructions) {
      const here = join(root, workdir);
      if (name === 'WORKDIR') {
        workdir = text;
        mkdirSync(join(root, workdir), { recursive: true });
      }
      if (name === 'COPY') copy(text, { context, visible, folder, here });
      if (name === 'RUN' && /^npm ci\b(?!.*--omit=dev)/.test(text)) linkInstalled(context, here);
      else if (name === 'RUN') run(text.replace(/(?<=\s)\/(?=\w)/g, `${root}/`), here);
    }
  }
  return join(folder, [...stages.keys()].at(-1) ?? '');
}

interface CopyPlace {
  readonly context: string;
  readonly visible: readonly string[];
  readonly folder: string;
  readonly here: string;
}

function copy(text: string, { context, visible, folder, here }: CopyPlace): void {
  const words = text.split(' ');
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  const paths = words.filter((word) => !word.startsWith('--'));
  const target = join(here, paths.at(-1) ?? '');
  for (const source of paths.slice(0, -1)) {
    if (from !== undefined) {
      // A folder of installed packages may be linked from the checkout; an engine copies what is in it.
      const copied = realpathSync(join(folder, from, source));
      cpSync(copied, target, { recursive: true });
      continue;
    }
    const files = source === '.' ? visible : visible.filter((file) => file === source || file.startsWith(`${source}/`));
    assert.ok(files.length > 0, `the build does not see ${source}`);
    for (const file of files) {
      const place = join(target, source === '.' ? file : relative(dirname(source), file));
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(context, file), place);
    }
  }
}

/**
 * Links what the checkout has installed. What is copied out of a package by a path that leaves it again has to be there
 * itself.
 */
export function linkInstalled(context: string, here: string): void {
  const installed = join(context, 'node_modules');
  const { scripts } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  mkdirSync(join(here, 'node_modules'));
  for (const name of readdirSync(installed)) {
    const [source, target] = [join(installed, name), join(here, 'node_modules', name)];
    if (JSON.stringify(scripts).includes(`node_modules/${basename(name)}`))
      cpSync(source, target, { recursive: true, dereference: true });
    else symlinkSync(source, target);
  }
}

function run(command: string, cwd: string): void {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', command], {
    cwd,
    env: { ...process.env, npm_config_prefer_offline: 'true', npm_config_update_notifier: 'false' },
    encoding: 'utf8',
    timeout: 100_000,
  });
  assert.equal(status, 0, `${command}\n${stdout}\n${stderr}`);
}
