import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT, runTool, type Tester } from './tester.ts';

const COLLECTION = join(CHECKOUT, 'collections/pet-catalog.postman_collection.json');

interface Run {
  readonly run: {
    readonly executions: readonly {
      readonly item: { readonly name: string };
      readonly requestError?: { readonly code: string };
      readonly assertions?: readonly { readonly assertion: string; readonly error?: object }[];
    }[];
  };
}

/** newman with the collection that this project generates from its contract. */
export const NEWMAN: Tester = {
  name: 'newman',
  packages: ['newman'],
  command:
    'newman run collections/pet-catalog.postman_collection.json --env-var base_url=URL --env-var PET_CATALOG_KEY=KEY',
  async run(target) {
    const { service, key, folder } = target;
    const file = join(folder, 'run.json');
    const variables = ['--env-var', `base_url=${service.url}`, '--env-var', `PET_CATALOG_KEY=${key}`];
    const reporter = ['--reporters', 'json', '--reporter-json-export', file];
    await runTool(target, { name: 'newman', args: ['run', COLLECTION, ...variables, ...reporter] });
    const { executions } = (JSON.parse(readFileSync(file, 'utf8')) as Run).run;
    return executions.flatMap(({ item, requestError, assertions = [] }) => [
      ...(requestError ? [`${item.name} ${requestError.code}`] : []),
      ...assertions.filter(({ error }) => error).map(({ assertion }) => `${item.name} ${assertion}`),
    ]);
  },
};
