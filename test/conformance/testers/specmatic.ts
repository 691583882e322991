import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CONTRACT, runTool, type Tester } from './tester.ts';

/** Specmatic, with the categories alone: all paths take it many minutes. */
export const SPECMATIC: Tester = {
  name: 'Specmatic',
  packages: ['specmatic'],
  programs: ['java'],
  command: `apiKey=KEY specmatic test openapi.json --testBaseURL=URL --filter="PATH='/categories'"`,
  atOnce: 3,
  async run(target) {
    const { service, key, folder } = target;
    const args = ['test', CONTRACT, `--testBaseURL=${service.url}`, `--filter=PATH='/categories'`];
    await runTool(target, { name: 'specmatic', args: [...args, `--junitReportDir=${folder}`], env: { apiKey: key } });
    const report = readFileSync(join(folder, 'TEST-junit-jupiter.xml'), 'utf8');
    const cases = report.split('<testcase ').slice(1);
    const failed = cases.filter((each) => each.includes('<failure'));
    return failed.map((each) => /Scenario: ([^"]*)/.exec(each)?.[1] ?? '');
  },
};
