import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A command of the runbook, and what the runbook says that it prints. */
export interface Step {
  readonly command: string;
  readonly output: string;
}

const COMMAND_MS_MAX = 90_000;
/** The shell prints it after each command, with the exit code. */
const END = 'end-of-the-command';
/** What differs each time, as it may look. */
const VARYING = /…|petcat_live_\w+|key_\w{16}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** The anchors of a page's headings, as the hosts of such pages make them. */
export function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#{1,3} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The commands of each section, by its heading. A command is a line of a `console` block that begins with `$ `. */
export function sectionsOf(page: string): Map<string, Step[]> {
  const sections = page.split(/^## /m).slice(1);
  return new Map(sections.map((section) => [section.split('\n')[0] ?? '', stepsOf(section)]));
}

function stepsOf(section: string): Step[] {
  const blocks = [...section.matchAll(/^( *)```console\n([\s\S]*?)^ *```$/gm)];
  return blocks.flatMap(([, indent = '', block = '']) => {
    const text = block.replace(new RegExp(`^${indent}`, 'gm'), '');
    return text
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...output] = step.split('\n');
        return { command, output: output.join('\n').trim() };
      });
  });
}

export interface Shell extends AsyncDisposable {
  /** Runs one command in the same shell as those before it; its errors are part of what it prints. */
  run(command: string): Promise<{ output: string; code: number }>;
}

/** A shell in which commands follow each other, as at a terminal. */
export function openShell(options: { cwd: string; env: Record<string, string | undefined> }): Shell {
  const child = spawn('bash', ['--noprofile', '--norc'], { ...options, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.write('exec 2>&1\n');
  const ended = new RegExp(`^([\\s\\S]*)\\n${END} (\\d+)\\n$`);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  return {
    async run(command) {
      printed = '';
      child.stdin.write(`{ ${command}\n} </dev/null; printf '\\n%s %s\\n' ${END} $?\n`);
      const deadline = AbortSignal.timeout(COMMAND_MS_MAX);
      for (;;) {
        const [, output = '', code] = ended.exec(printed) ?? [];
        if (code !== undefined) return { output: output.trim(), code: Number(code) };
        await once(child.stdout, 'data', { signal: deadline }).catch(() =>
          assert.fail(`${command} did not end: ${printed}`),
        );
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/**
 * Runs a section and compares. `names` are pairs of what the runbook calls something and what it is here. An id that
 * the runbook shows stands for the one that was printed in its place, from then on. The last key that was printed is in
 * the shell's PET_CATALOG_KEY.
 */
export async function follow(steps: readonly Step[], shell: Shell, names: Map<string, string>): Promise<void> {
  assert.ok(steps.length > 0, 'the section has no commands');
  for (const { command, output } of steps) {
    const here = [...names].reduce((text, [there, actual]) => text.replaceAll(there, actual), command);
    const { output: printed, code } = await shell.run(here);
    const told = [...names].reduce((text, [there, actual]) => text.replaceAll(actual, there), printed);
    const [secret] = /^petcat_live_\w+$/m.exec(printed) ?? [];
    if (secret) await shell.run(`PET_CATALOG_KEY=${secret}`);
    const context = `$ ${command}\n${told}\n--- the runbook says:\n${output}`;
    const found = patternOf(output).exec(told);
    assert.ok(found, context);
    for (const [index, there] of (output.match(VARYING) ?? []).entries())
      if (there.startsWith('key_') && !names.has(there)) names.set(there, found[index + 1] ?? there);
    // A doctor who finds a problem fails, and so does whatever says why it refused.
    if (!/^PROBLEM|^pet-catalog: |^Could not connect/m.test(output)) assert.equal(code, 0, context);
  }
}

/** Matches what the runbook says, blanks in any number; a line that is `…` alone stands for any lines. */
function patternOf(output: string): RegExp {
  const lines = output.split('\n').map((line) => {
    if (line === '…') return '([\\s\\S]*?)';
    const parts = line.split(VARYING).map((part) => RegExp.escape(part).replace(/(?:\\x20| |\t|\\t)+/g, '\\s+'));
    const kinds = line.match(VARYING) ?? [];
    return parts.map((part, index) => part + patternOfVarying(kinds[index])).join('');
  });
  return new RegExp(`^${lines.join('\\n')}$`);
}

function patternOfVarying(kind: string | undefined): string {
  if (kind === undefined) return '';
  if (kind === '…') return '([^\\n]*?)';
  if (kind.startsWith('petcat_')) return '(petcat_live_\\w+)';
  return kind.startsWith('key_') ? '(key_\\w{16})' : '(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ)';
}
