import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ALL_KEYS, outcomeOf, type RouteUsage, type UsageRecord, type UsageStorage } from '../catalog/usage.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Time, Timer } from '../stdx/time.ts';
import type { Metrics } from './metrics.ts';
import type { RequestSeries } from './request-metrics.ts';

/** The most usage that a crash may lose. */
const FLUSH_INTERVAL_MS = 5_000;
/** Keys in memory between two successful flushes; further keys count in the total only. */
const KEYS_MAX = 200_000;
const PURGE_INTERVAL_MS = 3_600_000;

type Counting = { -readonly [Name in keyof UsageRecord]: UsageRecord[Name] };

/** The usage that one transaction stores. */
type Part = {
  readonly minute: number;
  readonly attempt: string;
} & ({ readonly records: readonly UsageRecord[] } | { readonly routes: readonly RouteUsage[] });

export interface UsageRecorderOptions {
  readonly storage: { readonly usage: UsageStorage };
  readonly time: Time;
  /** Tells the usage of routes since its last call, which is added to the minute of the flush. */
  readonly takeRoutes?: () => readonly RouteUsage[];
  /** Called when usage could not be stored; it is kept for the next flush. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Counts the usage of each key in memory. Adds it, with that of routes, to storage every few seconds and on disposal.
 */
export class UsageRecorder implements AsyncDisposable {
  readonly #options: UsageRecorderOptions;
  readonly #timers: readonly Timer[];
  /** Counts by minute and key. */
  #minutes = new Map<number, Map<string, Counting>>();
  #keys = 0;
  /** Usage on its way to storage. A failed part may be stored already, so it is retried unchanged. */
  #parts: Part[] = [];
  /** Stores everything counted before the call. Never rejects. */
  readonly flush = oneAtATime(() => this.#flush());

  constructor(options: UsageRecorderOptions) {
    const { time } = options;
    this.#options = options;
    this.#timers = [
      time.setInterval(() => this.flush(), FLUSH_INTERVAL_MS).unref(),
      time.setInterval(() => this.#purge(), PURGE_INTERVAL_MS).unref(),
    ];
  }

  /** Counts the response to a request with a key, at a moment in Unix seconds. */
  record(keyId: string, status: number, now: number): void {
    const minute = minuteOf(now);
    let counted = this.#minutes.get(minute);
    if (!counted) {
      counted = new Map();
      this.#minutes.set(minute, counted);
    }
    this.#count(counted, ALL_KEYS, status, now);
    this.#count(counted, keyId, status, now);
  }

  async #flush(): Promise<void> {
    await this.#storeParts();
    // Later usage stays in memory until all earlier parts are stored.
    if (this.#parts.length > 0) return;
    for (const [minute, counted] of this.#minutes) {
      for (const keyIds of partsInKeyOrder(counted.keys())) {
        const records = keyIds.flatMap((keyId) => counted.get(keyId) ?? []);
        this.#parts.push({ minute, records, attempt: randomUUID() });
      }
    }
    this.#minutes = new Map();
    this.#keys = 0;
    const { time, takeRoutes } = this.#options;
    const routes = takeRoutes?.() ?? [];
    if (routes.length > 0) this.#parts.push({ minute: minuteOf(time.now().unix), routes, attempt: randomUUID() });
    await this.#storeParts();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    await this.flush();
  }

  #count(counted: Map<string, Counting>, keyId: string, status: number, now: number): void {
    let record = counted.get(keyId);
    if (!record) {
      if (this.#keys >= KEYS_MAX && keyId !== ALL_KEYS) return;
      this.#keys += 1;
      record = { keyId, served: 0, clientErrors: 0, refused: 0, serverErrors: 0, first: now, last: now };
      counted.set(keyId, record);
    }
    if (status < 400) record.served += 1;
    else if (status === 429) record.refused += 1;
    else if (status < 500) record.clientErrors += 1;
    else record.serverErrors += 1;
    record.last = now;
  }

  async #storeParts(): Promise<void> {
    const failed: Part[] = [];
    for (const part of this.#parts) {
      // Yields, so that requests are served in between.
      await nextTurn();
      try {
        await this.#store(part);
      } catch (error) {
        this.#options.onFailure(error);
        failed.push(part);
      }
    }
    this.#parts = failed;
  }

  #store(part: Part): Promise<void> {
    const { usage } = this.#options.storage;
    if ('routes' in part) return usage.addRoutes(part.minute, part.routes, part.attempt);
    return usage.add(part.minute, part.records, part.attempt);
  }

  #purge(): void {
    this.#options.storage.usage.purge(this.#options.time.now().unix).catch(this.#options.onFailure);
  }
}

function minuteOf(moment: number): number {
  return moment - (moment % MINUTE_SECONDS);
}

/** The route of requests to addresses at which nothing is. */
const UNMATCHED = 'unmatched';

/** Tells the usage of each route since it was last taken, from the metrics: requests pay for one count, not for two. */
export class RouteCounts {
  readonly #requests: Metrics['requests'];
  readonly #taken = new Map<Readonly<RequestSeries>, readonly number[]>();

  constructor({ requests }: Metrics) {
    this.#requests = requests;
  }

  /** The routes that were used since the last call. */
  take(): RouteUsage[] {
    const routes = new Map<string, RouteUsage>();
    for (const series of this.#requests.series()) {
      if (series.labels.api === 'false') continue;
      const { method, route, status } = series.labels;
      const before = this.#taken.get(series);
      const added = series.counts.map((count, index) => count - (before?.[index] ?? 0));
      const sum = added.reduce((total, count) => total + count, 0);
      if (sum === 0) continue;
      this.#taken.set(series, [...series.counts]);
      const name = route === UNMATCHED ? UNMATCHED : `${method} ${route}`;
      const { durations, ...counts } = routes.get(name) ?? { ...NONE, route: name, durations: added.map(() => 0) };
      const outcome = outcomeOf(status);
      routes.set(name, {
        ...counts,
        [outcome]: counts[outcome] + sum,
        durations: durations.map((count, index) => count + (added[index] ?? 0)),
      });
    }
    return [...routes.values()];
  }
}

const NONE = { served: 0, clientErrors: 0, refused: 0, serverErrors: 0 };
