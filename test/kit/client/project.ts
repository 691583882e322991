import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../folder.ts';
import { copyCheckout, execute } from './package.ts';

/** An empty folder beside a fresh checkout. Both are removed with the test. */
export interface Project extends Disposable {
  readonly checkout: string;
  readonly path: string;
  /** Writes a file into the folder. */
  write(file: string, text: string): void;
  /** Runs a program, in the folder unless told otherwise. Rejects, with all its output, when it fails. */
  run(command: string, args: readonly string[], options?: RunOptions): Promise<string>;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

export function emptyProject(): Project {
  const folder = temporaryFolder();
  const path = join(folder.path, 'pets');
  mkdirSync(path);
  return {
    checkout: copyCheckout(folder.path),
    path,
    write: (file, text) => writeFileSync(join(path, file), text),
    run: (command, args, { cwd = path, env = {} } = {}) => execute(command, args, { cwd, folder: folder.path, env }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

/** The blocks of code of a section of Markdown, in one language. */
export function codeIn(markdown: string, title: string, language: string): string[] {
  const section = new RegExp(`^## ${title}\\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(markdown)?.[1] ?? '';
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}
