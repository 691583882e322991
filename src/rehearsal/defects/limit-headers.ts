import { answering, type DefectEntry, type DefectTable, heading, type Where } from './fault.ts';

const LIMIT_HEADERS = ['Limit', 'Remaining', 'Reset'];
const ON: Readonly<Record<string, Where>> = {
  200: { status: 200, method: 'GET', path: '/v1/categories' },
  201: { status: 201 },
  304: { status: 304 },
  400: { status: 400 },
  401: { status: 401 },
  404: { status: 404, path: /^(?!.v1.pets)/ },
  405: { status: 405 },
  413: { status: 413 },
  415: { status: 415 },
  429: { status: 429 },
  head: { method: 'HEAD' },
  options: { method: 'OPTIONS' },
  pets: { status: 200, path: '/v1/pets' },
  every: { status: 422 },
};

/** Answers that may lack all three at once. */
const BARE: ReadonlySet<string> = new Set(['304', '401', '404', '413', '429']);

/** A header that reveals the limits of an address without a key, and its value. */
const TOLD_ON_401: Readonly<Record<string, readonly [string, (value: string) => string | number]>> = {
  limit: ['X-RateLimit-Limit', () => 59],
  remaining: ['X-RateLimit-Remaining', () => 59],
  reset: ['X-RateLimit-Reset', (text) => Number(text) + 42],
  ratelimit: ['RateLimit', () => '"minute";r=59;t=42'],
};

/** Headers of the IETF on a 404 that disagree with the others. */
const PAIR: Readonly<Record<string, readonly [string, string, string | RegExp, string]>> = {
  'policy-in-words': ['RateLimit-Policy names no window', 'RateLimit-Policy', /.*/, '60 a minute'],
  'rate-limit-in-words': ['RateLimit names no window', 'RateLimit', /.*/, '59 left'],
  'rate-limit-remaining': ['RateLimit tells another r', 'RateLimit', /r=\d+/, 'r=7'],
  'rate-limit-quota': ['RateLimit-Policy tells another q', 'RateLimit-Policy', /q=\d+/, 'q=7'],
  'rate-limit-time': ['RateLimit tells another t', 'RateLimit', /t=\d+/, 't=7000'],
};

/** Limit headers that are missing on one kind of answer, or that no count fits. */
export const LIMIT_HEADER_DEFECTS: DefectTable = {
  ...Object.fromEntries(Object.entries(ON).flatMap(([on, where]) => missing(on, where))),
  ...Object.fromEntries(
    Object.entries(TOLD_ON_401).map(([name, [header, change]]) => [
      `limits.401-no-quota ${name}-on-401`,
      [`a 401 tells the ${header} of an address`, heading({ status: 401 }, header, change)],
    ]),
  ),
  'limits.every-operation free-400': [
    'a 400 takes nothing of the quota',
    heading({ status: 400 }, 'X-RateLimit-Remaining', (text) => Number(text) + 1),
  ],
  ...Object.fromEntries(
    Object.entries(PAIR).map(([name, [description, header, part, other]]) => [
      `limits.ietf-pair ${name}`,
      [description, heading({ status: 404 }, header, (text) => text.replace(part, other))],
    ]),
  ),
};

/** Each of the headers missing on one kind of answer, and all of them on some. */
function missing(on: string, where: Where): [string, DefectEntry][] {
  const rule = `limits.headers-on-${on}`;
  const [name, answer] = on === 'every' ? ['422', 'a 422'] : [on, `an answer to ${on}`];
  const one = LIMIT_HEADERS.map((header): [string, DefectEntry] => [
    `${rule} no-${header.toLowerCase()}-on-${name}`,
    [`X-RateLimit-${header} is missing on ${answer}`, heading(where, `X-RateLimit-${header}`)],
  ]);
  if (!BARE.has(on)) return one;
  const bare = answering(where, (answer, exchange) => {
    exchange.hasLimitHeaders = false;
    return answer;
  });
  return [...one, [`${rule} no-limits-on-${on}`, [`a ${on} has no limit headers`, bare]]];
}
