/** One request, sent with the row's key unless told otherwise, and what must come back. */
export interface Step {
  /** GET unless told otherwise. */
  readonly method?: string;
  /** Below the base address; the list of categories unless told otherwise. */
  readonly path?: string;
  /** `{etag}` is that of the answer before. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value, or a text as it is. */
  readonly body?: unknown;
  /** In place of the row's key: the header alone, or none. */
  readonly authorization?: string | null;
  /** So often, one after the other, each answered alike; only the last `status` if it is refused. */
  readonly times?: number;
  /** So many at once: one is answered with `status`, the others with 429. */
  readonly atOnce?: number;
  /** Lets the seconds of the last Retry-After pass before. */
  readonly waits?: true;
  readonly status: number;
  /** Of an error. */
  readonly code?: string;
  /** Each header by its value or pattern; null for one that may not be there. */
  readonly has?: Readonly<Record<string, string | RegExp | null>>;
  /** Of a list that is a page: how many. */
  readonly items?: number;
  /** True for an answer that was given before a key was read, which has no quota to tell of. */
  readonly isBeforeKey?: true;
  /** True if it came on the connection of the request before. */
  readonly isSameConnection?: true;
}

/** A sentence of the published interface, and the requests that show whether it holds. */
export interface Row {
  readonly sentence: string;
  readonly about: string;
  /** The plan of its own key. */
  readonly plan?: 'free' | 'pro' | 'business';
  readonly steps: readonly Step[];
  /** True if seconds must pass, which behind a gateway would be real ones. */
  readonly needsClock?: true;
  /** True if Caddy answers it itself, without headers of limits. */
  readonly isAnsweredByCaddy?: true;
}

const LISTED =
  'List categories, rule 1: When the caller is authenticated, the response is 200 with an array of every available category.';
const CREATED =
  'Create a category, rule 1: When the body is valid, the response is 201 with a Category that carries a newly assigned id.';
const CATEGORY = 'Category: every field of NewCategory plus id, integer, int64, unique, assigned by the service.';
const INVALID =
  'Create a category, rule 2: When the body lacks a required field (name) or contains invalid values, the response is 400 with an Error body.';
const UNAUTHENTICATED = 'Authentication: 401 with an Error body when the key is missing or invalid.';
const BEARER = 'Authentication: HTTP bearer, Authorization: Bearer <API_KEY>, applied to every category operation.';
const ERROR = 'Errors: All error bodies use the Error shape; status equals the HTTP status code of the response.';
const EVERY =
  'Limits, rule 1: Every API response carries X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.';
const RESET = 'Limits, rule 2: X-RateLimit-Reset is a Unix timestamp of the moment the limit resets.';
const OVER =
  'Limits, rule 3: A request over the limit receives 429, and the response gives the wait time in the Retry-After header.';
const BACK_OFF = 'Limits, rule 4: A client is expected to retry after the indicated time.';
const BY_PLAN = 'Limits: requests per minute and per day by plan, for the platform’s API.';

const UNKNOWN = 'Bearer petcat_live_000000000000000000000000000000000000';
const CHALLENGE = 'Bearer realm="pet-catalog"';
const LIMITED = { code: 'rate_limit_exceeded', has: { 'retry-after': /^\d+$/ } } as const;
const create = (body: unknown, more: Partial<Step> = {}): Step => ({ method: 'POST', body, status: 201, ...more });
const invalid = (body: unknown, code = 'validation_failed') => create(body, { status: 400, code });
const unauthenticated = (more: Partial<Step>, code = 'missing_api_key'): Step => ({ status: 401, code, ...more });
const SPENT: Step = { times: 60, status: 200 };

/**
 * What the published interface says, a row for each sentence and case. Of every answer the runner asserts the media
 * type, the shape of an error and the values of the three headers; of every 201 the Category; after each row that the
 * list has what was created, whole, and nothing else.
 */
