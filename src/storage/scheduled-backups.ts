import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { OWN_COMMAND } from '../shipped.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { type Moment, type Time, utc } from '../stdx/time.ts';
import type { Events } from '../telemetry/events.ts';
import { wasReplaced } from './sqlite/contents.ts';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE, sizeOf } from './sqlite/files.ts';

const LOOK_INTERVAL_MS = 1_000;
/** After a failure the next attempt waits this long at most. */
const RETRY_SECONDS_MAX = 600;
const REASON_CHARACTERS_MAX = 1_000;
/** The log of a database may grow to this. */
const FREE_BYTES_LEFT = 64 * 1024 * 1024;
/** A clock that moved by more since a backup was made was stepped, and the moment is told again. */
const STEP_SECONDS_MIN = 60;
/** The moment in the name of a backup, in UTC; names sort by it. */
const NAME = /^pet-catalog-(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\dZ)\.db$/;
const LEFT_OVER = /^pet-catalog-[\dTZ-]+\.db\.unfinished$/;

const execute = promisify(execFile);

/** Where a backup is restored to see that it can be, and what tells of the last time, both in the folder of backups. */
const RESTORING = '.restoring';
const RESTORED = '.restored.json';

/** A backup that was restored beside the database and compared, when, in Unix seconds. */
interface Restored {
  readonly backup: string;
  readonly at: number;
}

export interface BackupOptions {
  readonly folder: string;
  readonly everySeconds: number;
  readonly keep: number;
  readonly databaseFile: string;
  readonly time: Time;
  readonly events: Pick<Events, 'backupsScheduled' | 'backupMade' | 'backupRestored' | 'backupFailed'>;
  /** Runs a command to its end, in a process of its own unless a test says otherwise. Rejects with what it says. */
  readonly run?: typeof runProcess;
}

interface Backup {
  readonly file: string;
  /** By its name, in Unix seconds. */
  readonly at: number;
}

/** The newest backup, in order of making. */
interface Newest {
  /** When it was made, as it was told last, in Unix seconds, and on the steady clock. */
  readonly at: number;
  readonly steady: number;
  readonly bytes: number;
}

/**
 * Backs an embedded database up again and again. Each backup is made and checked by the command `backup`, in a process
 * of its own: the check reads all of it, and would hold up the event loop. It has its name only once it is sound. Older
 * ones are deleted after it. Once a day the newest is restored into a folder of its own, checked and compared. What
 * fails is reported, and tried again.
 *
 * A clock that was ahead leaves names and a last restore in the future: such files are left alone and count as none. A
 * database that became empty gives no backup, since it would take the place of good ones.
 */
export class ScheduledBackups implements AsyncDisposable {
  readonly #options: BackupOptions;
  readonly #run: typeof runProcess;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** On the steady clock, as all that waits here: the other one may be stepped. */
  #dueAt: number;
  #newest: Newest | undefined;
  #restoreDueAt: number;
  /** Makes a backup if one is due. Never rejects. */
  readonly look = oneAtATime(() => this.#look());

  constructor(options: BackupOptions) {
    this.#options = options;
    this.#run = options.run ?? runProcess;
    this.#newest = this.#prepare();
    this.#dueAt = this.#newest ? this.#newest.steady + options.everySeconds : 0;
    const { unix, steady } = options.time.now();
    const restored = lastRestored(options.folder, unix);
    this.#restoreDueAt = restored ? steady + DAY_SECONDS - (unix - restored.at) : 0;
    if (restored) options.events.backupRestored(restored);
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS).unref();
    void this.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.look();
  }

