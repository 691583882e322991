import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { OWN_COMMAND } from '../shipped.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { type Moment, type Time, utc } from '../stdx/time.ts';
import type { Events } from '../telemetry/events.ts';
import { PRIVATE_FOLDER_MODE, sizeOf } from './sqlite/files.ts';

const LOOK_INTERVAL_MS = 1_000;
/** After a failure the next attempt waits this long at most. */
const RETRY_SECONDS_MAX = 600;
const REASON_CHARACTERS_MAX = 1_000;
/** The log of a database may grow to this. */
const FREE_BYTES_LEFT = 64 * 1024 * 1024;
/** Whose a backup is, which releases up to 0.3.0 left out, and its moment, in UTC. */
const NAME = /^pet-catalog-(?:(\w+-db_\w+)-)?(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\dZ)\.db$/;

const execute = promisify(execFile);

/** Where a backup is restored to see that it can be, in the folder of backups. */
const RESTORING = '.restoring';

export interface BackupOptions {
  readonly folder: string;
  readonly everySeconds: number;
  readonly keep: number;
  readonly databaseFile: string;
  /** The environment and the id of the database: files of others in the folder are left alone. */
  readonly owner: string;
  readonly time: Time;
  readonly events: Pick<
    Events,
    'backupsScheduled' | 'backupsOfOthers' | 'backupMade' | 'backupRestored' | 'backupFailed'
  >;
  /** Runs a command to its end, in a process of its own unless a test says otherwise. Rejects with what it says. */
  readonly run?: typeof runProcess;
}

/**
 * Backs an embedded database up again and again. Each backup is made and checked by the command `backup`, in a process
 * of its own: the check reads all of it, and would hold up the event loop. It has its name only once it is sound. Older
 * ones are deleted after it. At the start and once a day the newest is restored into a folder of its own, checked and
 * compared. What fails is reported, and tried again.
 *
 * Files with a name in the future, which a clock that was ahead leaves, are left alone and count as none, as are those
 * of another database. One that was made anew in the place of a lost one is another.
 */
export class ScheduledBackups implements AsyncDisposable {
  readonly #options: BackupOptions;
  readonly #run: typeof runProcess;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** On the steady clock, as all that waits here: the other one may be stepped. */
  #dueAt: number;
  #restoreDueAt: number;
  /** Makes a backup if one is due. Never rejects. */
  readonly look = oneAtATime(() => this.#look());

  constructor(options: BackupOptions) {
    this.#options = options;
    this.#run = options.run ?? runProcess;
    const newestAt = this.#prepare();
    [this.#dueAt, this.#restoreDueAt] = newestAt === undefined ? [0, Infinity] : [newestAt + options.everySeconds, 0];
    this.#timer = setInterval(() => this.look(), LOOK_INTERVAL_MS).unref();
    void this.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort();
    await this.look();
  }

  /** Makes the folder, and tells what is in it already. */
  #prepare(): number | undefined {
    const { folder, owner, everySeconds, events, time } = this.#options;
    const { unix, steady } = time.now();
    let found: ReturnType<typeof backupsIn>[number] | undefined;
    try {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
      [found] = backupsIn(folder, owner, unix);
      const others = othersIn(folder, owner);
      if (others.length > 0) events.backupsOfOthers(folder, others);
    } catch {
      // The first attempt says why.
    }
    events.backupsScheduled(everySeconds, found && { at: found.at, bytes: statSync(found.file).size });
    return found && steady - (unix - found.at);
  }

  async #look(): Promise<void> {
    const { time, folder, everySeconds, events } = this.#options;
    const { unix, steady } = time.now();
    const attempt = async (work: () => Promise<void>) => {
      try {
        await work();
        return everySeconds;
      } catch (error) {
        const { message } = error as Error;
        const cure = `; if that is so for the service alone, add ReadWritePaths=${resolve(folder)} by \`systemctl edit pet-catalog\``;
        const isReadOnly = /EROFS|read-only/i.test(message);
        if (!this.#stop.signal.aborted) events.backupFailed(isReadOnly ? message + cure : message);
        return Math.min(everySeconds, RETRY_SECONDS_MAX);
      }
    };
    if (!this.#stop.signal.aborted && steady >= this.#dueAt) {
      this.#dueAt = steady + (await attempt(() => this.#make({ unix, steady })));
    }
    if (this.#stop.signal.aborted || steady < this.#restoreDueAt) return;
    this.#restoreDueAt = steady + Math.min(DAY_SECONDS, await attempt(() => this.#restoreNewest(unix)));
  }

  /** Restores the newest backup into a folder of its own, which checks every page and compares the two. */
  async #restoreNewest(now: number): Promise<void> {
    const { folder, owner, events } = this.#options;
    const [newest] = backupsIn(folder, owner, now);
    if (!newest) return;
    const place = join(folder, RESTORING);
    rmSync(place, { recursive: true, force: true });
    assertRoom(folder, statSync(newest.file).size);
    mkdirSync(place, { mode: PRIVATE_FOLDER_MODE });
    try {
      const url = `sqlite:${join(place, 'restored.db')}`;
      await this.#run(['restore', newest.file, '--database-url', url], this.#stop.signal);
      events.backupRestored({ backup: basename(newest.file), at: now });
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  }

  async #make({ unix: now, steady }: Moment): Promise<void> {
    const { databaseFile, folder, owner, keep, events } = this.#options;
    const startedMs = performance.now();
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const file = join(folder, `pet-catalog-${owner}-${utc(now).replaceAll(':', '')}.db`);
    const leftOver = (name: string) => name.startsWith(`pet-catalog-${owner}-`) && name.endsWith('.db.unfinished');
    for (const name of readdirSync(folder).filter(leftOver)) rmSync(join(folder, name), { force: true });
    assertRoom(folder, sizeOf(databaseFile).databaseBytes);
    await this.#run(['backup', file, '--force', '--database-url', `sqlite:${databaseFile}`], this.#stop.signal);
    const { size: bytes } = statSync(file);
    events.backupMade({ file, at: now, bytes, durationMs: performance.now() - startedMs });
    // Reading a backup of 0.2.0 leaves a log beside it.
    for (const old of backupsIn(folder, owner, now).slice(keep)) {
      for (const part of ['', '-wal', '-shm']) rmSync(old.file + part, { force: true });
    }
    if (this.#restoreDueAt === Infinity) this.#restoreDueAt = steady;
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

/** The backups of a database in a folder up to a moment, and those without an owner, newest first. */
function backupsIn(folder: string, owner: string, now: number) {
  const found = readdirSync(folder).flatMap((name) => {
    const [, by = owner, day, hours, minutes, seconds] = NAME.exec(name) ?? [];
    const at = Date.parse(`${day}${hours}:${minutes}:${seconds}`) / 1_000;
    return by === owner && at <= now ? [{ file: join(folder, name), at }] : [];
  });
  return found.sort((one, other) => other.at - one.at);
}

/** Whose the backups of other databases in a folder are. */
export function othersIn(folder: string, owner: string): string[] {
  const owners = readdirSync(folder).map((name) => NAME.exec(name)?.[1] ?? owner);
  return [...new Set(owners)].filter((each) => each !== owner);
}
