import type { Ban, LimiterMemory } from '../../catalog/limit.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Clock, Moment } from '../../stdx/clock.ts';
import { type BanState, UNUSED, type WindowState } from '../window.ts';
import { RedisLink, type RedisLinkOptions } from './link.ts';
import { COUNT, REPLACE_BAN } from './scripts.ts';

/** By so much two readings of the server's clock must disagree before it is said to have been stepped. */
const STEP_MS = 1_000;

/** A ban as Redis has it, with what the scripts do not look into. */
export interface SharedBan extends BanState {
  /** Its beginning as storage has it, in Unix seconds: tells it from other bans of the key. */
  readonly startedAt: number;
  /** Whether storage has it, so that it was lifted when it is not found there. */
  readonly isStored: boolean;
}

/** A key as it was when a request came to be counted. */
export interface Counted {
  readonly now: Moment;
  readonly state: WindowState;
  readonly ban: SharedBan | undefined;
}

/** Undefined: no answer. `missing`: Redis knows nothing of the key; `another`: it had another ban than the one expected. */
export type Replaced = 'replaced' | 'missing' | { readonly another: SharedBan | undefined } | undefined;

export interface RedisCountsOptions extends RedisLinkOptions {
  readonly clock: Clock;
  readonly time?: Clock;
  readonly onCounted: (durationMs: number) => void;
  /** What was known in the server's seconds is of no use any more. */
  readonly onClockStep: () => void;
}

/** The counts and bans in Redis, and its time. Without an answer in time, methods return undefined. */
export class RedisCounts implements AsyncDisposable {
  readonly #options: RedisCountsOptions;
  readonly #link: RedisLink;
  /** How far the server's clock is ahead of this process's, in milliseconds: at least and at most. */
  #ahead: { readonly least: number; readonly most: number } | undefined;

  constructor(options: RedisCountsOptions) {
    this.#options = options;
    this.#link = new RedisLink(options);
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  /** Tries to connect, once; later tries come by themselves. */
  connect(): Promise<void> {
    return this.#link.connect();
  }

  /**
   * The present moment of the server, between two bounds. A wait told from the earlier is never too short, and what is
   * over by the later may be over.
   */
  now(): { readonly earliest: Moment; readonly latest: Moment } {
    const { time, clock } = this.#options;
    if (time || !this.#ahead) return { earliest: (time ?? clock)(), latest: (time ?? clock)() };
    const nowMs = performance.now();
    return { earliest: toMoment(nowMs + this.#ahead.least), latest: toMoment(nowMs + this.#ahead.most) };
  }

  /** One request against the key's windows; with `cost` 0 nothing is counted. `missing` if Redis has nothing to begin with. */
  async count(
    keyId: string,
    limits: Limits,
    { cost, memory }: { cost: 0 | 1; memory?: LimiterMemory },
  ): Promise<Counted | 'missing' | undefined> {
    const { unix = '', steady = '' } = this.#options.time?.() ?? {};
    const sentMs = performance.now();
    const args = [limits.minute, limits.day, cost, unix, steady, ...(memory ? [this.#seed(memory)] : [])];
    const reply = await this.#link.run(COUNT, keyId, args);
    if (reply === undefined) return undefined;
    const receivedMs = performance.now();
    this.#options.onCounted(receivedMs - sentMs);
    if (reply === null) return 'missing';

    const { numbers, ban: record } = parse(reply as string);
    const [now = 0, micros = 0, steadyNow = 0, ...value] = numbers;
    if (!this.#options.time) this.#readClock(now * 1000 + micros / 1000, sentMs, receivedMs);
    const { state, ban } = fromValue(value, record);
    return { now: { unix: now, steady: steadyNow }, state, ban };
  }

  /** Puts a ban, or none, in the place of the one that is expected there. */
  async replaceBan(keyId: string, expected: SharedBan | undefined, ban: SharedBan | undefined): Promise<Replaced> {
    const args = [toRecord(expected), ban?.starts ?? 0, ban?.ends ?? 0, toRecord(ban)];
    const reply = await this.#link.run(REPLACE_BAN, keyId, args);
    if (reply === undefined) return undefined;
    if (reply === null) return 'missing';
    if (reply === 1) return 'replaced';
    const { numbers, ban: record } = parse(reply as string);
    return { another: fromValue(numbers, record).ban };
  }

  /** A ban of storage in the server's steady seconds. */
  stored(ban: Ban): SharedBan {
    const { startedAt, endsAt, level, reason } = ban;
    const ahead = this.steadyAhead();
    return { starts: startedAt - ahead, ends: endsAt - ahead, level, reason, startedAt, isStored: true };
  }

  /** How far Unix time is ahead of steady time; the server knows only one. */
  steadyAhead(): number {
    const { unix, steady } = this.#options.time?.() ?? { unix: 0, steady: 0 };
    return unix - steady;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#link[Symbol.asyncDispose]();
  }

  #seed({ counts, ban: row }: LimiterMemory): string {
    const { minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0 } = counts ?? {};
    const ban = row && this.stored(row);
    const windows = [Math.max(0, minuteEnds - this.steadyAhead()), minuteUsed, day, dayUsed];
    return [...windows, ban?.starts ?? 0, ban?.ends ?? 0, toRecord(ban)].join(' ');
  }

  /** The server read its clock at some moment between sending and receiving. */
  #readClock(serverMs: number, sentMs: number, receivedMs: number): void {
    const before = this.#ahead;
    const ahead = { least: serverMs - receivedMs, most: serverMs - sentMs };
    this.#ahead = ahead;
    if (before && (ahead.least > before.most + STEP_MS || ahead.most < before.least - STEP_MS)) {
      this.#options.onClockStep();
    }
  }
}

function toMoment(ms: number): Moment {
  const seconds = Math.floor(ms / 1000);
  return { unix: seconds, steady: seconds };
}

function toRecord(ban: SharedBan | undefined): string {
  if (!ban) return '';
  const { startedAt, level, reason, isStored } = ban;
  return JSON.stringify({ startedAt, level, reason, isStored });
}

/** Splits what a script gave into its numbers and the ban, which is JSON and may hold spaces. */
function parse(reply: string): { numbers: number[]; ban: string } {
  const brace = reply.indexOf('{');
  const end = brace < 0 ? reply.length : brace;
  return { numbers: reply.slice(0, end).trimEnd().split(' ').map(Number), ban: reply.slice(end) };
}

function fromValue(numbers: readonly number[], record: string): Pick<Counted, 'state' | 'ban'> {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0, starts = 0, ends = 0] = numbers;
  const rest = record === '' ? undefined : (JSON.parse(record) as Omit<SharedBan, 'starts' | 'ends'>);
  const ban = rest && { starts, ends, ...rest };
  return { state: { ...UNUSED, minuteEnds, minuteUsed, day, dayUsed, ban }, ban };
}
