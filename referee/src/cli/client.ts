import type { Command } from 'commander';
import { type Learned, learnedFrom, UNKNOWN_CLIENT } from '../client/learned.ts';
import type { Play } from '../client/note.ts';
import { type Planned, planFor } from '../client/plan.ts';
import { type Asked, type Played, reportOn } from '../client/report.ts';
import { isDoubtful } from '../client/rules.ts';
import { parseScript } from '../client/script.ts';
import { clientSuite } from '../client/suite.ts';
import { Mistake } from '../mistake.ts';
import { openProxy, type ProxyOptions } from '../proxy/proxy.ts';
import { type Ended, runToEnd, startApi } from './command.ts';
import { collect, type Invocation, readCount, readDuration } from './invocation.ts';
import { askedBy, type ProxyFlags, proxyOf, readOptions, withProxyOptions } from './options.ts';
import { type OutputOptions, openOutput, withOutput } from './output.ts';

const TIMEOUT_SECONDS_MAX = 7 * 86_400;
const PLAYS_MAX = 10_000;
const JOBS_MAX = 32;
const LEARNING_RUNS = 2;
/** The faults of --fast, each at the first call that it is planned for. */
const FAST = ['lost', 'limit:1', 'error*2', 'error*12', 'revoked', 'cut'];
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s;

interface Options extends ProxyFlags, OutputOptions {
  readonly start?: string;
  readonly before?: string;
  readonly timeout: string;
  readonly plays: string | number;
  readonly jobs: string | number;
  readonly env?: readonly string[];
  readonly expected?: string;
  readonly require?: string;
  readonly fast?: true;
  readonly strict?: true;
  readonly allowFailure?: true;
  readonly partial?: true;
  readonly scripts?: readonly string[];
}

/** Adds `client`. */
export function addClientCommand(program: Command, invocation: Invocation): void {
  withProxyOptions(withOutput(program.command('client [scripts...]')))
    .usage('[options] [scripts...] -- <command> [args...]')
    .description(
      'Run a client before an API that refuses, fails and loses answers, and judge what it does. Exits with 2 if that could not be tried, 1 if a rule is broken, 4 if the command failed without need, 3 if a step was not reached',
    )
    .option('--start <command>', 'start the API by the shell, anew for each play')
    .option('--before <command>', 'run by the shell before each play, such as a reset of a database')
    .option('--env <assignment>', 'a variable of the command, such as API_URL={url}; {origin} and {port} too', collect)
    .option('--plays <count>', 'how many faults are tried, or all', '24')
    .option('--fast', 'six plays, the most telling, for every push')
    .option('--jobs <count>', 'how many plays run side by side, with --start', '1')
    .option('--timeout <duration>', 'how long the command may take each time', '5m')
    .option('--expected <file>', 'failures that are known: a kind or a script, and a rule, in each line')
    .option('--require <rule>', 'recovers: a client that does not retry breaks a rule too')
    .option('--strict', 'exit with 3 if a rule that applies was not tested')
    .option('--allow-failure', 'a command that fails under a script is no fault')
    .option('--partial', 'a step of a script that is not reached is no fault')
    .action(async (_operands: string[], _: object, self: Command) => {
      await judgeClient(self, invocation);
    });
}

async function judgeClient(self: Command, invocation: Invocation): Promise<void> {
  const options = readOptions<Options>(self);
  const { scripts: given, words } = operandsOf(self);
  const scripts = given.length > 0 ? given : (options.scripts ?? []);
  for (const script of scripts) parseScript(script);
  const wanted: Asked = {
    ...askedBy(options),
    isStrict: options.strict === true,
    isFailureAllowed: options.allowFailure === true,
    isPartialAllowed: options.partial === true,
  };
  const theatre = new Theatre(words, options, invocation);
  using output = openOutput(options, invocation);
  const played = await play(scripts, theatre, wanted);
  const report = reportOn(played, wanted);
  output.write([clientSuite(report, wanted.customs)], report);
  if (report.exit.code !== 0) throw new Mistake(report.exit.code === 2 ? report.exit.reason : '', report.exit.code);
}

