import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StepName } from '../client/script.ts';
import { Mistake } from '../mistake.ts';
import type { Clock } from './clock.ts';
import type { Turn } from './follower.ts';
import { type Fields, fieldOf, without } from './headers.ts';

/** An answer that the upstream did not give. */
export interface MadeUp {
  readonly status: number;
  readonly fields: Fields;
  readonly body: Buffer;
}

interface Words {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** The file of a dialect: an answer in the form of the API. */
interface Template {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const LIMITED: Words = { status: 429, code: 'rate_limit_exceeded', message: 'Too many requests' };
const FAILED: Words = { status: 500, code: 'internal_error', message: 'The service failed' };
const WORDS: Readonly<Partial<Record<StepName, Words>>> = {
  limit: LIMITED,
  'limit-date': LIMITED,
  'limit-reset': LIMITED,
  'limit-bare': LIMITED,
  'limit-ms': LIMITED,
  quota: { status: 429, code: 'daily_quota_exceeded', message: 'The quota of the day is used up' },
  ban: { status: 429, code: 'key_banned', message: 'The key is banned' },
  unavailable: { status: 503, code: 'unavailable', message: 'The service cannot do this now' },
  unknown: { status: 503, code: 'outcome_unknown', message: 'It is not known whether this was done' },
  error: FAILED,
  status: { ...FAILED, code: 'refused', message: 'This cannot be done' },
  revoked: { status: 401, code: 'invalid_api_key', message: 'The key is not valid' },
};
const OF_A_LIMIT = /^(x-)?rate-?limit(-|$)/i;
const UNIX_SECONDS_MIN = 1e9;
const UNIX_MS_MIN = 1e12;
const SECOND_MS = 1_000;

/** The form in which an API answers: made-up answers take its media type and the headers of its limits. */
export class Dialect {
  readonly #folder: string | undefined;
  readonly #clock: Clock;
  #jsonType = 'application/json';
  /** The limit headers of the upstream's latest answer. */
  #limits: Fields = [];

