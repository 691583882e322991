import { appendFileSync, closeSync, openSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { Mistake } from '../mistake.ts';
import { badgeOf } from '../report/badge.ts';
import { htmlOf } from '../report/html.ts';
import { annotationsOf, coloured, junitOf, markdownOf, type Suite, textOf, withoutCommands } from '../report/write.ts';
import type { Invocation } from './invocation.ts';

/** The forms in which a verdict is written; text unless another one is asked for. */
export interface OutputOptions {
  readonly json?: true;
  readonly junit?: true;
  readonly github?: true;
  readonly html?: string;
  readonly badge?: string;
  readonly output?: string;
}

/** Adds the options of a verdict's form. */
export function withOutput(command: Command): Command {
  return command
    .option('--json', 'print JSON')
    .option('--junit', 'print JUnit XML')
    .option('--github', 'also print annotations, and write the summary of a GitHub workflow')
    .option('--html <file>', 'also write a page')
    .option('--badge <file>', 'also write the verdict in two words, as SVG')
    .option('--output <file>', 'write the verdict in the format to a file, and print the text');
}

/** Opens the files before anything is tried, so that nothing is tried in vain. Throws `Mistake`, as `write` does. */
export function openOutput(options: OutputOptions, invocation: Invocation) {
  const { json, junit, github, html, badge, output } = options;
  if (json && junit) throw new Mistake('--json and --junit cannot be combined');
  const files = new Map(
    Object.entries({ '--html': html, '--badge': badge, '--output': output }).flatMap(([option, file]) =>
      file === undefined ? [] : [[option, tried(option, () => openSync(file, 'w'))] as const],
    ),
  );
  const put = (option: string, text: () => string) => {
    const descriptor = files.get(option);
    if (descriptor !== undefined) tried(option, () => writeFileSync(descriptor, `${text()}\n`));
  };
  return {
    /** Writes verdicts in every form that was asked for; `report` is what --json prints. */
    write(suites: readonly Suite[], report: unknown): void {
      const formatted = json ? JSON.stringify(report) : junit ? junitOf(suites) : undefined;
      const text = suites.map(textOf).join('\n\n');
      const isPrinted = formatted !== undefined && output === undefined;
      const printed = isPrinted ? formatted : invocation.hasColours() ? coloured(text) : text;
      invocation.print(github ? withoutCommands(printed) : printed);
      put('--output', () => formatted ?? text);
      put('--html', () => htmlOf(suites));
      put('--badge', () => badgeOf(suites));
      if (github) writeGithub(suites, invocation);
    },
    [Symbol.dispose]() {
      for (const descriptor of files.values()) closeSync(descriptor);
    },
  };
}

function writeGithub(suites: readonly Suite[], { env, print }: Invocation): void {
  const annotations = annotationsOf(suites);
  if (annotations) print(annotations);
  const { GITHUB_STEP_SUMMARY: file } = env;
  if (file) tried('GITHUB_STEP_SUMMARY', () => appendFileSync(file, `${suites.map(markdownOf).join('\n\n')}\n`));
}

function tried<T>(option: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Mistake(`${option} cannot be written: ${(error as Error).message}`);
  }
}
