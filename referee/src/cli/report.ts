import type { Command } from 'commander';
import type { ClientReport } from '../client/report.ts';
import { clientSuite } from '../client/suite.ts';
import type { Report } from '../limits/rule.ts';
import { limitsSuite } from '../limits/suite.ts';
import { Mistake } from '../mistake.ts';
import type { Suite } from '../report/write.ts';
import { type Invocation, readOptionFile } from './invocation.ts';
import { type OutputOptions, openOutput, withOutput } from './output.ts';

/** Adds `report`. */
export function addReportCommand(program: Command, invocation: Invocation): void {
  withOutput(program.command('report <file>'))
    .description('Write a verdict that --json printed in another form')
    .action((file: string, options: OutputOptions) => {
      const report = readReport(file);
      using output = openOutput(options, invocation);
      output.write([report.suite], report.json);
    });
}

function readReport(file: string): { json: unknown; suite: Suite } {
  const text = readOptionFile('The report', file).toString();
  try {
    const json = JSON.parse(text);
    return { json, suite: 'plays' in json ? clientSuite(json as ClientReport) : limitsSuite(json as Report) };
  } catch {
    throw new Mistake(`${file} is no report; give what api-referee client --json or limits --json printed`);
  }
}
