import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  ALL_KEYS,
  type KeyRouteUsage,
  NO_USAGE,
  outcomeOf,
  UNMATCHED,
  type UsageRecord,
  type UsageStorage,
} from '../catalog/usage.ts';
import { HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Time, Timer } from '../stdx/time.ts';
import type { AnsweredRequest } from './events.ts';
import { methodLabel } from './request-metrics.ts';

/** The most usage of a key that a crash may lose. */
const FLUSH_INTERVAL_MS = 5_000;
/** The most usage by key and route that a crash may lose: many rows, so they are written less often. */
const HOURS_INTERVAL_MS = 60_000;
/** Keys in memory between two successful flushes; further keys count in the total only. */
const KEYS_MAX = 200_000;
const PURGE_INTERVAL_MS = 3_600_000;

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The answers to a key, or `ALL_KEYS`, on one route. */
interface Counting extends Writable<Omit<UsageRecord, 'keyId'>> {
  readonly method: string;
  readonly route: string;
}

type Part = (usage: UsageStorage) => Promise<void>;

export interface UsageRecorderOptions {
  readonly storage: { readonly usage: UsageStorage };
  readonly time: Time;
  /** Called when usage could not be stored; it is kept for the next flush. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Counts the usage of each key by route in memory. Adds the minutes of keys to storage every few seconds, their hours
 * by route every minute, and all of it on disposal.
 */
export class UsageRecorder implements AsyncDisposable {
  readonly #options: UsageRecorderOptions;
  readonly #timers: readonly Timer[];
  /** Counts by minute and key; a key has a handful of routes. */
  #minutes = new Map<number, Map<string, Counting[]>>();
  #keys = 0;
  /** The counts added to minutes since hours were last written, by hour and key. */
  #hours = new Map<number, Map<string, Counting[]>>();
  #hoursDue = false;
  /** Usage on its way to storage. A failed part may be stored already, so it is retried unchanged. */
  #parts: Part[] = [];
  /** Stores the minutes counted before the call. Never rejects. */
  readonly save = oneAtATime(() => this.#flush());

  constructor(options: UsageRecorderOptions) {
    const { storage, time, onFailure } = options;
    this.#options = options;
    this.#timers = [
      time.setInterval(() => this.save(), FLUSH_INTERVAL_MS).unref(),
      time.setInterval(() => this.flush(), HOURS_INTERVAL_MS).unref(),
      time.setInterval(() => storage.usage.purge(time.now().unix).catch(onFailure), PURGE_INTERVAL_MS).unref(),
    ];
  }

  /** Counts the response to a request with a key, at a moment in Unix seconds. */
  record(keyId: string, answered: Pick<AnsweredRequest, 'method' | 'route' | 'status'>, now: number): void {
    const { method, route, status } = answered;
    const minute = now - (now % MINUTE_SECONDS);
    let keys = this.#minutes.get(minute);
    if (!keys) {
      keys = new Map();
      this.#minutes.set(minute, keys);
    }
    let routes = keys.get(keyId);
    if (!routes) {
      const isTooMany = this.#keys >= KEYS_MAX;
      this.#keys += 1;
      routes = isTooMany ? (keys.get(ALL_KEYS) ?? []) : [];
      keys.set(isTooMany ? ALL_KEYS : keyId, routes);
    }
    let counting = routes.find((each) => each.route === route && each.method === method);
    if (!counting) {
      counting = { method, route, ...NO_USAGE, first: now, last: now };
      routes.push(counting);
    }
    counting[outcomeOf(status)] += 1;
    counting.last = now;
  }

  /** Stores everything counted before the call, hours too. Never rejects. */
  flush(): Promise<void> {
    this.#hoursDue = true;
    return this.save();
  }

