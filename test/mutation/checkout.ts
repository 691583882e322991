import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempDisposableSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of the checkout, which goes with its disposal, to run tests there and to change it. */
export class Checkout implements Disposable {
  readonly #folder = mkdtempDisposableSync(join(realpathSync(tmpdir()), 'mutants-'));
  readonly path = this.#folder.path;

  constructor() {
    const isCopied = (path: string) => !/\/(?:node_modules|\.mutation|dist)$/.test(path);
    cpSync(ROOT, this.path, { recursive: true, filter: isCopied });
    symlinkSync(join(ROOT, 'node_modules'), join(this.path, 'node_modules'));
  }

  /** Runs work while a file has another text. */
  async withFile<T>(file: string, text: string, work: () => Promise<T>): Promise<T> {
    const path = join(this.path, file);
    const before = readFileSync(path, 'utf8');
    writeFileSync(path, text);
    try {
      return await work();
    } finally {
      writeFileSync(path, before);
    }
  }

  /** Runs a test file. One that hangs is ended, and all that it started with it. */
  async test(file: string, msMax: number, env: NodeJS.ProcessEnv = {}): Promise<'passed' | 'failed' | 'hung'> {
    const child = spawn(process.execPath, ['--import', './test/preload.js', file], {
      cwd: this.path,
      // The cache of the checkout would grow by every module of every copy.
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.path, 'node-cache'), ...env },
      stdio: 'ignore',
      // The leader of a group, by which those that it started can be ended.
      detached: true,
    });
    let isHanging = false;
    const hanging = setTimeout(() => {
      isHanging = true;
      endGroup(child.pid);
    }, msMax);
    const [code] = await once(child, 'exit');
    clearTimeout(hanging);
    endGroup(child.pid);
    return isHanging ? 'hung' : code === 0 ? 'passed' : 'failed';
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // None of them runs any more.
  }
}