export const ROWS: readonly Row[] = [
  { sentence: LISTED, about: 'the list, twice', steps: [{ status: 200 }, { status: 200 }] },
  { sentence: CREATED, about: 'a name', steps: [create({ name: 'Dog' }), { status: 200 }] },
  { sentence: CREATED, about: 'a name and a description', steps: [create({ name: 'Cat', description: 'A species' })] },
  { sentence: CREATED, about: 'one name twice', steps: [create({ name: 'Twin' }), create({ name: 'Twin' })] },
  { sentence: CATEGORY, about: 'an id of the client’s', steps: [create({ name: 'Own', id: 9_007_199_254_740_881 })] },
  {
    sentence: CATEGORY,
    about: 'letters of any script',
    steps: [create({ name: 'É ß 猫 🐕', description: 'e\u0301' })],
  },
  {
    sentence: LISTED,
    about: 'quotes, backslashes and markup are whole in the list',
    steps: [create({ name: '"Dog" \\ <b>&amp;</b>', description: 'A "species"\\breed, \'and\' </script>' })],
  },
  {
    sentence: LISTED,
    about: 'a name of 255 letters is whole in the list',
    steps: [create({ name: '🐕'.repeat(255) })],
  },
  {
    sentence: LISTED,
    about: 'a description of 2,000 letters, lines among them, is whole in the list',
    steps: [create({ name: 'Long', description: '\t\r\n🐕'.repeat(500) })],
  },
  { sentence: LISTED, about: 'an empty description', steps: [create({ name: 'Empty', description: '' })] },
  {
    sentence: LISTED,
    about: 'more than any server gives by default',
    steps: Array.from({ length: 25 }, (_, index) => create({ name: `Many ${index}` })),
  },
  { sentence: INVALID, about: 'no name', steps: [invalid({}), invalid({ description: 'x' })] },
  {
    sentence: INVALID,
    about: 'a name that is no string',
    steps: [null, true, 7, ['a'], { a: 'b' }].map((name) => invalid({ name })),
  },
  {
    sentence: INVALID,
    about: 'a description that is no string',
    steps: [null, true, 7, ['a'], { a: 'b' }].map((description) => invalid({ name: 'Never', description })),
  },
  {
    sentence: INVALID,
    about: 'a body that is no object',
    steps: ['[{"name":"Never"}]', 'null', '"Never"', '7'].map((body) => invalid(body)),
  },
  {
    sentence: INVALID,
    about: 'a body that is no JSON',
    steps: ['', '{"name":', '{"name":"Never"', "{'name':'Never'}"].map((body) => invalid(body, 'invalid_json')),
  },
  {
    sentence: UNAUTHENTICATED,
    about: 'no key, whatever is sent',
    steps: [
      unauthenticated({ authorization: null }),
      ...[{ name: 'Never' }, { name: 1 }, '{"name":'].map((body) =>
        unauthenticated({ method: 'POST', body, authorization: null }),
      ),
      unauthenticated({ authorization: 'Bearer ' }),
    ],
  },
  {
    sentence: UNAUTHENTICATED,
    about: 'a key that was never issued lists and creates nothing',
    steps: [
      unauthenticated({ authorization: UNKNOWN }, 'invalid_api_key'),
      unauthenticated({ method: 'POST', body: { name: 'Never' }, authorization: UNKNOWN }, 'invalid_api_key'),
      unauthenticated({ method: 'POST', body: { name: 1 }, authorization: UNKNOWN }, 'invalid_api_key'),
    ],
  },
  {
    sentence: UNAUTHENTICATED,
    about: 'a key that is nearly right',
    steps: ['Bearer {key}x', 'Bearer x{key}', 'Bearer {almost}'].map((authorization) =>
      unauthenticated({ authorization }, 'invalid_api_key'),
    ),
  },
  {
    sentence: UNAUTHENTICATED,
    about: '401 comes before 415, 413, 404 and 405',
    steps: [
      { method: 'POST', body: 'Never', headers: { 'content-type': 'text/plain' } },
      { method: 'POST', body: 'x'.repeat(300_000) },
      { path: '/nowhere' },
      { method: 'PATCH' },
    ].map((step) => unauthenticated({ ...step, authorization: null })),
  },
  {
    sentence: BEARER,
    about: 'X-Api-Key opens nothing',
    steps: [unauthenticated({ headers: { 'x-api-key': '{key}' }, authorization: null })],
  },
  { sentence: BEARER, about: 'the scheme in any case', steps: [{ authorization: 'bEARER   {key}', status: 200 }] },
  {
    sentence: BEARER,
    about: 'no other form, nor two keys; each 401 has a challenge',
    steps: [
      unauthenticated({ authorization: '{key}', has: { 'www-authenticate': CHALLENGE } }),
      unauthenticated({ authorization: 'Basic {key}', has: { 'www-authenticate': CHALLENGE } }),
      unauthenticated({ authorization: 'Bearer {key}, Bearer {key}' }, 'invalid_api_key'),
      unauthenticated(
        { authorization: UNKNOWN, has: { 'www-authenticate': `${CHALLENGE}, error="invalid_token"` } },
        'invalid_api_key',
      ),
      unauthenticated({ path: '/categories?api_key={key}', authorization: null }),
    ],
  },
  {
    sentence: BEARER,
    about: 'a connection stays as unauthenticated as its request',
    steps: [{ status: 200 }, unauthenticated({ authorization: null, isSameConnection: true }), { status: 200 }],
  },
  {
    sentence: ERROR,
    about: '404, 405, 413 and 415',
    steps: [
      ...['/nowhere', '//categories', '/categories%2F1', '/categories/'].map((path) => ({
        path,
        status: 404,
        code: 'not_found',
      })),
      { method: 'PATCH', status: 405, code: 'method_not_allowed', has: { allow: 'GET, HEAD, OPTIONS, POST' } },
      {
        method: 'POST',
        headers: { 'content-type': 'text/plain' },
        body: 'x',
        status: 415,
        code: 'unsupported_media_type',
      },
      { method: 'POST', body: `${' '.repeat(300_000)}{}`, status: 413, code: 'payload_too_large' },
    ],
  },
  { sentence: EVERY, about: 'HEAD', steps: [{ method: 'HEAD', status: 200 }] },
  { sentence: EVERY, about: 'OPTIONS', steps: [{ method: 'OPTIONS', status: 204, has: { allow: /GET/ } }] },
  {
    sentence: EVERY,
    about: '304',
    steps: [
      { status: 200, has: { etag: /^"/ } },
      { headers: { 'if-none-match': '{etag}' }, status: 304 },
    ],
  },
  {
    sentence: EVERY,
    about: 'an invalid escape',
    steps: [{ path: '/%zz', status: 400, code: 'malformed_request', isBeforeKey: true }],
    isAnsweredByCaddy: true,
  },
  {
    sentence: EVERY,
    about: '414',
    steps: [{ path: `/${'x'.repeat(9_000)}`, status: 414, code: 'uri_too_long', isBeforeKey: true }],
  },
  {
    sentence: EVERY,
    about: '431',
    steps: [{ headers: { 'x-long': 'x'.repeat(20_000) }, status: 431, code: 'headers_too_large', isBeforeKey: true }],
  },
  {
    sentence: EVERY,
    about: 'a create that is replayed',
    steps: [
      create({ name: 'Once' }, { headers: { 'idempotency-key': 'k' }, has: { 'idempotency-replayed': null } }),
      create({ name: 'Once' }, { headers: { 'idempotency-key': 'k' }, has: { 'idempotency-replayed': 'true' } }),
    ],
  },
  {
    sentence: EVERY,
    about: 'a page',
    steps: [
      create({ name: 'A' }),
      create({ name: 'B' }),
      { path: '/categories?limit=1', status: 200, items: 1, has: { link: /rel="next"/ } },
    ],
  },
  {
    sentence: RESET,
    about: 'it stands still in a window, and a 401 has the present moment',
    steps: [{ times: 3, status: 200 }, unauthenticated({ authorization: null })],
  },
  ...(
    [
      ['free', 60, 1_000],
      ['pro', 300, 10_000],
      ['business', 1_000, 100_000],
    ] as const
  ).map(([plan, minute, day]) => {
    const policy = `"minute";q=${minute};w=60, "day";q=${day};w=86400`;
    return { sentence: BY_PLAN, about: plan, plan, steps: [{ status: 200, has: { 'ratelimit-policy': policy } }] };
  }),
  {
    sentence: BY_PLAN,
    about: 'creates, errors, /pets and /store are in the same count',
    steps: [
      create({ name: 'Counted' }),
      { path: '/nowhere', status: 404, code: 'not_found' },
      ...['/pets', '/store/orders', '/inventory'].map((path) => ({ path, status: 200, items: 0 })),
      { status: 200 },
    ],
  },
  {
    sentence: OVER,
    about: 'the 61st request of a minute is refused, and every one after it',
    steps: [SPENT, { times: 3, status: 429, ...LIMITED }],
  },
  {
    sentence: OVER,
    about: 'a POST is refused with Retry-After and Remaining, and creates nothing',
    steps: [SPENT, create({ name: 'Never' }, { status: 429, ...LIMITED })],
  },
  { sentence: OVER, about: 'HEAD is refused', steps: [SPENT, { method: 'HEAD', status: 429, ...LIMITED }] },
  {
    sentence: OVER,
    about: '/pets, /store and unknown paths are refused',
    steps: [SPENT, ...['/pets', '/store/orders', '/nowhere'].map((path) => ({ path, status: 429, ...LIMITED }))],
  },
  {
    sentence: OVER,
    about: 'of sixteen at once for the last request one is admitted',
    steps: [
      { times: 59, status: 200 },
      { atOnce: 16, status: 200 },
    ],
  },
  {
    sentence: BACK_OFF,
    about: 'one that waits as told is admitted, in a whole new window',
    steps: [SPENT, { status: 429, ...LIMITED }, { waits: true, status: 200 }],
    needsClock: true,
  },
];
