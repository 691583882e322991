import { join } from 'node:path';
import { CONTRACT, runTool, type Tester } from './tester.ts';

/** Portman: a Postman collection with contract tests, generated from the contract and run by newman. */
export const PORTMAN: Tester = {
  name: 'Portman',
  // It requires tslib, which it does not name.
  packages: ['@apideck/portman', 'tslib'],
  command: 'PORTMAN_BEARER_TOKEN=KEY portman -l openapi.json -b URL -n',
  async run(target) {
    const { service, key, folder } = target;
    const args = ['-l', CONTRACT, '-b', service.url, '-o', join(folder, 'collection.json'), '-n'];
    const printed = await runTool(target, { name: 'portman', args, env: { PORTMAN_BEARER_TOKEN: key } });
    if (!printed.includes('Run Newman against')) throw new Error(`Portman tested nothing: ${printed.slice(0, 1_000)}`);
    const [, failures = ''] = /Newman run failed with: *\n(.*)/.exec(printed) ?? [];
    return failures.split(/, (?=\[)/).filter((each) => each !== '');
  },
};
