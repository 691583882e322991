import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { judge, NoServer } from '../../conformance/referee.ts';
import { COLOURED, junitOf, listOf, PLAIN, textOf } from '../../conformance/report.ts';
import { LEVELS, type Level, type Report } from '../../conformance/rule.ts';
import { RULES } from '../../conformance/rules.ts';
import type { Pace } from '../../conformance/trial.ts';
import { type Invocation, UsageError } from '../invocation.ts';

const CONCURRENCY_MAX = 200;
const PROGRESS_SECONDS = 1;

interface Options {
  readonly key?: string;
  readonly limitedKey?: string;
  readonly otherEnvironmentKey?: string;
  readonly full?: true;
  readonly only?: string;
  readonly level: string;
  readonly concurrency: string;
  readonly json?: true;
  readonly junit?: true;
  readonly list?: true;
}

/** Adds `conformance`. */
export function addConformanceCommand(program: Command, invocation: Invocation): void {
  program
    .command('conformance [url]')
    .description('Judge any server that claims the published interface, over HTTP, by its base address')
    .option('--key <key>', 'a key of the server (required)')
    .option('--limited-key <key>', 'a fresh key of the free plan, to be used up; without it limits are not judged')
    .option('--other-environment-key <key>', 'a key of the other environment')
    .option('--full', 'also judge what must wait for a window or a ban, about two minutes')
    .option('--only <id>', 'judge one rule')
    .option('--level <level>', 'published: the interface alone; ours: also what it leaves open', 'ours')
    .option('--concurrency <count>', 'how many requests ask for the last token at once', '16')
    .option('--json', 'print JSON')
    .option('--junit', 'print JUnit XML')
    .option('--list', 'list the rules, and judge nothing')
    .action(async (address: string | undefined, options: Options) => {
      if (options.list) return invocation.print(listed(options));
      const report = await run(readAddress(address), options, invocation);
      invocation.print(printed(report, options, invocation));
      if (report.rules.some(({ verdict }) => verdict === 'failed')) throw new UsageError('', 1);
    });
}

async function run(url: URL, options: Options, invocation: Invocation): Promise<Report> {
  const { key, limitedKey, otherEnvironmentKey, full, only } = options;
  if (!key) throw new UsageError('--key is missing; give a key of the server');
  if (only !== undefined && !RULES.some(({ id }) => id === only)) {
    throw new UsageError(`--only is "${only}"; --list names the rules`);
  }
  const level = readLevel(options.level);
  const total = RULES.filter((rule) => (only ? rule.id === only : level === 'ours' || rule.level === level)).length;
  let judged = 0;
  invocation.progress('Judging', judged, total);
  try {
    return await judge({
      url,
      key,
      limitedKey,
      otherEnvironmentKey,
      level,
      only,
      isFull: full === true,
      concurrency: readConcurrency(options.concurrency),
      pace: realPace(invocation),
      onVerdict: () => {
        judged += 1;
        invocation.progress('Judging', judged, total);
      },
    });
  } catch (error) {
    throw error instanceof NoServer ? new UsageError(error.message) : error;
  }
}

function realPace(invocation: Invocation): Pace {
  return {
    now: () => performance.now() / 1000,
    async wait(seconds, why) {
      for (let waited = 0; waited < seconds; waited += PROGRESS_SECONDS) {
        if (seconds > PROGRESS_SECONDS) invocation.progress(`Waiting: ${why}`, waited, seconds);
        await sleep(Math.min(PROGRESS_SECONDS, seconds - waited) * 1000);
      }
      if (seconds > PROGRESS_SECONDS) invocation.progress(`Waiting: ${why}`, seconds, seconds);
    },
  };
}

function printed(report: Report, { json, junit }: Options, { env }: Invocation): string {
  if (json) return JSON.stringify(report);
  if (junit) return junitOf(report);
  return textOf(report, process.stdout.isTTY && !env.NO_COLOR ? COLOURED : PLAIN);
}

function listed({ json, level: text }: Options): string {
  const level = readLevel(text);
  const rules = RULES.filter((rule) => level === 'ours' || rule.level === level);
  return json ? JSON.stringify(rules) : listOf(rules);
}

function readAddress(text: string | undefined): URL {
  const url = URL.parse(text ?? '');
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new UsageError(`The address is "${text ?? ''}"; write a base address such as http://127.0.0.1:8080/v1`);
  }
  return url;
}

function readLevel(text: string): Level {
  const level = LEVELS.find((each) => each === text);
  if (!level) throw new UsageError(`--level is "${text}"; write ${LEVELS.join(' or ')}`);
  return level;
}

function readConcurrency(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= 2 && count <= CONCURRENCY_MAX)) {
    throw new UsageError(`--concurrency is "${text}"; write a number from 2 to ${CONCURRENCY_MAX}`);
  }
  return count;
}
