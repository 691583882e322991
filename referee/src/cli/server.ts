import type { Command } from 'commander';
import { Mistake } from '../mistake.ts';
import { type Judgement, judge, type RefereeOptions, RULES, selected } from '../server/server.ts';
import { listOf, suiteOf, worstOf } from '../trial/report.ts';
import { LEVELS, type Level, type Report } from '../trial/rule.ts';
import { realPace } from '../trial/trial.ts';
import { collect, type Invocation } from './invocation.ts';
import { type OutputOptions, openOutput, withOutput } from './output.ts';

/** The published plans, by the requests of a minute and of a day. */
const PLANS: Readonly<Record<string, readonly [minute: number, day: number]>> = {
  free: [60, 1_000],
  pro: [300, 10_000],
  business: [1_000, 100_000],
};
const CONCURRENCY_MAX = 200;
const REPEAT_MAX = 100;
const IN_A_HEADER = /^[\x21-\x7e]+$/;
const WORDS = { passed: 'passed', failed: 'failed', error: 'in error', skipped: 'not judged' };

interface Options extends OutputOptions {
  readonly key?: string;
  readonly limitedKey?: string;
  readonly otherEnvironmentKey?: string;
  readonly plan?: string;
  readonly keyPlan?: string;
  readonly full?: true;
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
  readonly level: Level;
  readonly strict?: true;
  readonly concurrency: string;
  readonly repeat: string;
  readonly list?: true;
}

/** Adds `server`. */
export function addServerCommand(program: Command, invocation: Invocation): void {
  withOutput(program.command('server [url]'))
    .description('Judge any server that claims the published interface, over HTTP, by its base address')
    .option('--key <key>', 'a key of the server (required)')
    .option('--limited-key <key>', 'a fresh key of the free plan, to be used up; without it limits are not judged')
    .option('--other-environment-key <key>', 'a key of the other environment')
    .option('--plan <plan>', 'the plan of the limited key (free, pro or business); its Limit is judged then')
    .option('--key-plan <plan>', 'the plan of --key; its Limit is judged then')
    .option('--full', 'also judge what must wait for a window or a ban, about two minutes')
    .option('--only <id>', 'judge this rule alone; repeatable', collect)
    .option('--skip <id>', 'leave this rule out; repeatable', collect)
    .option('--level <level>', 'published: the interface alone; ours: also what it leaves open', 'published')
    .option('--strict', 'exit with 3 if a rule could not be judged')
    .option('--concurrency <count>', 'how many requests ask for the last token at once', '16')
    .option('--repeat <count>', 'judge so many times, and report the worst verdict on each rule', '1')
    .option('--list', 'list the rules, and judge nothing')
    .action(async (address: string | undefined, options: Options) => {
      using output = openOutput(options, invocation);
      const wanted = readSelection(options);
      if (options.list) return invocation.print(options.json ? JSON.stringify(wanted) : listOf(wanted));
      const { report, failure } = await run(readAddress(address), options, invocation);
      output.write([{ ...suiteOf(report), words: WORDS }], report);
      if (failure !== undefined) throw new Mistake(failure);
      if (report.failed > 0) throw new Mistake('', 1);
      // What needs --full is judged with it only.
      const isOpen = report.rules.some(({ id, verdict }) => {
        return verdict === 'skipped' && (options.full || RULES.find((rule) => rule.id === id)?.place !== 'waits');
      });
      if (options.strict && isOpen) throw new Mistake('', 3);
    });
}

async function run(url: URL, options: Options, invocation: Invocation): Promise<Judgement> {
  const { key, limitedKey, otherEnvironmentKey } = options;
  if (!key) throw new Mistake('--key is missing; give a key of the server');
  const keys = { '--key': key, '--limited-key': limitedKey, '--other-environment-key': otherEnvironmentKey };
  const [unfit] = Object.entries(keys).find(([, value]) => value !== undefined && !IN_A_HEADER.test(value)) ?? [];
  if (unfit)
    throw new Mistake(`${unfit} is empty, or has a space, a line break or a letter beyond ASCII; give a key alone`);
  const repeat = readCount(options.repeat, '--repeat', { min: 1, max: REPEAT_MAX });
  const total = repeat * readSelection(options).length;
  let judged = 0;
  const settings: RefereeOptions = {
    ...options,
    url,
    key,
    ...limitsOfPlans(options),
    isFull: options.full === true,
    concurrency: readCount(options.concurrency, '--concurrency', { min: 2, max: CONCURRENCY_MAX }),
    pace: realPace(invocation.progress),
    onVerdict: () => {
      judged += 1;
      invocation.progress('Judging', judged, total);
    },
  };
  invocation.progress('Judging', judged, total);
  let { report, failure } = await judge(settings);
  const reports: [Report, ...Report[]] = [report];
  for (let times = 1; times < repeat && failure === undefined; times += 1) {
    ({ report, failure } = await judge(settings));
    reports.push(report);
  }
  return { report: worstOf(reports), failure };
}

/** The limits of the plans that are named; a list of rules has those of plans too. Throws `Mistake`. */
function limitsOfPlans({ plan, keyPlan, list }: Options): Pick<RefereeOptions, 'planLimits' | 'keyPlanLimits'> {
  const read = (option: string, name: string | undefined) => {
    if (name === undefined) return list && [];
    const limits = Object.hasOwn(PLANS, name) && PLANS[name];
    if (!limits) throw new Mistake(`${option} is "${name}"; write ${Object.keys(PLANS).join(', ')}`);
    return limits;
  };
  return { planLimits: read('--plan', plan), keyPlanLimits: read('--key-plan', keyPlan) };
}

/** The rules that the options select. Throws `Mistake`. */
function readSelection(options: Options) {
  const { level, only = [], skip = [] } = options;
  if (!LEVELS.includes(level)) throw new Mistake(`--level is "${level}"; write ${LEVELS.join(' or ')}`);
  for (const [option, ids] of [['--only', only] as const, ['--skip', skip] as const]) {
    const unknown = ids.find((id) => !RULES.some((rule) => rule.id === id));
    if (unknown !== undefined) throw new Mistake(`${option} is "${unknown}"; --list names the rules`);
  }
  const rules = selected({ level, only, skip, ...limitsOfPlans(options) });
  if (rules.length === 0) throw new Mistake('--skip and --only leave no rule');
  return rules;
}

function readAddress(text: string | undefined): URL {
  const url = URL.parse(text ?? '');
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Mistake(`The address is "${text ?? ''}"; write a base address such as http://127.0.0.1:8080/v1`);
  }
  return url;
}

function readCount(text: string, option: string, { min, max }: { min: number; max: number }): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= min && count <= max))
    throw new Mistake(`${option} is "${text}"; write a number from ${min} to ${max}`);
  return count;
}
