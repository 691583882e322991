import type { DeprecationEvent, Limits } from './options.ts';

/**
 * One link of a `Link` header (RFC 8288), up to the next comma outside quotes: its target, then its parameters.
 * Without `<` in the target, so that a header of many takes no more than its length.
 */
const LINK = /<([^<>]*)>((?:[^",]|"(?:[^"\\]|\\.)*")*)/g;
const PARAMETER = /;\s*([^\s=;]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]*))/g;

/** Reads the `X-RateLimit` headers; undefined if they are missing or the key is not valid. */
export function readLimits(headers: Headers): Limits | undefined {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) =>
    Number(headers.get(`X-RateLimit-${name}`)),
  ) as [number, number, number];
  return limit > 0 ? { limit, remaining, reset } : undefined;
}

/** The minute window. */
export interface Minute {
  readonly limit: number;
  readonly remaining: number;
  /** Until it resets. */
  readonly seconds: number;
}

/** Reads the minute window from the `RateLimit` headers of the IETF draft. */
export function readMinute(headers: Headers): Minute | undefined {
  const [, limit] = /"minute";q=(\d+)/.exec(headers.get('RateLimit-Policy') ?? '') ?? [];
  const [, remaining, seconds] = /"minute";r=(\d+);t=(\d+)/.exec(headers.get('RateLimit') ?? '') ?? [];
  return limit && seconds ? { limit: +limit, remaining: Number(remaining), seconds: +seconds } : undefined;
}

/** More seconds are taken for as many, as RFC 9111, section 1.2.2, has it. */
const SECONDS_MAX = 2 ** 31;
/** The three forms of RFC 9110, section 5.6.7; the last has no zone, and is GMT like the others. */
const HTTP_DATE =
  /^(?:\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT|\w{6,9}, \d\d-\w{3}-\d\d [\d:]{8} GMT|\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})$/;

/**
 * Reads `Retry-After`, seconds or a date (RFC 9110, section 10.2.3), as seconds; undefined if it is missing, malformed
 * or over. In its place counts the reset of a limit that is used up. Dates are compared with that of the response, else
 * with `now`, in Unix milliseconds.
 */
export function readRetryAfter(headers: Headers, now: number, limits?: Limits): number | undefined {
  const value = headers.get('Retry-After') ?? '';
  const untilMs = readHttpDate(value) || (limits?.remaining === 0 ? limits.reset * 1_000 : 0);
  const leftMs = untilMs - (readHttpDate(headers.get('Date') ?? '') || now);
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil(leftMs / 1_000);
  return seconds > 0 ? Math.min(seconds, SECONDS_MAX) : undefined;
}

function readHttpDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}

/** The target of the first link with this relation. */
function readLink(headers: Headers, relation: string): string | undefined {
  for (const [, target, parameters = ''] of headers.get('Link')?.matchAll(LINK) ?? []) {
    for (const [, name, quoted, bare] of parameters.matchAll(PARAMETER)) {
      if (name === 'rel' && (quoted ?? bare)?.split(' ').includes(relation)) return target;
    }
  }
  return undefined;
}

/** Reads the cursor of the next page. Ignores the rest of the link, so it cannot point to another host. */
export function readCursor(headers: Headers): string | undefined {
  const query = readLink(headers, 'next')?.split('?')[1];
  return new URLSearchParams(query).get('cursor') ?? undefined;
}

/** Reads `Deprecation` (RFC 9745) and `Sunset` (RFC 8594); undefined without both. */
export function readDeprecation(headers: Headers, url: string): Omit<DeprecationEvent, 'operation'> | undefined {
  const deprecation = readDate(Number(headers.get('Deprecation')?.slice(1)) * 1_000);
  const sunset = readDate(Date.parse(headers.get('Sunset') ?? ''));
  const link = readLink(headers, 'deprecation');
  return deprecation || sunset ? { deprecation, sunset, link: link && new URL(link, url).href } : undefined;
}

function readDate(ms: number): Date | undefined {
  return ms ? new Date(ms) : undefined;
}
