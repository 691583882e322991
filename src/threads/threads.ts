import { createServer } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Worker } from 'node:worker_threads';
import type { Category } from '../catalog/category.ts';
import type { Created } from '../catalog/idempotency.ts';
import type { Change, Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import type { Listener, ListenOptions } from '../http/transport/listener.ts';
import type { CountKeeperOptions } from '../limits/count-keeper.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { PublicSide } from '../public-api.ts';
import type { Clock } from '../stdx/clock.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { AccessLog, Events } from '../telemetry/events.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RecentAnswers, RecentRequest } from '../telemetry/recent-requests.ts';
import { addAnswers } from './answer-counts.ts';
import { Channel, fromFailure } from './channel.ts';
import { type ClockMemory, type SharedClock, shareClock } from './clock.ts';
import { isOverfull, unsentMemory } from './pooled-unsent-bytes.ts';
import type { FailedArgument, MainPromises, ThreadPromises } from './promises.ts';
import { type Desk, SharedLimiter } from './shared-limiter.ts';
import { SlotDesk } from './slot-desk.ts';
import { type SlotMemory, slotMemory } from './slots.ts';
import { startThread } from './thread.ts';

/** Keys in memory, as many as `LocalLimiter` has. */
const KEYS_MAX = 200_000;
const TRIES_MAX = 5;

export interface ThreadsOptions {
  readonly count: number;
  /** Writes lines to the log. */
  readonly write: (lines: string) => void;
  readonly accessLog: AccessLog;
  readonly metrics: Metrics;
  /** Replaces the machine's clock; for tests. */
  readonly clock?: SharedClock;
  /** Replaces the module that threads run; for tests. */
  readonly module?: string;
}

/** The threads that serve the public API, with what they share; the thread that creates them is the main one. */
export class Threads {
  readonly clock: Clock;
  readonly #options: ThreadsOptions;
  readonly #clockMemory: ClockMemory;
  readonly #memory: SlotMemory = slotMemory(KEYS_MAX);
  #desk: Desk | undefined;

  constructor(options: ThreadsOptions) {
    const { now, memory } = options.clock ?? shareClock();
    this.#options = options;
    this.clock = now;
    this.#clockMemory = memory;
  }

