import type { Command } from 'commander';
import { PLANS } from '../catalog/plan.ts';
import { type Judgement, judge, NoServer, type RefereeOptions, RULES, selected } from '../conformance/referee.ts';
import { listOf, suiteOf, worstOf } from '../conformance/report.ts';
import { LEVELS, type Level, type Report } from '../conformance/rule.ts';
import { realPace } from '../conformance/trial.ts';
import { DEFECTS } from '../rehearsal/defects/defects.ts';
import { COLOURED, PLAIN, textOf } from '../verdict/verdict-format.ts';
import { checkFormat, type Format, withFormats, written } from './format.ts';
import { type Invocation, UsageError } from './invocation.ts';
import { table } from './table.ts';

const CONCURRENCY_MAX = 200;
const REPEAT_MAX = 100;
const IN_A_HEADER = /^[\x21-\x7e]+$/;
const WORDS = { passed: 'passed', failed: 'failed', error: 'in error', skipped: 'not judged' };

interface Options extends Format {
  readonly key?: string;
  readonly limitedKey?: string;
  readonly otherEnvironmentKey?: string;
  readonly plan?: string;
  readonly full?: true;
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly level: Level;
  readonly strict?: true;
  readonly concurrency: string;
  readonly repeat: string;
  readonly list?: true;
}

/** Adds `conformance`. */
export function addConformanceCommand(program: Command, invocation: Invocation): void {
  const collect = (value: string, before: readonly string[] = []) => [...before, value];
  withFormats(program.command('conformance [url]'))
    .description('Judge any server that claims the published interface, over HTTP, by its base address')
    .option('--key <key>', 'a key of the server (required)')
    .option('--limited-key <key>', 'a fresh key of the free plan, to be used up; without it limits are not judged')
    .option('--other-environment-key <key>', 'a key of the other environment')
    .option('--plan <plan>', 'the plan of the limited key (free, pro or business); its Limit is judged then')
    .option('--full', 'also judge what must wait for a window or a ban, about two minutes')
    .option('--only <id>', 'judge this rule alone; repeatable', collect)
    .option('--skip <id>', 'leave this rule out; repeatable', collect)
    .option('--level <level>', 'published: the interface alone; ours: also what it leaves open', 'published')
    .option('--strict', 'exit with 3 if a rule could not be judged')
    .option('--concurrency <count>', 'how many requests ask for the last token at once', '16')
    .option('--repeat <count>', 'judge so many times, and report the worst verdict on each rule', '1')
    .option('--list', 'list the rules, and judge nothing')
    .action(async (address: string | undefined, options: Options) => {
      checkFormat(options);
      const wanted = readSelection(options);
      if (options.list) return invocation.print(options.json ? JSON.stringify(wanted) : listOf(wanted));
      const { report, failure } = await run(readAddress(address), options, invocation);
      invocation.print(printed(report, options, invocation));
      if (failure !== undefined) throw new UsageError(failure);
      if (report.failed > 0) throw new UsageError('', 1);
      // What needs --full is judged with it only.
      const isOpen = report.rules.some(({ id, verdict }) => {
        return verdict === 'skipped' && (options.full || RULES.find((rule) => rule.id === id)?.place !== 'waits');
      });
      if (options.strict && isOpen) throw new UsageError('', 3);
    });
}

async function run(url: URL, options: Options, invocation: Invocation): Promise<Judgement> {
  const { key, limitedKey, otherEnvironmentKey } = options;
  if (!key) throw new UsageError('--key is missing; give a key of the server');
  const keys = { '--key': key, '--limited-key': limitedKey, '--other-environment-key': otherEnvironmentKey };
  const [unfit] = Object.entries(keys).find(([, value]) => value !== undefined && !IN_A_HEADER.test(value)) ?? [];
  if (unfit)
    throw new UsageError(`${unfit} is empty, or has a space, a line break or a letter beyond ASCII; give a key alone`);
  const repeat = readCount(options.repeat, '--repeat', { min: 1, max: REPEAT_MAX });
  const total = repeat * readSelection(options).length;
  let judged = 0;
  const settings: RefereeOptions = {
    ...options,
    url,
    key,
    planLimits: planLimits(options),
    isFull: options.full === true,
    concurrency: readCount(options.concurrency, '--concurrency', { min: 2, max: CONCURRENCY_MAX }),
    pace: realPace(invocation.progress),
    onVerdict: () => {
      judged += 1;
      invocation.progress('Judging', judged, total);
    },
  };
  invocation.progress('Judging', judged, total);
  try {
    let { report, failure } = await judge(settings);
    const reports: [Report, ...Report[]] = [report];
    for (let times = 1; times < repeat && failure === undefined; times += 1) {
      ({ report, failure } = await judge(settings));
      reports.push(report);
    }
    return { report: worstOf(reports), failure };
  } catch (error) {
    throw error instanceof NoServer ? new UsageError(error.message) : error;
  }
}

function printed(report: Report, options: Options, invocation: Invocation): string {
  const formatted = options.json ? JSON.stringify(report) : written([suiteOf(report)], options);
  if (formatted !== undefined) return formatted;
  const style = invocation.hasColours('stdout') ? COLOURED : PLAIN;
  return textOf(suiteOf(report), { style, words: WORDS });
}

function planLimits({ plan, list }: Options): readonly number[] | undefined {
  if (plan === undefined) return list && [];
  const limits = Object.hasOwn(PLANS, plan) && PLANS[plan as keyof typeof PLANS];
  if (!limits) throw new UsageError(`--plan is "${plan}"; write ${Object.keys(PLANS).join(', ')}`);
  return [limits.minute, limits.day];
}

/** The rules that the options select. Throws `UsageError`. */
function readSelection(options: Options) {
  const { level, only = [], skip = [] } = options;
  if (!LEVELS.includes(level)) throw new UsageError(`--level is "${level}"; write ${LEVELS.join(' or ')}`);
  for (const [option, ids] of [['--only', only] as const, ['--skip', skip] as const]) {
    const unknown = ids.find((id) => !RULES.some((rule) => rule.id === id));
    if (unknown !== undefined) throw new UsageError(`${option} is "${unknown}"; --list names the rules`);
  }
  const rules = selected({ level, only, skip, planLimits: planLimits(options) });
  if (rules.length === 0) throw new UsageError('--skip and --only leave no rule');
  return rules;
}

function readAddress(text: string | undefined): URL {
  const url = URL.parse(text ?? '');
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new UsageError(`The address is "${text ?? ''}"; write a base address such as http://127.0.0.1:8080/v1`);
  }
  return url;
}

function readCount(text: string, option: string, { min, max }: { min: number; max: number }): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= min && count <= max))
    throw new UsageError(`${option} is "${text}"; write a number from ${min} to ${max}`);
  return count;
}

/** Adds `defects`. */
export function addDefectsCommand(program: Command, invocation: Invocation): void {
  program
    .command('defects')
    .description('List the defects that `serve --defect` gives a service in rehearsal, with the rule that each breaks')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }) => {
      const waiting = new Set(RULES.filter(({ place }) => place === 'waits').map(({ id }) => id));
      const defects = DEFECTS.map(({ name, rule, description }) => {
        return { name, rule, description, waits: waiting.has(rule) };
      });
      const rows = defects.map(({ name, rule, description }) => [name, rule, description]);
      invocation.print(json ? JSON.stringify(defects) : table(['NAME', 'RULE', 'WHAT IT DOES'], rows));
    });
}
