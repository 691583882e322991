import type { Category } from '../catalog/category.ts';
import type { Change, Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import type { Certificate, ListenOptions } from '../http/transport/listener.ts';
import type { AccessLog, Events } from '../telemetry/events.ts';
import type { RecentQuery, RecentRequest } from '../telemetry/recent-requests.ts';
import type { CountedAnswers } from './answer-counts.ts';
import type { Failure } from './channel.ts';
import type { ClockMemory } from './clock.ts';
import type { Desk } from './shared-limiter.ts';
import type { SlotMemory } from './slots.ts';

/** What a thread is started with. */
export interface ThreadData {
  readonly config: Config;
  readonly memory: SlotMemory;
  readonly clock: ClockMemory;
  readonly unsent: SharedArrayBuffer;
  /** Which answers a thread logs. */
  readonly accessLog: AccessLog;
  /** The names of the events that the main thread takes. */
  readonly events: readonly string[];
}

/** The parts of storage whose methods a thread calls. */
export type StorageNoun = 'categories' | 'pets' | 'orders' | 'keys' | 'usage';

/** What the main thread does for a thread. */
export type MainPromises = {
  storage(noun: StorageNoun, method: string, args: readonly unknown[]): Promise<unknown>;
  check(): ReturnType<Storage['check']>;
  handOut: Desk['handOut'];
  keepBan: Desk['keepBan'];
  refreshBans: Desk['refreshBans'];
  event(name: keyof Events, args: readonly unknown[]): void;
  /** Writes lines to the log. */
  write(lines: string): void;
  count(answers: CountedAnswers): void;
  /** Has what is held unsent cut off until all threads together hold no more than they may. */
  relieve(): void;
};

/** What a thread does for the main thread. */
export type ThreadPromises = {
  /** Fulfilled when everything that requests are answered from is in memory. */
  load(): Promise<void>;
  /** Opens the public port, in place of one that is open; fulfilled with its number. */
  open(address: ListenOptions): Promise<number>;
  announce(url: string): void;
  /** Acts on a change in storage, as `Storage.watch` asks for. */
  follow(change: Change): Promise<void>;
  /** Fulfilled when every list that is sent from now on has these categories. */
  add(categories: readonly Category[]): Promise<void>;
  replaceCertificate(certificate: Certificate): void;
  findRecent(requestId: string): RecentRequest | undefined;
  listRecent(query: RecentQuery): readonly RecentRequest[];
  /** The bytes of the holder of unsent answers that holds the most here. */
  heaviestBytes(): number;
  /** Cuts off the oldest item of this holder. */
  cutOffHeaviest(): void;
  /** Stops accepting connections. */
  closePort(): Promise<void>;
  /** Lets requests in flight finish, within the grace, and hands over everything that was counted. */
  stop(graceMs: number): Promise<void>;
};

/** An argument of an event that is an error. */
export interface FailedArgument {
  readonly failure: Failure;
}