/** Commander drops the `--`, which the operands of its root alone still have. */
function operandsOf(self: Command): { scripts: string[]; words: string[] } {
  let root = self;
  while (root.parent) root = root.parent;
  const { rawArgs } = root as Command & { readonly rawArgs: readonly string[] };
  const place = rawArgs.indexOf('--');
  const words = place < 0 ? [] : rawArgs.slice(place + 1);
  if (words.length === 0) throw new Mistake('The command is missing; write it after --, such as -- npm test');
  return { scripts: self.args.slice(0, self.args.length - words.length), words };
}

/** Learns, then plays the scripts that are given, or else faults aimed at what was learned. */
async function play(given: readonly string[], theatre: Theatre, { customs }: Asked): Promise<Played> {
  const startedMs = performance.now();
  const isScripted = given.length > 0;
  const learned = await theatre.learn({ mayFail: isScripted });
  const isWhole = !isScripted && theatre.playsMax === undefined;
  const planned = isScripted ? given.map((script) => ({ script, kind: '' })) : planFor(learned, customs, isWhole);
  const first = (fault: string) => planned.find(({ script }) => script.startsWith(`${fault}@`)) ?? [];
  const inTurn = theatre.isFast ? FAST.flatMap(first) : planned.slice(0, theatre.playsMax);
  const chosen = isScripted ? planned : inTurn;
  theatre.tell(`${chosen.length} of ${planned.length} plays, each runs the command once`);
  const plays = await theatre.playAll(chosen, (each) => isDoubtful(each, learned, customs));
  const durationMs = Math.round(performance.now() - startedMs);
  const left = planned.filter((each) => !chosen.includes(each)).map(({ kind }) => kind);
  return { plays, planned: planned.length, durationMs, learned, isScripted, isWhole, left };
}

/** Runs the command before the API, under one script after the other. */
class Theatre {
  readonly #words: readonly string[];
  readonly #options: Options;
  readonly #invocation: Invocation;
  readonly #proxy: Omit<ProxyOptions, 'script' | 'upstream'>;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #timeoutMs: number;
  readonly #jobs: number;
  /** Undefined for all. */
  readonly playsMax: number | undefined;
  readonly isFast: boolean;

