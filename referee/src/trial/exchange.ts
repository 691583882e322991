import { printable } from '../report/write.ts';
import { type Listing, parseJson } from './list-reader.ts';

/** A request as the referee sent it; the path is relative to the base address. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A request to send; by default with the key. */
export interface Wanted {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Another `Authorization`; undefined for none. */
  readonly authorization?: string | undefined;
}

/** An answer as received. Header names are in lower case; repeated headers are joined by commas. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Up to 8 MiB; of a list of categories, and of what is larger, the beginning. */
  readonly body: string;
  /** True if there was more than 8 MiB. */
  readonly isCut: boolean;
  readonly list: Listing | undefined;
}

/** An answer with the request that it belongs to. */
export interface Exchange extends Answer {
  readonly sent: Sent;
  /** The time from request to answer. */
  readonly seconds: number;
}

/** An exchange for a report: as lines of text, and as a command that sends the request again. */
export interface Shown {
  readonly request: string;
  readonly response: string;
  readonly curl: string;
}

/** A rule that cannot be judged, with the reason. */
export class Skipped extends Error {}

/** A request that got no answer, or none that is HTTP. */
export class NoAnswer extends Error {
  readonly sent: Sent;
  readonly code: string;

  constructor(sent: Sent, message: string, code: string) {
    super(message);
    this.sent = sent;
    this.code = code;
  }

  /** True if an answer began. */
  get isHttp(): boolean {
    return this.code === 'EARLY';
  }
}

const BODY_CHARACTERS_SHOWN = 300;
/** Headers that explain no failure. */
const NOT_SHOWN: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'keep-alive',
  'x-content-type-options',
  'vary',
]);
/** RFC 9110, section 5.6.7. */
const IMF_FIXDATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const FILLED = /^( {1000,})(.*)$/s;

/** The moment of a date in HTTP, in Unix seconds; undefined if it is no IMF-fixdate. */
export function momentOf(text: string | undefined): number | undefined {
  if (text === undefined || !IMF_FIXDATE.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

/** When the server answered, by its `Date`, in Unix seconds; undefined without one. */
export function dateOf({ headers }: Answer): number | undefined {
  return momentOf(headers.get('date'));
}

/** Seconds to wait by `Retry-After`, digits or a date (RFC 9110, section 10.2.3); undefined if it is neither. */
export function retryAfterOf(answer: Answer): number | undefined {
  const text = answer.headers.get('retry-after') ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const [at, now] = [momentOf(text), dateOf(answer)];
  return at === undefined || now === undefined ? undefined : Math.max(0, at - now);
}

/** The JSON value of an answer; undefined if the body is no JSON. */
export function jsonOf({ body, isCut }: Answer): unknown {
  return isCut ? undefined : parseJson(body);
}

/** Why a body is no JSON, in the words of a failure; undefined if it is. */
export function bodyFault(answer: Answer): string | undefined {
  if (jsonOf(answer) !== undefined) return undefined;
  if (answer.isCut) return 'the body is larger than 8 MiB';
  if (answer.body === '') return 'there is no body';
  return /^\s*</.test(answer.body) ? 'the body is HTML or XML, not JSON' : 'the body is no JSON';
}

/** The members of a JSON object; none for any other value. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The members of an answer whose body is a JSON object; none for any other body. */
export function bodyOf(answer: Answer): Readonly<Record<string, unknown>> {
  return membersOf(jsonOf(answer));
}

/** An exchange for a report. `addressOf` completes paths. Keys still stand in it. */
export function shown(sent: Sent, answer: Answer | undefined, addressOf: (path: string) => string): Shown {
  return {
    request: [
      `${sent.method} ${sent.path}`,
      ...headerLines(Object.entries(sent.headers)),
      ...shortened(sent.body ?? ''),
    ]
      .map(printable)
      .join('\n'),
    response: answer
      ? [`${answer.status}`, ...headerLines([...answer.headers]), ...shortened(answer.body)].map(printable).join('\n')
      : 'no answer',
    curl: curlOf(sent, addressOf(sent.path)),
  };
}

function headerLines(headers: readonly (readonly [string, string])[]): string[] {
  return headers.filter(([name]) => !NOT_SHOWN.has(name)).map(([name, value]) => `${name}: ${value}`);
}

function shortened(body: string): string[] {
  if (body === '') return [];
  const text = body.slice(0, 10 * BODY_CHARACTERS_SHOWN).trim();
  return [text.length > BODY_CHARACTERS_SHOWN ? `${text.slice(0, BODY_CHARACTERS_SHOWN)}… (${body.length})` : text];
}

function curlOf({ method, headers, body }: Sent, address: string): string {
  const parts = ['curl -sS', method === 'HEAD' ? '--head' : `-i -X ${method}`, quoted(address)];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body === undefined) return parts.join(' ');
  const filled = FILLED.exec(body);
  if (!filled) return [...parts, `--data-raw ${quoted(body)}`].join(' ');
  const [, { length } = '', rest = ''] = filled;
  return `printf '%${length}s%s' '' ${quoted(rest)} | ${[...parts, '--data-binary @-'].join(' ')}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
