import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { ENV, runIn } from './fixtures.ts';

/** The members of the GitHub Action that its tests read. */
export interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default?: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

interface Step {
  readonly shell: string;
  readonly run: string;
  readonly env: Readonly<Record<string, string>>;
  readonly 'working-directory'?: string;
}

export const REFEREE = fileURLToPath(new URL('../..', import.meta.url));
export const ACTION_TEXT = readFileSync(join(REFEREE, 'action.yml'), 'utf8');
export const ACTION: Action = parse(ACTION_TEXT);

/**
 * Runs the steps of the action as a runner does, up to the first one that fails, in the checkout or in another copy of
 * `referee/`. `path` comes first on the PATH.
 */
export async function runAction(
  given: Readonly<Record<string, string>>,
  { workspace, path, referee = REFEREE }: { workspace: string; path: string; referee?: string },
) {
  const filled = (text: string) =>
    text.replaceAll(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, name) => given[name] ?? ACTION.inputs[name]?.default ?? '');
  const summary = join(workspace, 'summary.md');
  const script = join(workspace, 'step.sh');
  let [code, output]: [number | null, string] = [0, ''];
  for (const { run, env, 'working-directory': cwd = '.' } of ACTION.runs.steps) {
    writeFileSync(script, run);
    const inputs = Object.entries(env).map(([name, value]) => [name, filled(value)]);
    const ran = await runIn(
      join(workspace, filled(cwd)),
      ['bash', '--noprofile', '--norc', '-eo', 'pipefail', script],
      {
        ...ENV,
        PATH: `${path}:${process.env.PATH}`,
        GITHUB_ACTION_PATH: referee,
        GITHUB_STEP_SUMMARY: summary,
        RUNNER_TEMP: workspace,
        ...Object.fromEntries(inputs),
      },
    );
    [code, output] = [ran.code, output + ran.output];
    if (code !== 0) break;
  }
  return { code, output, summary: existsSync(summary) ? readFileSync(summary, 'utf8') : '' };
}
