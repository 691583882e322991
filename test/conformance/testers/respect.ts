import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT, CONTRACT, runTool, type Tester } from './tester.ts';

interface Run {
  readonly files: Readonly<
    Record<
      string,
      {
        readonly executedWorkflows: readonly {
          readonly executedSteps: readonly {
            readonly stepId: string;
            readonly checks: readonly { readonly name: string; readonly passed: boolean }[];
          }[];
        }[];
      }
    >
  >;
}

/** Redocly respect, by the workflows that it generates from the contract: one request for each operation. */
export const RESPECT: Tester = {
  name: 'respect',
  packages: [],
  command:
    'redocly generate-arazzo openapi.json -o all.yaml; redocly respect all.yaml --server openapi=URL --input apiKey=KEY',
  async run({ service, key, folder }) {
    const target = { installed: CHECKOUT, folder };
    const [workflows, results] = [join(folder, 'all.yaml'), join(folder, 'results.json')];
    await runTool(target, { name: 'redocly', args: ['generate-arazzo', CONTRACT, '-o', workflows] });
    const input = ['--server', `openapi=${service.url}`, '--input', `apiKey=${key}`, '--json-output', results];
    await runTool(target, { name: 'redocly', args: ['respect', workflows, ...input] });
    const { files } = JSON.parse(readFileSync(results, 'utf8')) as Run;
    const steps = Object.values(files).flatMap(({ executedWorkflows }) =>
      executedWorkflows.flatMap(({ executedSteps }) => executedSteps),
    );
    return steps.flatMap(({ stepId, checks }) =>
      checks.filter(({ passed }) => !passed).map(({ name }) => `${stepId} ${name}`),
    );
  },
};