  /** Makes the folder, and tells what is in it already. */
  #prepare(): Newest | undefined {
    const { folder, everySeconds, events, time } = this.#options;
    const { unix, steady } = time.now();
    let found: Backup | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
      [found] = backupsIn(folder, unix);
    } catch (error) {
      events.backupFailed((error as Error).message);
    }
    const newest = found && {
      at: found.at,
      steady: steady - (unix - found.at),
      bytes: statSync(found.file).size,
    };
    events.backupsScheduled(everySeconds, newest && { at: newest.at, bytes: newest.bytes });
    return newest;
  }

  async #look(): Promise<void> {
    const { time, everySeconds, events } = this.#options;
    const { unix, steady } = time.now();
    this.#tellOfStep(unix - steady);
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work();
        return everySeconds;
      } catch (error) {
        if (!this.#stop.signal.aborted) events.backupFailed((error as Error).message);
        return Math.min(everySeconds, RETRY_SECONDS_MAX);
      }
    };
    if (!this.#stop.signal.aborted && steady >= this.#dueAt) {
      this.#dueAt = steady + (await attempt(() => this.#make({ unix, steady })));
    }
    if (this.#stop.signal.aborted || !this.#newest || steady < this.#restoreDueAt) return;
    this.#restoreDueAt = steady + Math.min(DAY_SECONDS, await attempt(() => this.#restoreNewest(unix)));
  }

  /** Restores the newest backup into a folder of its own, which checks every page and compares the two. */
  async #restoreNewest(now: number): Promise<void> {
    const { folder, events } = this.#options;
    const newest = newestBackup(folder, now);
    if (!newest) return;
    const place = join(folder, RESTORING);
    rmSync(place, { recursive: true, force: true });
    assertRoom(folder, statSync(newest.file).size);
    mkdirSync(place, { mode: PRIVATE_FOLDER_MODE });
    try {
      await this.#run(
        ['restore', newest.file, '--database-url', `sqlite:${join(place, 'restored.db')}`],
        this.#stop.signal,
      );
      const restored: Restored = { backup: basename(newest.file), at: now };
      writeFileSync(join(folder, RESTORED), JSON.stringify(restored), { mode: PRIVATE_FILE_MODE });
      events.backupRestored(restored);
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  }

  /** After a step of the clock, tells anew when the newest backup was made: its age would be wrong by the step. */
  #tellOfStep(unixAheadOfSteady: number): void {
    const newest = this.#newest;
    if (!newest) return;
    const at = newest.steady + unixAheadOfSteady;
    if (Math.abs(at - newest.at) < STEP_SECONDS_MIN) return;
    this.#newest = { ...newest, at };
    this.#options.events.backupsScheduled(this.#options.everySeconds, { at, bytes: newest.bytes });
  }

  async #make({ unix: now, steady }: Moment): Promise<void> {
    const { databaseFile, folder, keep, events } = this.#options;
    const startedMs = performance.now();
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    for (const name of readdirSync(folder)) if (LEFT_OVER.test(name)) rmSync(join(folder, name), { force: true });
    const file = join(folder, nameAt(now));
    const [before] = backupsIn(folder, now).filter((each) => each.file !== file);
    assertRoom(folder, sizeOf(databaseFile).databaseBytes);
    await this.#run(['backup', file, '--force', '--database-url', `sqlite:${databaseFile}`], this.#stop.signal);
    if (before && wasReplaced(before.file, file)) {
      rmSync(file);
      throw new Error(
        `The database ${databaseFile} is empty, and its last backup ${before.file} is not: restore that, or move the backups elsewhere if it is to be empty`,
      );
    }
    const { size: bytes } = statSync(file);
    events.backupMade({ file, at: now, bytes, durationMs: performance.now() - startedMs });
    // Reading a backup of 0.2.0 leaves a log beside it.
    for (const old of backupsIn(folder, now).slice(keep)) {
      for (const part of ['', '-wal', '-shm']) rmSync(old.file + part, { force: true });
    }
    this.#newest = { at: now, steady, bytes };
  }
}

async function runProcess(args: readonly string[], stop: AbortSignal): Promise<void> {
  const [program, ...first] = OWN_COMMAND;
  const running = execute(program, [...first, ...args]);
  const end = () => running.child.kill();
  stop.addEventListener('abort', end);
  try {
    await running;
  } catch (error) {
    const { stderr = '', syscall } = error as NodeJS.ErrnoException & { stderr?: string };
    // It did not start, as without memory or descriptors.
    if (syscall !== undefined) throw error;
    const said = stderr.slice(-REASON_CHARACTERS_MAX).replace(/^pet-catalog: /, '');
    throw new Error(said.trim() || 'The backup was interrupted');
  } finally {
    stop.removeEventListener('abort', end);
  }
}

/** Throws unless a file of so many bytes leaves the room that the log of a database on the same disk needs. */
function assertRoom(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const [needed, free] = [bytes + FREE_BYTES_LEFT, bavail * bsize].map((each) => Math.ceil(each / 1024 / 1024));
  if ((needed ?? 0) <= (free ?? 0)) return;
  throw new Error(
    `${folder} has no room: ${needed} MiB must be free, and ${free} are; make room, or set BACKUP_DIR to a folder of another disk`,
  );
}

/** The backup of a folder that was restored and compared last, up to a moment; undefined if none is known. */
export function lastRestored(folder: string, now: number): Restored | undefined {
  try {
    const { backup, at }: Restored = JSON.parse(readFileSync(join(folder, RESTORED), 'utf8'));
    return at <= now ? { backup, at } : undefined;
  } catch {
    return undefined;
  }
}

/** The newest backup in a folder that was made up to a moment. */
export function newestBackup(folder: string, now: number): Backup | undefined {
  try {
    return backupsIn(folder, now)[0];
  } catch {
    return undefined;
  }
}

/** The backups in a folder up to a moment, newest first. */
function backupsIn(folder: string, now: number): Backup[] {
  const names = readdirSync(folder).filter((name) => NAME.test(name));
  return names
    .sort()
    .reverse()
    .map((name) => ({ file: join(folder, name), at: Date.parse(name.replace(NAME, '$1$2:$3:$4')) / 1_000 }))
    .filter(({ at }) => at <= now);
}

function nameAt(unixSeconds: number): string {
  return `pet-catalog-${utc(unixSeconds).replaceAll(':', '')}.db`;
}
