import assert from 'node:assert/strict';

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
