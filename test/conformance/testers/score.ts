import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fillWithDemo } from '../../../src/cli/demo.ts';
import { systemTime } from '../../../src/stdx/time.ts';
import { manualClock } from '../../kit/clock.ts';
import { missingPrograms } from '../../kit/deploy/programs.ts';
import { temporaryFolder, testService } from '../../kit/service.ts';
import { OURS } from './ours.ts';
import { CHECKOUT, type Tester } from './tester.ts';

/** What one tester made of the defects. */
export interface Score {
  readonly version: string;
  readonly command: string;
  readonly minutes: number;
  /** How many things it reports about the service without a defect. */
  readonly falseAlarms: number;
  readonly caught: readonly string[];
  readonly missed: readonly string[];
  /** It failed, or the time was over. */
  readonly untried: readonly string[];
}

export interface ScoreOptions {
  readonly defects: readonly string[];
  /** After these no further defect is tried. */
  readonly minutes: number;
  readonly tell: (line: string) => void;
}

/** Why a tester cannot be run here; undefined if it can. */
export function whyNot({ programs = [] }: Tester): string | undefined {
  return missingPrograms(...programs) || undefined;
}

/**
 * Has a tester test services with one defect each. A defect is caught if the tester reports anything that it reports in
 * neither of two runs without one. Rejects if it cannot be installed, or fails without a defect.
 */
export async function scoreOf(tester: Tester, { defects, minutes, tell }: ScoreOptions): Promise<Score> {
  const startedAt = performance.now();
  const minutesPassed = () => (performance.now() - startedAt) / 60_000;
  using temporary = temporaryFolder();
  install(tester, temporary.path);
  const report = (defect: string) => reportOf(tester, { defect, installed: temporary.path });
  const falseAlarms = new Set([...(await report('')), ...(await report(''))]);
  const scored: Record<'caught' | 'missed' | 'untried', string[]> = { caught: [], missed: [], untried: [] };
  const waiting = [...defects];
  const work = async () => {
    for (let defect = waiting.shift(); defect !== undefined; defect = waiting.shift()) {
      const outcome = minutesPassed() > minutes ? 'untried' : await tryOne(defect);
      scored[outcome].push(defect);
    }
  };
  const tryOne = async (defect: string) => {
    try {
      const news = (await report(defect)).filter((each) => !falseAlarms.has(each));
      tell(`${tester.name} ${defect}: ${news[0] ?? 'missed'}`);
      return news.length > 0 ? 'caught' : 'missed';
    } catch (error) {
      tell(`${tester.name} ${defect}: ${error}`);
      return 'untried';
    }
  };
  await Promise.all(Array.from({ length: tester.atOnce ?? 1 }, work));
  const { command } = tester;
  const version = versionOf(tester, temporary.path);
  return { version, command, minutes: Math.ceil(minutesPassed()), falseAlarms: falseAlarms.size, ...scored };
}

/** What a tester reports about a service with a defect; an empty name is none. */
async function reportOf(tester: Tester, { defect, installed }: { defect: string; installed: string }) {
  // A tester judges by the real time, ours turns it.
  const clock = tester === OURS ? manualClock() : { ...manualClock(), ...systemTime() };
  await using service = await testService({ ENVIRONMENT: 'staging', REHEARSAL: 'on', DEFECT: defect }, clock);
  await fillWithDemo(service.storage, clock.now().unix);
  const { secret } = await service.issue({ plan: 'business' });
  const folder = mkdtempSync(join(installed, 'run-'));
  return await tester.run({ service, key: secret, installed, folder });
}

function install({ packages }: Tester, folder: string): void {
  if (packages.length === 0) return;
  // The folder is not the working one: a package there would be taken for the one of the registry.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, ...packages];
  execFileSync('npm', args, { cwd: folder, stdio: 'ignore' });
}

function versionOf({ name, packages }: Tester, folder: string): string {
  const [first = ''] = packages;
  const ofCheckout = name === 'respect' ? 'node_modules/@redocly/cli/package.json' : 'package.json';
  const file = first === '' ? join(CHECKOUT, ofCheckout) : join(folder, 'node_modules', first, 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