  /** The limiter of the main thread, whose desk serves those of the others. */
  openLimiter(options: CountKeeperOptions & { readonly banAfter: number }): Limiter {
    const desk = new SlotDesk(this.#memory, options);
    this.#desk = desk;
    return new SharedLimiter({ memory: this.#memory, desk, clock: options.clock, banAfter: options.banAfter });
  }

  /** Starts the threads. Rejects if one cannot load what it answers from. */
  async serve(config: Config, { storage, limiter, events }: ServedParts): Promise<PublicSide> {
    const { count, write, accessLog, metrics } = this.#options;
    const team = new Team(storage);
    const unsent = unsentMemory();
    const relieve = oneAtATime(() => team.relieve(new Int32Array(unsent)));
    const main: MainPromises = {
      storage: (noun, method, args) => team.store(noun, method, args),
      check: () => storage.check(),
      handOut: (keyId) => this.#openDesk.handOut(keyId),
      keepBan: (key, ban) => this.#openDesk.keepBan(key, ban),
      refreshBans: () => limiter.refreshBans(),
      event: (name, args) => tellEvent(events, name, args),
      write,
      count: (answers) => addAnswers(metrics, answers),
      relieve: () => void relieve(),
    };
    await using started = new AsyncDisposableStack();
    started.use(team);
    // Watch before the threads load, so that no change falls in between.
    await storage.watch(async (change) => {
      if (change !== 'bans') return team.follow(change);
      await limiter.refreshBans().catch((error) => {
        events.changeNotRead(error);
        throw error;
      });
    });
    const names = Object.entries(events).flatMap(([name, event]) => (typeof event === 'function' ? [name] : []));
    const data = { config, memory: this.#memory, clock: this.#clockMemory, unsent, accessLog, events: names };
    for (let index = 0; index < count; index += 1) team.add(startThread(data, this.#options.module), main);
    await team.all((thread) => thread.call('load'));
    const running = started.move();
    return {
      open: (address) => team.open(address),
      announce: (url) => team.announce(url),
      recent: team,
      [Symbol.asyncDispose]: () => running.disposeAsync(),
    };
  }

  get #openDesk(): Desk {
    if (!this.#desk) throw new Error('The limiter was not opened');
    return this.#desk;
  }
}

interface ServedParts {
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly events: Events;
}

/** The threads that run, as the main thread sees them. */
class Team implements RecentAnswers, AsyncDisposable {
  readonly #storage: Storage;
  readonly #workers: Worker[] = [];
  readonly #threads: Channel<ThreadPromises>[] = [];
  #isEnding = false;
  #created: Category[] = [];
  #spreading: Promise<void> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Adds a thread. When it ends by itself, the process crashes: its connections are lost, and perhaps a lock. */
  add(worker: Worker, main: MainPromises): void {
    let failure: unknown;
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', (code) => {
      if (!this.#isEnding) throw failure ?? new Error(`A thread that serves requests ended with ${code}`);
    });
    this.#workers.push(worker);
    this.#threads.push(new Channel<ThreadPromises>(worker, main));
  }

  all<T>(work: (thread: Channel<ThreadPromises>) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#threads.map(work));
  }

  async follow(change: Change): Promise<void> {
    await this.all((thread) => thread.call('follow', change));
  }

  /** Calls storage for a thread. A category that was created is answered when the lists of all threads have it. */
  async store(noun: keyof Storage, method: string, args: readonly unknown[]): Promise<unknown> {
    const methods = this.#storage[noun] as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>;
    const result = await methods[method]?.(...args);
    if (noun !== 'categories' || method !== 'insert') return result;
    const { resource, isReplay } = result as Created<Category>;
    // One that another process stored may be unknown to all of them.
    await (isReplay ? this.follow('new-categories').catch(() => {}) : this.#spread(resource));
    return result;
  }

  async open(address: ListenOptions): Promise<Listener> {
    // Another service of the same user may share the port too: only one that does not share it finds it taken.
    if (address.port !== 0) await tryToOpen(address);
    const port = await this.#openAll({ ...address, listeners: this.#threads.length });
    return {
      port,
      replaceCertificate: (certificate) => {
        createSecureContext(certificate);
        for (const thread of this.#threads) thread.tell('replaceCertificate', certificate);
      },
      closePort: () => this.#closePorts(),
      stop: async (graceMs) => {
        // Before any thread tells its clients to close: they reconnect at once, and must not get to another thread.
        await this.#closePorts();
        await this.all((thread) => thread.call('stop', graceMs));
      },
    };
  }

  /** Cuts off those that hold the most unsent, until all threads together hold no more than they may. */
  async relieve(counts: Int32Array): Promise<void> {
    while (isOverfull(counts)) {
      const held = await this.all((thread) => thread.call('heaviestBytes'));
      const most = Math.max(...held);
      // One answer alone may be larger.
      if (most === held.reduce((sum, bytes) => sum + bytes)) return;
      await this.#threads[held.indexOf(most)]?.call('cutOffHeaviest');
    }
  }

  announce(url: string): void {
    for (const thread of this.#threads) thread.tell('announce', url);
  }

  async find(requestId: string) {
    const found = await this.all((thread) => thread.call('findRecent', requestId));
    return newest(found.filter((request) => request !== undefined))[0];
  }

  async list(query: Parameters<RecentAnswers['list']>[0]) {
    const found = await this.all((thread) => thread.call('listRecent', query));
    return newest(found.flat()).slice(0, query.limit);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  /** Opens a port in every thread; returns its number. One that the system chose may be taken before all have it. */
  async #openAll(address: ListenOptions): Promise<number> {
    const [first, ...others] = this.#threads;
    if (!first) throw new Error('There are no threads');
    for (let tries = 1; ; tries += 1) {
      const port = await first.call('open', address);
      try {
        for (const thread of others) await thread.call('open', { ...address, port });
        return port;
      } catch (error) {
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (address.port !== 0 || !isTaken || tries === TRIES_MAX) throw error;
      }
    }
  }

  async #closePorts(): Promise<void> {
    await this.all((thread) => thread.call('closePort'));
  }

  /** Those of one batch of creates go out in one message. */
  #spread(category: Category): Promise<void> {
    this.#created.push(category);
    this.#spreading ??= Promise.resolve().then(async () => {
      const created = this.#created;
      this.#created = [];
      this.#spreading = undefined;
      await this.all((thread) => thread.call('add', created));
    });
    return this.#spreading;
  }
}

function newest(requests: readonly RecentRequest[]): RecentRequest[] {
  return requests.toSorted((one, other) => other.order - one.order);
}

async function tryToOpen({ host, port }: ListenOptions): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  await new Promise((resolve) => server.close(resolve));
}

function tellEvent(events: Events, name: keyof Events, args: readonly unknown[]): void {
  const told = args.map((argument) => (isFailed(argument) ? fromFailure(argument.failure) : argument));
  (events[name] as (...args: readonly unknown[]) => void)(...told);
}

function isFailed(argument: unknown): argument is FailedArgument {
  return typeof argument === 'object' && argument !== null && 'failure' in argument;
}
