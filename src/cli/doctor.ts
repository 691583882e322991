import type { Command } from 'commander';
import {
  type Config,
  ConfigMistakes,
  type ConfigSources,
  findConfig,
  findIneffective,
  readConfig,
  SETTING_NAMES,
} from '../config.ts';
import { utc } from '../stdx/time.ts';
import { isClaimed } from '../storage/sqlite/claim.ts';
import { type Finding, ok, problem, warning } from '../telemetry/finding.ts';
import { VERSION } from '../version.ts';
import { type Invocation, sources, tellIneffective, UsageError, withSettings } from './invocation.ts';
import { findOperator, isListening, operatorNotes } from './operator-note.ts';

const LOOPBACK = /^(127\.|::1$|localhost$)/;
/** A database that is away answers the service's own check within five seconds. */
const ANSWER_MS = 10_000;
const MARKS = { ok: 'ok      ', warning: 'warning ', problem: 'PROBLEM ' } as const;

/** Adds `doctor`, which checks everything that the service depends on and advises on each problem. */
export function addDoctorCommand(program: Command, invocation: Invocation): void {
  withSettings(program.command('doctor').description('Check settings, database, Redis, service'), SETTING_NAMES)
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: true }, self: Command) => {
      const findings = await examineSettings(() => sources(self, invocation));
      const lines = findings.map((each) => {
        const line = `${MARKS[each.status]}${each.check}: ${each.finding}`;
        return each.status === 'ok' ? line : `${line}\n        → ${each.advice}`;
      });
      invocation.print(json ? JSON.stringify(findings) : lines.join('\n'));
      const problems = findings.filter(({ status }) => status === 'problem').length;
      if (problems > 0) throw new UsageError(`${problems} of ${findings.length} checks found problems`, 1);
    });
}

/** Adds `config`, which shows the settings. */
export function addConfigCommand(program: Command, invocation: Invocation): void {
  withSettings(
    program.command('config').description('Show the settings in force, and where each came from'),
    SETTING_NAMES,
  )
    .option('--json', 'print JSON')
    .action(({ json }: { json?: true }, self: Command) => {
      const given = sources(self, invocation);
      tellIneffective(given, invocation);
      readConfig(given, { forService: true });
      const found = findConfig(given);
      const lines = found.map(({ name, value, from }) => `${name}=${value}  (${from})`);
      invocation.print(json ? JSON.stringify(found) : lines.join('\n'));
    });
}

async function examineSettings(readSources: () => ConfigSources): Promise<Finding[]> {
  const ineffective: Finding[] = [];
  try {
    const found = readSources();
    for (const each of findIneffective(found)) ineffective.push(warning('settings', each.finding, each.advice));
    const config = readConfig(found, { forService: true });
    return [...(await examine(config)), ...(await askService(config)), ...ineffective];
  } catch (error) {
    if (!(error instanceof ConfigMistakes)) throw error;
    const advice = 'correct it; `pet-catalog serve --help` lists them all';
    const mistakes = error.mistakes.map((finding) => problem('settings', finding, advice));
    return [versions(), ...mistakes, ...ineffective];
  }
}

/** Checks everything that a service with these settings depends on. */
export async function examine(config: Config): Promise<Finding[]> {
  const { inspectDatabase } = await import('../storage/doctor.ts');
  const findings = [versions(), ...listeners(config), ...(await inspectDatabase(config))];
  if (!config.redis) return findings;
  const { inspectRedis } = await import('../limits/redis/doctor.ts');
  return [...findings, ...(await inspectRedis(config.redis.url))];
}

/** Asks the service of this machine what it cannot use. A note without its service is of one that was killed. */
async function askService(config: Config): Promise<Finding[]> {
  const { database, host, port } = config;
  try {
    const isGone = database.engine === 'sqlite' && !isClaimed(database.file);
    const note = isGone ? undefined : await findOperator(config);
    if (note) return await askAt(note.url, database.engine === 'sqlite');
    const [left] = operatorNotes(config);
    if (left) return [problem('service', `The service at ${left.url} is gone without a stop`, 'see its log')];
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    if (port === 0 || !(await isListening(`http://${address}`))) return [];
    return [problem('service', `No service runs, and something else listens on ${address}`, 'stop it, or set PORT')];
  } catch (error) {
    const finding = `The service cannot be asked: ${(error as Error).message}`;
    return [problem('service', finding, 'run this as the user of the service')];
  }
}

async function askAt(url: string, makesBackups: boolean): Promise<Finding[]> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(`${url}/readyz`, { headers: { connection: 'close' }, signal });
    const ready = (await answer.json()) as { message?: string; database?: string; outages?: string[] };
    if (ready.message === undefined && ready.database === undefined) throw new Error('another program answers there');
    const fails = answer.ok ? (ready.outages ?? []) : [`is not ready: ${ready.message}`];
    const advice = 'see its log; it recovers when the cause is gone';
    const found = fails.map((each) => problem('service', `The service at ${url} ${each}`, advice));
    if (fails.length === 0) found.push(ok('service', `The service at ${url} is ready`));
    return makesBackups ? [...found, await lastBackup(url)] : found;
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    const finding = `The service at ${url} cannot be used: ${cause?.message ?? message}`;
    return [problem('service', finding, 'see its log; restart it if it hangs')];
  }
}

async function lastBackup(url: string): Promise<Finding> {
  const metrics = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const value = (name: string) => Number.parseFloat(metrics.split(`\npet_catalog_backup_${name} `)[1] ?? '0');
  if (value('interval_seconds') === 0)
    return warning('backups', 'The service makes none', 'set BACKUP_DIR to a folder of another disk');
  const at = value('timestamp_seconds');
  return ok('backups', at > 0 ? `The last one was made and checked at ${utc(at)}` : 'None was made yet');
}

function versions(): Finding {
  const { node, sqlite } = process.versions;
  return ok('versions', `pet-catalog ${VERSION}, Node ${node}, SQLite ${sqlite}`);
}

function listeners({ operatorHost, operatorHosts, identity }: Config): Finding[] {
  const findings = [ok('settings', 'Every setting is valid')];
  if (LOOPBACK.test(operatorHost) || operatorHosts.length > 0 || identity) return findings;
  const finding = `OPERATOR_HOST is ${operatorHost}: anyone who reaches it sees the metrics and the login page`;
  const advice = 'set it to 127.0.0.1, or let only a proxy reach it and name its host in OPERATOR_HOSTS';
  return [...findings, warning('settings', finding, advice)];
}
