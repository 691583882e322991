import type { Command } from 'commander';
import { type Report, runText, suiteOf } from '../client/verdict.ts';
import { Mistake } from '../mistake.ts';
import { PLAIN } from '../report/write.ts';
import { checkFormat, type Format, withFormats, written } from './format.ts';
import { type Invocation, readOptionFile } from './invocation.ts';

/** Adds `report`. */
export function addReportCommand(program: Command, invocation: Invocation): void {
  withFormats(program.command('report <file>'))
    .description('Write a verdict that --json printed in another form')
    .action((file: string, format: Format) => {
      checkFormat(format);
      const reports = readReports(file);
      const formatted = format.json
        ? JSON.stringify(reports)
        : written(
            reports.map((each) => suiteOf(each)),
            format,
          );
      invocation.print(
        formatted ??
          runText(
            reports.map((report) => ({ report, allowed: {} })),
            PLAIN,
          ),
      );
    });
}

function readReports(file: string): readonly Report[] {
  try {
    return JSON.parse(readOptionFile('The report', file).toString());
  } catch (error) {
    if (error instanceof Mistake) throw error;
    throw new Mistake(`${file} is no report; give what referee client --json printed`);
  }
}
