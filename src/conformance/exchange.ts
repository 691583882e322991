/** A request as the referee sent it; the path is relative to the base address. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** An answer as received. Header names are in lower case; repeated headers are joined by commas. */
export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** One request and its answer. */
export interface Exchange {
  readonly sent: Sent;
  readonly answer: Answer;
}

/** A request that got no answer, or none that is HTTP. */
export class NoAnswer extends Error {
  readonly sent: Sent;

  constructor(sent: Sent, why: string) {
    super(`no answer: ${why}`);
    this.sent = sent;
  }
}

/** An answer's three limit headers; undefined where one is missing or no whole number. */
export interface LimitHeaders {
  readonly limit: number | undefined;
  readonly remaining: number | undefined;
  readonly reset: number | undefined;
}

const BODY_CHARACTERS_SHOWN = 300;
/** Headers that explain no failure. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'x-content-type-options', 'vary']);

/** The limit headers of an answer. */
export function limitsOf({ headers }: Answer): LimitHeaders {
  const read = (name: string) => {
    const text = headers.get(`x-ratelimit-${name}`) ?? '';
    return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
  };
  return { limit: read('limit'), remaining: read('remaining'), reset: read('reset') };
}

/** When the server answered, by its `Date`, in Unix seconds; undefined without one. */
export function dateOf({ headers }: Answer): number | undefined {
  const seconds = Date.parse(headers.get('date') ?? '') / 1000;
  return Number.isNaN(seconds) ? undefined : seconds;
}

/** Seconds to wait by `Retry-After`, a number or a date (RFC 9110, section 10.2.3); undefined if it is neither. */
export function retryAfterOf(answer: Answer): number | undefined {
  const text = answer.headers.get('retry-after') ?? '';
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const at = Date.parse(text) / 1000;
  const now = dateOf(answer);
  return Number.isNaN(at) || now === undefined ? undefined : Math.max(0, at - now);
}

/** The JSON value of an answer, its large integers as BigInt; undefined if the body is no JSON. */
export function jsonOf({ body }: Answer): unknown {
  try {
    return JSON.parse(body, keepLargeIntegers);
  } catch {
    return undefined;
  }
}

/** An int64 beyond 2^53 would lose its last digits. */
function keepLargeIntegers(_name: string, value: unknown, context?: { source?: string }): unknown {
  const { source = '' } = context ?? {};
  return typeof value === 'number' && /^-?\d{16,}$/.test(source) ? BigInt(source) : value;
}

/** The members of a JSON object; none for any other value. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** An exchange as lines for people, shortened. */
export function shown({ sent, answer }: Exchange): string {
  const headers = [...answer.headers]
    .filter(([name]) => !NOT_SHOWN.has(name))
    .map(([name, value]) => `${name}: ${value}`);
  return [...shownRequest(sent), `→ ${answer.status}`, ...headers, ...shortened(answer.body)].join('\n');
}

/** A request as lines for people, shortened. */
export function shownRequest({ method, path, headers, body }: Sent): string[] {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${path}`, ...lines, ...shortened(body ?? '')];
}

function shortened(body: string): string[] {
  if (body === '') return [];
  const text = body.replaceAll(/[^\x20-\x7e\u00a0-\uffff]/g, ' ').trim();
  return [text.length > BODY_CHARACTERS_SHOWN ? `${text.slice(0, BODY_CHARACTERS_SHOWN)}… (${body.length})` : text];
}