  /** `folder` has templates such as `429.json` or `limit-reset.json`. */
  constructor(folder: string | undefined, clock: Clock) {
    if (folder !== undefined && !existsSync(folder)) throw new Mistake(`--dialect is ${folder}, which is no folder`);
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Takes the form of an answer of the upstream. */
  learn(fields: Fields, jsonType: string | undefined): void {
    if (jsonType !== undefined) this.#jsonType = jsonType;
    const limits = fields.filter(([name]) => OF_A_LIMIT.test(name));
    if (limits.length > 0) this.#limits = limits;
  }

  /** The answer that a step makes up; undefined if the upstream answers. Throws `Mistake` for a wrong template. */
  answerOf({ step: { name, value }, untilMs }: Turn): MadeUp | undefined {
    const words = WORDS[name];
    if (!words) return undefined;
    const status = name === 'status' ? value : words.status;
    const leftMs = untilMs === undefined ? undefined : Math.max(0, untilMs - this.#clock.steadyMs());
    const retry = retryFields(name, { value, leftMs, unixMs: this.#clock.unixMs() });
    return this.#madeUp(name, { ...words, status }, [...this.#limitFields(name, leftMs), ...retry]);
  }

  /** An answer of the proxy itself. */
  ownAnswer(words: Words): MadeUp {
    return this.#madeUp(undefined, words, []);
  }

  #madeUp(name: StepName | undefined, { status, code, message }: Words, fields: Fields): MadeUp {
    const { body, headers = {}, ...own } = (name && this.#template(name, status)) ?? {};
    // Some SDKs know a failure by its member `error` alone.
    const usualBody = { code, message, status, error: { message, type: 'api_error', code } };
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body ?? usualBody));
    const waitMs = Math.ceil((secondsToWait(status, fields, this.#clock) ?? 0) * SECOND_MS);
    const given = Object.entries(headers).map(([each, value]) => [each, value.replace('{ms}', `${waitMs}`)] as const);
    const names = given.map(([each]) => each.toLowerCase());
    const usual: Fields = [...fields, ['Content-Type', this.#jsonType], ['Cache-Control', 'no-store']];
    return {
      status: own.status ?? status,
      fields: [
        ...usual.filter(([each]) => !names.includes(each.toLowerCase())),
        ...without(given, /^(content-length|transfer-encoding)$/i),
        ['Content-Length', `${bytes.length}`],
      ],
      body: bytes,
    };
  }

  #template(name: StepName, status: number): Template | undefined {
    for (const file of this.#folder === undefined ? [] : [`${name}.json`, `${status}.json`]) {
      const path = join(this.#folder ?? '', file);
      if (!existsSync(path)) continue;
      try {
        return JSON.parse(readFileSync(path, 'utf8'));
      } catch (error) {
        throw new Mistake(`${path} is no template: ${(error as Error).message}`);
      }
    }
    return undefined;
  }

  /** The upstream's limit headers; a refusal has Remaining 0 and its Reset. */
  #limitFields(name: StepName, leftMs: number | undefined): Fields {
    if (WORDS[name]?.status !== 429) return this.#limits;
    const [seconds, unixMs] = [Math.ceil((leftMs ?? 0) / SECOND_MS), this.#clock.unixMs() + (leftMs ?? 0)];
    const isNamed = this.#limits.some(([each]) => /remaining|^ratelimit$/i.test(each));
    const limits: Fields = isNamed || name !== 'limit-reset' ? this.#limits : OF_GITHUB;
    return limits.map(([each, value]) => {
      if (/remaining/i.test(each)) return [each, '0'];
      if (leftMs === undefined) return [each, value];
      if (/^ratelimit$/i.test(each)) return [each, value.replace(/\br=\d+/, 'r=0').replace(/\bt=\d+/, `t=${seconds}`)];
      return [each, /reset/i.test(each) ? resetLike(value, { seconds, unixMs }) : value];
    });
  }
}

/** The form of GitHub, for an API that names no limits. */
const OF_GITHUB: Fields = [
  ['X-RateLimit-Limit', '60'],
  ['X-RateLimit-Remaining', '0'],
  ['X-RateLimit-Reset', `${UNIX_SECONDS_MIN}`],
];

/** A Reset in the form of another one: Unix seconds, Unix milliseconds, a date, or seconds from now. */
function resetLike(value: string, { seconds, unixMs }: { seconds: number; unixMs: number }): string {
  const number = Number(value);
  if (Number.isNaN(number)) return dateAt(unixMs);
  if (number >= UNIX_MS_MIN) return `${Math.ceil(unixMs)}`;
  return `${number >= UNIX_SECONDS_MIN ? Math.ceil(Math.floor(unixMs) / SECOND_MS) : seconds}`;
}

interface Wait {
  readonly value: number;
  readonly leftMs: number | undefined;
  readonly unixMs: number;
}

function retryFields(name: StepName, { value, leftMs = 0, unixMs }: Wait): Fields {
  if (name === 'revoked') return [['WWW-Authenticate', 'Bearer']];
  if (name === 'unavailable') return [['Retry-After', `${value}`]];
  if (name === 'unknown') return [['Retry-After', '1']];
  if (name === 'limit-date') return [['Retry-After', dateAt(unixMs + leftMs)]];
  const seconds: [string, string] = ['Retry-After', `${Math.ceil(leftMs / SECOND_MS)}`];
  if (name === 'limit-ms') return [['retry-after-ms', `${Math.ceil(leftMs)}`], seconds];
  return name === 'limit' || name === 'quota' || name === 'ban' ? [seconds] : [];
}

/** The IMF-fixdate (RFC 9110, section 5.6.7) of the nearest whole second. */
function dateAt(unixMs: number): string {
  return new Date(Math.round(unixMs / SECOND_MS) * SECOND_MS).toUTCString();
}

/** The forms that are in use (RFC 9110, section 5.6.7); `Date.parse` takes `1.5` and `soon 5` too. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .* GMT$/;

/**
 * The seconds that a failure asked to wait (RFC 9110, section 10.2.3): its milliseconds, its Retry-After, or, on a
 * refusal with Remaining 0, its Reset. Null for none, or one that is malformed.
 */
export function secondsToWait(status: number, fields: Fields, clock: Clock): number | null {
  if (status !== 429 && status !== 403 && status < 500) return null;
  const ms = fieldOf(fields, 'retry-after-ms') ?? fieldOf(fields, 'x-amz-retry-after');
  if (ms !== undefined && /^\d+(\.\d+)?$/.test(ms)) return Number(ms) / SECOND_MS;
  const retryAfter = fieldOf(fields, 'retry-after');
  if (retryAfter !== undefined) return secondsUntil(retryAfter, clock);
  const isSpent = fields.some(([name, value]) => /remaining$/i.test(name) && value === '0');
  const reset = fields.find(([name]) => OF_A_LIMIT.test(name) && /reset$/i.test(name))?.[1];
  if (!isSpent || status >= 500 || reset === undefined) return null;
  if (!/^\d+$/.test(reset)) return secondsUntil(reset, clock);
  const number = Number(reset);
  const unixMs = number >= UNIX_MS_MIN ? number : number * SECOND_MS;
  return number < UNIX_SECONDS_MIN ? number : Math.max(0, (unixMs - clock.unixMs()) / SECOND_MS);
}

function secondsUntil(text: string, clock: Clock): number | null {
  if (/^\d+$/.test(text)) return Number(text);
  const dateMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - clock.unixMs()) / SECOND_MS);
}