  async #flush(): Promise<void> {
    await this.#storeParts();
    // Later usage stays in memory until all earlier parts are stored.
    if (this.#parts.length > 0) return;
    const minutes = this.#minutes;
    this.#minutes = new Map();
    this.#keys = 0;
    for (const [minute, keys] of minutes) await this.#takeMinute(minute, keys);
    if (this.#hoursDue || [...this.#hours.values()].some(({ size }) => size > KEYS_MAX)) this.#takeHours();
    // The parts wait for no disk.
    if (this.#parts.length > 0) this.#parts.push((usage) => usage.sync());
    await this.#storeParts();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) timer[Symbol.dispose]();
    await this.flush();
  }

  /** Prepares to store a minute, and adds it to its hour. Lets requests be served in between. */
  async #takeMinute(minute: number, keys: Map<string, Counting[]>): Promise<void> {
    const hour = minute - (minute % HOUR_SECONDS);
    const inHour = this.#hours.get(hour) ?? new Map<string, Counting[]>();
    this.#hours.set(hour, inHour);
    // It may hold what keys used that were too many.
    const total = keys.get(ALL_KEYS) ?? [];
    keys.delete(ALL_KEYS);
    const parts: UsageRecord[][] = [];
    for (const keyIds of partsInKeyOrder(keys.keys())) {
      const records: UsageRecord[] = [];
      for (const keyId of keyIds) {
        const routes = keys.get(keyId) ?? [];
        records.push(recordOf(keyId, routes));
        addTo(total, routes);
        const ofKey = inHour.get(keyId);
        if (ofKey) addTo(ofKey, routes);
        else inHour.set(keyId, routes);
      }
      parts.push(records);
      await nextTurn();
    }
    const [first = []] = parts;
    first.unshift(recordOf(ALL_KEYS, total));
    for (const records of parts.length > 0 ? parts : [first]) {
      this.#addPart((usage, attempt) => usage.add(minute, records, attempt));
    }
    const allInHour = inHour.get(ALL_KEYS);
    if (allInHour) addTo(allInHour, total);
    else inHour.set(ALL_KEYS, total);
  }

  #takeHours(): void {
    for (const [hour, keys] of this.#hours) {
      for (const keyIds of partsInKeyOrder(keys.keys())) {
        this.#addPart((usage, attempt) => usage.addHours(hour, routeRecords(keys, keyIds), attempt));
      }
    }
    this.#hours = new Map();
    this.#hoursDue = false;
  }

  #addPart(store: (usage: UsageStorage, attempt: string) => Promise<void>): void {
    const attempt = randomUUID();
    this.#parts.push((usage) => store(usage, attempt));
  }

  async #storeParts(): Promise<void> {
    const failed: Part[] = [];
    for (const part of this.#parts) {
      // Yields, so that requests are served in between.
      await nextTurn();
      try {
        await part(this.#options.storage.usage);
      } catch (error) {
        this.#options.onFailure(error);
        failed.push(part);
      }
    }
    this.#parts = failed;
  }
}

function addTo(sums: Counting[], more: readonly Counting[]): void {
  for (const each of more) {
    const sum = sums.find(({ method, route }) => each.route === route && each.method === method);
    if (sum) add(sum, each);
    else sums.push({ ...each });
  }
}

function recordOf(keyId: string, routes: readonly Counting[]): UsageRecord {
  const sum = { keyId, ...NO_USAGE, first: Number.POSITIVE_INFINITY, last: 0 };
  for (const each of routes) add(sum, each);
  return sum;
}

function add(sum: Writable<Omit<UsageRecord, 'keyId'>>, more: Omit<UsageRecord, 'keyId'>): void {
  sum.served += more.served;
  sum.clientErrors += more.clientErrors;
  sum.refused += more.refused;
  sum.serverErrors += more.serverErrors;
  sum.first = Math.min(sum.first, more.first);
  sum.last = Math.max(sum.last, more.last);
}

/** Unusual methods share a route. */
function routeRecords(keys: ReadonlyMap<string, readonly Counting[]>, keyIds: readonly string[]): KeyRouteUsage[] {
  return keyIds.flatMap((keyId) => {
    const named = Map.groupBy(keys.get(keyId) ?? [], ({ method, route }) => routeName(method, route));
    return [...named].map(([route, all]) => ({ ...recordOf(keyId, all), route }));
  });
}

function routeName(method: string, route: string): string {
  return route === UNMATCHED ? UNMATCHED : `${methodLabel(method)} ${route}`;
}
