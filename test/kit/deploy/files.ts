import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** The folder of the deployment files. */
export const DEPLOY = fileURLToPath(new URL('../../../deploy', import.meta.url));

/** The text of a deployment file. */
export function text(file: string): string {
  return readFileSync(join(DEPLOY, file), 'utf8');
}

/** A deployment file of YAML, with its anchors merged. Throws what the parser throws. */
// biome-ignore lint/suspicious/noExplicitAny: compose.test.ts and kubernetes.test.ts say what the files may hold
export function yaml(file: string): any {
  return parse(text(file), { merge: true });
}

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