  /** Throws `Mistake` for options that are wrong. */
  constructor(words: readonly string[], options: Options, invocation: Invocation) {
    const { upstream, start, plays, jobs, timeout, fast } = options;
    this.isFast = fast === true;
    if (upstream === undefined && start === undefined) {
      throw new Mistake('--upstream URL or --start COMMAND is missing; one of them says where the API is');
    }
    this.#words = words;
    this.#options = options;
    this.#invocation = invocation;
    this.#proxy = proxyOf(options);
    this.#variables = variablesOf(options);
    this.#timeoutMs = readDuration(timeout, '--timeout', { min: 1, max: TIMEOUT_SECONDS_MAX }) * 1_000;
    this.playsMax =
      plays === 'all' ? undefined : readCount(plays, '--plays', { min: 1, max: PLAYS_MAX, or: ', or all' });
    this.#jobs = readCount(jobs, '--jobs', { min: 1, max: JOBS_MAX });
    if (this.#jobs > 1 && start === undefined)
      throw new Mistake('--jobs needs --start, which gives each play its own API');
  }

  tell(text: string): void {
    this.#invocation.tell(`api-referee: ${text}`);
  }

  /**
   * Runs the command without a fault. Throws `Mistake` if it fails, since such a client cannot be judged; `mayFail`:
   * then it is judged by its plays alone.
   */
  async learn({ mayFail }: { mayFail: boolean }): Promise<Learned> {
    this.tell(`learning from ${LEARNING_RUNS} runs without a fault`);
    const runs: Play['requests'][] = [];
    for (let run = 0; run < LEARNING_RUNS; run += 1) {
      const { play, ended } = await this.#play('ok');
      if (play.failure !== undefined) throw new Mistake(play.failure);
      if (ended.exit !== 0 && mayFail) return UNKNOWN_CLIENT;
      if (ended.exit !== 0) {
        const how = ended.timedOut ? 'does not end in time' : `fails (exit ${ended.exit ?? 'by a signal'})`;
        throw new Mistake(`The command ${how} without a fault, so that it cannot be judged${wrote(ended)}`);
      }
      runs.push(play.requests);
    }
    const learned = learnedFrom(runs);
    if (learned.calls.length === 0) throw new Mistake('No request came: does the command use REFEREE_URL?');
    return learned;
  }

  /** Plays scripts, side by side if asked, and doubtful ones again; the first one that the upstream fails is the last. */
  async playAll(chosen: readonly Pick<Planned, 'script'>[], isDoubtful: (play: Play) => boolean): Promise<Play[]> {
    const plays: Play[] = [];
    let next = 0;
    let isOver = false;
    const work = async () => {
      while (next < chosen.length && !isOver) {
        const place = next;
        next += 1;
        this.#invocation.progress('playing', place + 1, chosen.length);
        const played = () => this.#play(chosen[place]?.script ?? '');
        const { play: first } = await played();
        const play = isDoubtful(first) ? (await played()).play : first;
        plays[place] = play;
        isOver ||= play.failure !== undefined;
      }
    };
    await Promise.all(Array.from({ length: this.#jobs }, work));
    return plays.filter(Boolean);
  }

  /** Plays one script to the command. Throws `Mistake` if it could not be tried, or was interrupted. */
  async #play(script: string): Promise<{ play: Play; ended: Ended }> {
    const { start, before, upstream } = this.#options;
    const { env, stop } = this.#invocation;
    if (before !== undefined) await this.#prepare(before);
    await using api = start === undefined ? undefined : await startApi(start, { env, stop, upstream });
    await using proxy = await openProxy({ ...this.#proxy, upstream: api?.url ?? upstream ?? '', script });
    const { origin, port } = new URL(proxy.url);
    const filled = (text: string) =>
      text.replaceAll('{url}', proxy.url).replaceAll('{origin}', origin).replaceAll('{port}', port);
    const given = Object.fromEntries(Object.entries(this.#variables).map(([name, value]) => [name, filled(value)]));
    const options = { env: { ...env, ...given }, timeoutMs: this.#timeoutMs, stop };
    const ended = await runToEnd(this.#words.map(filled), options);
    if (stop.aborted) throw new Mistake('Interrupted', Number(stop.reason));
    const play = await proxy.end();
    return { play: { ...play, command: { exit: ended.exit, timedOut: ended.timedOut } }, ended };
  }

  async #prepare(before: string): Promise<void> {
    const { env, stop } = this.#invocation;
    const { exit, tail } = await runToEnd(['sh', '-c', before], { env, timeoutMs: this.#timeoutMs, stop });
    if (exit !== 0) throw new Mistake(`The command of --before failed (exit ${exit})${wrote({ tail })}`);
  }
}

/** The end of what a command wrote, after a line that says how it ended. */
function wrote({ tail }: Pick<Ended, 'tail'>): string {
  return tail.trim() === '' ? '; it wrote nothing' : `:\n${tail.trimEnd()}`;
}

function variablesOf({ env = [] }: Options): Record<string, string> {
  const variables: Record<string, string> = { REFEREE_URL: '{url}' };
  for (const assignment of env) {
    const [, name = '', value = ''] = ASSIGNMENT.exec(assignment) ?? [];
    if (name === '') throw new Mistake(`--env is "${assignment}"; write NAME=VALUE, such as API_URL={url}`);
    variables[name] = value;
  }
  return variables;
}
