import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../stdx/clock.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Events } from '../telemetry/events.ts';

const COMMAND = fileURLToPath(new URL('../../bin/pet-catalog.js', import.meta.url));
const LOOK_INTERVAL_MS = 1_000;
/** After a failure the next attempt waits this long at most. */
const RETRY_SECONDS_MAX = 600;
const PRIVATE_FOLDER_MODE = 0o700;
const REASON_CHARACTERS_MAX = 1_000;
/** The moment in the name of a backup, in UTC; names sort by it. */
const NAME = /^pet-catalog-(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\dZ)\.db$/;
const LEFT_OVER = /^pet-catalog-[\dTZ-]+\.db\.unfinished$/;

interface BackupSchedule {
  readonly folder: string;
  readonly everySeconds: number;
  /** How many of the newest stay. */
  readonly keep: number;
}

export interface BackupOptions extends BackupSchedule {
  readonly databaseFile: string;
  readonly clock: Clock;
  readonly events: Pick<Events, 'backupsScheduled' | 'backupMade' | 'backupFailed'>;
}

/** An existing backup. */
interface Backup {
  readonly file: string;
  /** Unix seconds. */
  readonly at: number;
}

/**
 * Backs an embedded database up again and again. Each backup is made and checked by the command `backup`, in a process
 * of its own: the check reads all of it, and would hold up the event loop. It has its name only once it is sound. Older
 * ones are deleted after it. A backup that fails is reported, and tried again.
 */
export class ScheduledBackups implements AsyncDisposable {
  readonly #options: BackupOptions;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #dueAt = 0;
  /** Makes a backup if one is due. Never rejects. */
  readonly look = oneAtATime(() => this.#look());

  constructor(options: BackupOptions) {
    this.#options = options;
    const newest = this.#prepare();
    this.#dueAt = newest ? newest.at + options.everySeconds : 0;
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS).unref();
    void this.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.look();
  }

  /** Makes the folder, and tells what is in it already. */
  #prepare(): Backup | undefined {
    const { folder, everySeconds, events } = this.#options;
    let newest: Backup | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
      [newest] = backupsIn(folder);
    } catch (error) {
      events.backupFailed((error as Error).message);
    }
    events.backupsScheduled(everySeconds, newest && { at: newest.at, bytes: statSync(newest.file).size });
    return newest;
  }

  async #look(): Promise<void> {
    const { clock, everySeconds, events } = this.#options;
    const { unix: now } = clock();
    if (this.#stop.signal.aborted || now < this.#dueAt) return;
    try {
      await this.#make(now);
      this.#dueAt = now + everySeconds;
    } catch (error) {
      this.#dueAt = now + Math.min(everySeconds, RETRY_SECONDS_MAX);
      if (!this.#stop.signal.aborted) events.backupFailed((error as Error).message);
    }
  }

  async #make(now: number): Promise<void> {
    const { databaseFile, folder, keep, events } = this.#options;
    const startedMs = performance.now();
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    for (const name of readdirSync(folder)) if (LEFT_OVER.test(name)) rmSync(join(folder, name), { force: true });
    const file = join(folder, nameAt(now));
    await this.#run(['backup', file, '--force', '--database-url', `sqlite:${databaseFile}`]);
    events.backupMade({ file, at: now, bytes: statSync(file).size, durationMs: performance.now() - startedMs });
    for (const old of backupsIn(folder).slice(keep)) rmSync(old.file, { force: true });
  }

  /** Runs a command. Rejects with what it says if it fails. */
  async #run(args: readonly string[]): Promise<void> {
    const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    const stop = () => child.kill();
    this.#stop.signal.addEventListener('abort', stop);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-REASON_CHARACTERS_MAX);
    });
    try {
      const [code] = await once(child, 'close');
      if (code !== 0) throw new Error(said.replace(/^pet-catalog: /, '').trim() || 'The backup was interrupted');
    } finally {
      this.#stop.signal.removeEventListener('abort', stop);
    }
  }
}

/** The backups in a folder, newest first. */
function backupsIn(folder: string): Backup[] {
  const names = readdirSync(folder).filter((name) => NAME.test(name));
  return names
    .sort()
    .reverse()
    .map((name) => ({ file: join(folder, name), at: Date.parse(name.replace(NAME, '$1$2:$3:$4')) / 1_000 }));
}

function nameAt(unixSeconds: number): string {
  const time = new Date(unixSeconds * 1_000).toISOString().replace(/\.\d+/, '').replaceAll(':', '');
  return `pet-catalog-${time}.db`;
}
