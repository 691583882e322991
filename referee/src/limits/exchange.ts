import { printable } from '../report/write.ts';

/** A request as the referee sent it; the path is relative to the base address. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A request to send: by default a GET of the address. */
export type Wanted = Partial<Sent>;

/** An answer as received. Header names are in lower case; repeated headers are joined by commas. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** The beginning, for reports. */
  readonly body: string;
}

/** An answer with the request that it belongs to. */
export interface Exchange extends Answer {
  readonly sent: Sent;
  /** The time from request to answer. */
  readonly seconds: number;
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
const NOT_SHOWN = /^(accept-encoding|connection|keep-alive|x-content-type-options|vary)$/;
/** RFC 9110, section 5.6.7. */
const IMF_FIXDATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

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

/** An exchange as lines for a report. Keys still stand in it. */
export function shown(sent: Sent, answer?: Answer): string[] {
  const lines = (first: string, headers: Iterable<readonly [string, string]>, body: string) => {
    const telling = [...headers].filter(([name]) => !NOT_SHOWN.test(name));
    return [first, ...telling.map(([name, value]) => `${name}: ${value}`), ...shortened(body)].map(printable);
  };
  const request = lines(`${sent.method} ${sent.path}`, Object.entries(sent.headers), sent.body ?? '');
  return [...request, ...(answer ? lines(`→ ${answer.status}`, answer.headers, answer.body) : ['→ no answer'])];
}

function shortened(body: string): string[] {
  const text = body.slice(0, 10 * BODY_CHARACTERS_SHOWN).trim();
  if (text === '') return [];
  return [text.length > BODY_CHARACTERS_SHOWN ? `${text.slice(0, BODY_CHARACTERS_SHOWN)}… (${body.length})` : text];
}
