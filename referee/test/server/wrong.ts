import {
  type Asked,
  bucket,
  type Category,
  fixedWindow,
  type Limiter,
  MAIN_KEY,
  type Made,
  type Make,
  type Told,
} from './stranger.ts';

/** A server that breaks the interface, and the rules that may say so. */
export interface Wrong {
  readonly make: Make;
  readonly rules: readonly string[];
  readonly isFull?: true;
}

type Change = (made: Made, asked: Asked) => void;

export const changing = (changes: Change): Make => ({ changes });
/** Changes answers of some statuses. */
const on = (statuses: readonly number[], change: Change): Make =>
  changing((made, asked) => {
    if (statuses.includes(made.status)) change(made, asked);
  });
export const header = (
  statuses: readonly number[],
  name: string,
  value: (before: number, asked: Asked) => string | number | undefined,
) =>
  on(statuses, (made, asked) => {
    made.headers[name] = value(Number(made.headers[name]), asked);
  });
const members = (statuses: readonly number[], more: (body: Record<string, unknown>, made: Made) => object) =>
  on(statuses, (made) => {
    made.body = more(made.body as Record<string, unknown>, made);
  });
const body = (statuses: readonly number[], text: string, type = 'application/json') =>
  on(statuses, (made) => {
    made.body = text;
    made.headers['content-type'] = type;
  });
const status = (from: number, to: number) =>
  on([from], (made) => {
    made.status = to;
    if (to >= 400) made.body = { ...(made.body as object), status: to };
  });
const storing = (store: (category: Category, asked: Asked) => Category | undefined): Make => ({ store });
const listing = (listed: (categories: readonly Category[], asked: Asked) => readonly unknown[]): Make => ({
  listed: (categories, asked) => listed(categories, asked) as readonly Category[],
});
const accepting = (pattern: RegExp): Make => ({ validates: (text) => (pattern.test(text) ? true : undefined) });
const refusing = (pattern: RegExp): Make => ({ validates: (text) => (pattern.test(text) ? false : undefined) });
const limiting = (limiter: Limiter): Make => ({ limiter });
/** The plain window, with other words. */
export const telling = (change: (told: Told, now: number) => Told | object): Make =>
  limiting((key, limit, now, state) => {
    const told = fixedWindow(key, limit, now, state);
    return key === MAIN_KEY ? told : { ...told, ...change(told, now) };
  });
/** The plain window with another number of requests than it says. */
export const admitting = (more: number): Make =>
  limiting((key, limit, now, state) => {
    const told = fixedWindow(key, limit + more, now, state);
    return { ...told, limit, remaining: Math.max(0, told.remaining - more) };
  });
/** A bucket with so many more tokens than it says. */
export const generous = (more: number): Make =>
  limiting((key, limit, now, state) => {
    const told = bucket(key, limit + more, now, state);
    return { ...told, limit, remaining: Math.max(0, told.remaining - more) };
  });
/** Creates, though the answer says that it does not. */
function createsAfter({ status: code }: Made, { body: text, state }: Asked, refusal: number): void {
  const name = /"name":"([^"]+)"/.exec(text)?.[1];
  if (code !== refusal || !name) return;
  state.lastId += 1;
  state.categories = [...state.categories, { id: state.lastId, name }];
}
const OK = [200, 201];
const LIMITED = ['limits.429-over-limit', 'limits.remaining-true', 'limits.last-token'];
const REFUSED = ['limits.retry-after-is-a-wait'];
const RESET = ['limits.reset-unix-time'];

export const WRONG: Readonly<Record<string, Wrong>> = {
  // Limits
  'Limit of 120, 60 admitted': { make: telling(() => ({ limit: 120 })), rules: LIMITED },
  'Limit of 40, 60 admitted': { make: telling(() => ({ limit: 40 })), rules: LIMITED },
  '61 admitted': { make: admitting(1), rules: LIMITED },
  '59 admitted': { make: admitting(-1), rules: LIMITED },
  '63 admitted': { make: admitting(3), rules: LIMITED },
  '30 admitted': { make: admitting(-30), rules: LIMITED },
  'Remaining a constant 59': {
    make: telling(({ wait }) => (wait ? {} : { remaining: 59 })),
    rules: ['limits.remaining-true'],
  },
  'Remaining a constant 1': {
    make: telling(({ wait }) => (wait ? {} : { remaining: 1 })),
    rules: ['limits.remaining-true'],
  },
  'Remaining a constant 0': { make: telling(() => ({ remaining: 0 })), rules: ['limits.remaining-true'] },
  'Remaining one too many': {
    make: telling(({ remaining, wait }) => ({ remaining: remaining + (wait ? 0 : 1) })),
    rules: ['limits.remaining-true'],
  },
  'Remaining one too few': {
    make: telling(({ remaining }) => ({ remaining: Math.max(0, remaining - 1) })),
    rules: ['limits.remaining-true'],
  },
  'Remaining falls by two': {
    make: telling(({ remaining }) => ({ remaining: Math.max(0, 2 * remaining - 60) })),
    rules: ['limits.remaining-true'],
  },
  'Remaining is what was used': {
    make: telling(({ remaining }) => ({ remaining: 60 - remaining })),
    rules: ['limits.remaining-true'],
  },
  'Limit and Remaining swapped': {
    make: telling(({ limit, remaining }) => ({ limit: remaining, remaining: limit })),
    rules: [...LIMITED, 'limits.refused-limit'],
  },
  'nothing is ever refused': {
    make: limiting((key, limit, now, state) => ({ ...fixedWindow(key, 10_000, now, state), limit })),
    rules: LIMITED,
  },
  'three at the last token': {
    make: limiting((key, limit, now, state) => {
      const told = fixedWindow(key, limit, now, state);
      state.memory.extra ??= 0;
      if (told.wait === undefined || key === MAIN_KEY || state.memory.extra >= 3) return told;
      state.memory.extra += 1;
      return { limit, remaining: 0, reset: told.reset };
    }),
    rules: LIMITED,
  },
  'a bucket that gives twice what it says': {
    make: limiting((key, limit, now, state) => ({ ...bucket(key, 2 * limit, now, state), limit })),
    rules: LIMITED,
  },
  'Limit 0 on a refusal': { make: header([429], 'x-ratelimit-limit', () => 0), rules: ['limits.refused-limit'] },
  'Reset in ms': { make: header([200, 201, 400, 404], 'x-ratelimit-reset', (reset) => reset * 1000), rules: RESET },
  'Reset in ms on a refusal alone': { make: header([429], 'x-ratelimit-reset', (reset) => reset * 1000), rules: RESET },
  'Reset as seconds from now': {
    make: telling(({ reset }, now) => ({ reset: reset - Math.floor(now) })),
    rules: RESET,
  },
  'Reset as seconds from now on a refusal': {
    make: header([429], 'x-ratelimit-reset', (reset, { now }) => reset - Math.floor(now)),
    rules: RESET,
  },
  'Reset over': { make: header(OK, 'x-ratelimit-reset', (reset) => reset - 100), rules: RESET },
  'Reset over on a refusal alone': { make: header([429], 'x-ratelimit-reset', (reset) => reset - 100), rules: RESET },
  'Reset over on a 404 alone': { make: header([404], 'x-ratelimit-reset', (reset) => reset - 100), rules: RESET },
  'Reset now on a refusal': { make: header([429], 'x-ratelimit-reset', (_, { now }) => Math.floor(now)), rules: RESET },
  'Reset as a date': {
    make: header(OK, 'x-ratelimit-reset', (reset) => new Date(reset * 1000).toISOString()),
    rules: ['limits.headers-on-200'],
  },
  'Reset with a fraction': {
    make: header(OK, 'x-ratelimit-reset', (reset) => `${reset}.5`),
    rules: ['limits.headers-on-200'],
  },
  'Reset 0': { make: header(OK, 'x-ratelimit-reset', () => 0), rules: RESET },
  'Reset in ten years': { make: header(OK, 'x-ratelimit-reset', (reset) => reset + 315_360_000), rules: RESET },
  'Limit with its window': {
    make: header(OK, 'x-ratelimit-limit', (limit) => `${limit}, ${limit};w=60`),
    rules: ['limits.headers-on-200'],
  },
  'no Limit on a 200': { make: header([200], 'x-ratelimit-limit', () => undefined), rules: ['limits.headers-on-200'] },
  'no Remaining on a 201': {
    make: header([201], 'x-ratelimit-remaining', () => undefined),
    rules: ['limits.headers-on-201'],
  },
  'no Reset on a 400': { make: header([400], 'x-ratelimit-reset', () => undefined), rules: ['limits.headers-on-400'] },
  'no Limit on a 401': { make: header([401], 'x-ratelimit-limit', () => undefined), rules: ['limits.headers-on-401'] },
  'no Remaining on a 429': {
    make: header([429], 'x-ratelimit-remaining', () => undefined),
    rules: ['limits.headers-on-429'],
  },
  'no Limit on a 405': { make: header([405], 'x-ratelimit-limit', () => undefined), rules: ['limits.headers-on-405'] },
  'no Limit on a 413': { make: header([413], 'x-ratelimit-limit', () => undefined), rules: ['limits.headers-on-413'] },
  'X-Rate-Limit-…': {
    make: changing((made) => {
      for (const name of ['limit', 'remaining', 'reset']) {
        made.headers[`x-rate-limit-${name}`] = made.headers[`x-ratelimit-${name}`];
        delete made.headers[`x-ratelimit-${name}`];
      }
    }),
    rules: ['limits.headers-on-200'],
  },
  'Retry-After 58.5': { make: header([429], 'retry-after', (wait) => `${wait}.5`), rules: REFUSED },
  'Retry-After below zero': { make: header([429], 'retry-after', (wait) => -wait), rules: REFUSED },
  'Retry-After an ISO date': {
    make: header([429], 'retry-after', (wait, { now }) => new Date((now + wait) * 1000).toISOString()),
    rules: REFUSED,
  },
  'Retry-After a Unix time': {
    make: header([429], 'retry-after', (wait, { now }) => Math.floor(now + wait)),
    rules: REFUSED,
  },
  'Retry-After in ms': { make: header([429], 'retry-after', (wait) => wait * 1_000_000), rules: REFUSED },
  'Retry-After with a unit': { make: header([429], 'retry-after', (wait) => `${wait}s`), rules: REFUSED },
  'Retry-After empty': { make: header([429], 'retry-after', () => ''), rules: REFUSED },
  'Retry-After a date of another form': {
    make: header([429], 'retry-after', (wait, { now }) => `${new Date((now + wait) * 1000)}`.slice(0, 24)),
    rules: REFUSED,
  },
  'no Retry-After': { make: header([429], 'retry-after', () => undefined), rules: ['limits.retry-after-present'] },
  'Retry-After 1, whatever is left': {
    make: header([429], 'retry-after', () => 1),
    rules: ['limits.retry-after-suffices'],
  },
  'Retry-After 0': { make: header([429], 'retry-after', () => 0), rules: ['limits.retry-after-suffices'] },
  'Retry-After a date that is over': {
    make: header([429], 'retry-after', (_, { now }) => new Date((now - 100) * 1000).toUTCString()),
    rules: ['limits.retry-after-suffices'],
  },
  'Retry-After and Reset too short': {
    make: telling(({ reset, wait }) => (wait ? { reset: reset - 30, wait: Math.max(1, wait - 30) } : {})),
    rules: ['limits.retry-after-suffices'],
    isFull: true,
  },
  '403 over the limit': {
    make: status(429, 403),
    rules: [...LIMITED, 'limits.headers-on-429', 'limits.refused-limit'],
  },
  '503 over the limit': { make: status(429, 503), rules: LIMITED },
  // Lists
  'a list in an object': {
    make: on([200], (made) => Object.assign(made, { body: { items: made.body } })),
    rules: ['list.200-array'],
  },
  'a list as text': {
    make: on([200], (made) => Object.assign(made, { body: JSON.stringify(JSON.stringify(made.body)) })),
    rules: ['list.200-array'],
  },
  'a list of names': { make: listing((all) => all.map(({ name }) => name)), rules: ['list.200-array'] },
  'null in a list': { make: listing((all) => [...all, null]), rules: ['list.200-array'] },
  'a list with a comma at its end': {
    make: on([200], (made) => Object.assign(made, { body: `${JSON.stringify(made.body).slice(0, -1)},]` })),
    rules: ['list.200-array'],
  },
  'a list that is cut off': {
    make: on([200], (made) => Object.assign(made, { body: JSON.stringify(made.body).slice(0, -2) })),
    rules: ['list.200-array'],
  },
  'JSON lines': {
    make: on([200], (made) =>
      Object.assign(made, { body: (made.body as unknown[]).map((each) => JSON.stringify(each)).join('\n') }),
    ),
    rules: ['list.200-array'],
  },
  'a list is 206': { make: on([200], (made) => Object.assign(made, { status: 206 })), rules: ['list.200-array'] },
  'a list without names': { make: listing((all) => all.map(({ id }) => ({ id }))), rules: ['list.200-array'] },
  'a list without ids': { make: listing((all) => all.map(({ name }) => ({ name }))), rules: ['list.200-array'] },
  'a list of 10': { make: listing((all) => all.slice(0, 10)), rules: ['list.every-category'] },
  'a list of the last 15': { make: listing((all) => all.slice(-15)), rules: ['list.every-category'] },
  'a list without the newest': { make: listing((all) => all.slice(0, -1)), rules: ['list.every-category'] },
  'a list with one twice': { make: listing((all) => [...all, ...all.slice(0, 1)]), rules: ['create.ids-unique'] },
  'a list that drops descriptions': {
    make: listing((all) => all.map(({ id, name }) => ({ id, name }))),
    rules: ['list.every-category'],
  },
  'a list in capitals': {
    make: listing((all) => all.map((each) => ({ ...each, name: `${each.name}`.toUpperCase() }))),
    rules: ['list.every-category'],
  },
  'a list with other ids': {
    make: listing((all) => all.map((each) => ({ ...each, id: Number(each.id) + 1 }))),
    rules: ['list.every-category'],
  },
  'ids of the list as text': {
    make: listing((all) => all.map((each) => ({ ...each, id: `${each.id}` }))),
    rules: ['create.id-integer'],
  },
  'a list that never changes': { make: listing(() => [{ id: 1, name: 'Dog' }]), rules: ['list.every-category'] },
  'a list that mixes up names': {
    make: listing((all) => all.map((each, index) => ({ ...each, name: all[(index + 1) % all.length]?.name }))),
    rules: ['list.every-category'],
  },
  'a list for everybody': {
    make: { knows: (authorization) => (authorization === undefined ? true : undefined) },
    rules: ['auth.401-missing'],
  },
  // Creates
  'a create is 200': { make: status(201, 200), rules: ['create.201-new-id'] },
  'a create is 202': { make: status(201, 202), rules: ['create.201-new-id'] },
  'a create without a body': {
    make: on([201], (made) => Object.assign(made, { body: undefined })),
    rules: ['create.201-new-id'],
  },
  'a create with an array': {
    make: on([201], (made) => Object.assign(made, { body: [made.body] })),
    rules: ['create.201-new-id'],
  },
  'a create without id': { make: members([201], ({ id, ...rest }) => rest), rules: ['create.201-new-id'] },
  'an id of null': {
    make: storing((each) => ({ ...each, id: null })),
    rules: ['create.id-integer', 'create.201-new-id', 'list.200-array'],
  },
  'ids as text': { make: storing((each) => ({ ...each, id: `${each.id}` })), rules: ['create.id-integer'] },
  'ids with a fraction': {
    make: storing((each) => ({ ...each, id: Number(each.id) + 0.5 })),
    rules: ['create.id-integer'],
  },
  'ids beyond 64 bits': {
    make: storing((each) => ({ ...each, id: 10n ** 20n + BigInt(each.id as number) })),
    rules: ['create.id-integer'],
  },
  UUIDs: { make: storing((each) => ({ ...each, id: `0000-${each.id}` })), rules: ['create.id-integer'] },
  'one id for all': { make: storing((each) => ({ ...each, id: 7 })), rules: ['create.ids-unique'] },
  'ids that wrap at 8': {
    make: storing((each) => ({ ...each, id: Number(each.id) % 8 })),
    rules: ['create.ids-unique'],
  },
  'the id of the client': {
    make: storing((each, { body: text }) => ({ ...each, id: (JSON.parse(text) as { id?: number }).id ?? each.id })),
    rules: ['create.id-by-service'],
  },
  'names in capitals': {
    make: storing((each) => ({ ...each, name: `${each.name}`.toUpperCase() })),
    rules: ['create.every-field'],
  },
  'names of ASCII': {
    make: storing((each) => ({ ...each, name: `${each.name}`.replaceAll(/[^ -~]/g, '?') })),
    rules: ['create.every-field'],
  },
  'names cut at 20': {
    make: storing((each) => ({ ...each, name: `${each.name}`.slice(0, 20) })),
    rules: ['create.every-field', 'list.every-category'],
  },
  'names as HTML': {
    make: storing((each) => ({
      ...each,
      description: each.description && `${each.description}`.replaceAll('<', '&lt;'),
    })),
    rules: ['create.every-field'],
  },
  'no description kept': { make: storing(({ id, name }) => ({ id, name })), rules: ['create.every-field'] },
  'a description of null': {
    make: storing((each) => ({ description: null, ...each })),
    rules: ['create.description-absent'],
  },
  'a title for a name': {
    make: members([201], ({ name, ...rest }) => ({ ...rest, title: name })),
    rules: ['create.every-field'],
  },
  'created and not kept': {
    make: on([201], (_, { state }) => {
      state.categories = state.categories.slice(0, -1);
    }),
    rules: ['list.every-category', 'create.ids-unique'],
  },
  'every third create is lost': {
    make: on([201], (_, { state }) => {
      if (state.lastId % 3 === 0) state.categories = state.categories.slice(0, -1);
    }),
    rules: ['list.every-category'],
  },
  // Validation
  'a name is not needed': { make: accepting(/^\{\}$/), rules: ['create.400-without-name'] },
  'numbers are names': { make: accepting(/"name":1/), rules: ['create.400-invalid-values'] },
  'null is a name': { make: accepting(/"name":null/), rules: ['create.400-invalid-values'] },
  'true is a name': { make: accepting(/"name":true/), rules: ['create.400-invalid-values'] },
  'an array is a name': { make: accepting(/"name":\[/), rules: ['create.400-invalid-values'] },
  'a number is a description': { make: accepting(/"description":7/), rules: ['create.400-invalid-values'] },
  'several at once': { make: accepting(/^\[/), rules: ['create.400-invalid-values'] },
  'cut JSON is read': { make: accepting(/^\{"name":"[^"]*"$/), rules: ['create.400-bad-json'] },
  'an empty body creates': { make: accepting(/^$/), rules: ['create.400-bad-json'] },
  '422 for what is invalid': { make: status(400, 422), rules: ['create.400-without-name'] },
  '500 for what is invalid': { make: status(400, 500), rules: ['create.400-without-name'] },
  '200 for what is invalid': {
    make: on([400], (made) => Object.assign(made, { status: 200 })),
    rules: ['create.400-without-name'],
  },
  'a valid name is refused': { make: refusing(/species/), rules: ['create.every-field', 'create.201-new-id'] },
  'every create is refused': { make: refusing(/./), rules: ['create.201-new-id'] },
  '400, and created': {
    make: {
      changes: (made, asked) => createsAfter(made, asked, 400),
    },
    rules: ['create.refused-creates-nothing'],
  },
  // Keys
  'missing keys are 403': {
    make: on(
      [401],
      (made, { request }) =>
        request.headers.authorization ??
        Object.assign(made, { status: 403, body: { code: 'x', message: 'y', status: 403 } }),
    ),
    rules: ['auth.401-missing'],
  },
  'wrong keys are 403': {
    make: on(
      [401],
      (made, { request }) =>
        void (
          request.headers.authorization &&
          Object.assign(made, { status: 403, body: { code: 'x', message: 'y', status: 403 } })
        ),
    ),
    rules: ['auth.401-invalid'],
  },
  'any key will do': {
    make: { knows: (authorization) => (/^Bearer ./.test(authorization ?? '') ? true : undefined) },
    rules: ['auth.401-invalid'],
  },
  'the beginning of a key will do': {
    make: { knows: (authorization) => (authorization?.startsWith(`Bearer ${MAIN_KEY}`) ? true : undefined) },
    rules: ['auth.401-invalid'],
  },
  'a key that is cut will do': {
    make: { knows: (authorization) => (authorization === `Bearer ${MAIN_KEY.slice(0, -1)}` ? true : undefined) },
    rules: ['auth.401-invalid'],
  },
  'an empty key will do': {
    make: { knows: (authorization) => (/^Bearer ?$/.test(authorization ?? '') ? true : undefined) },
    rules: ['auth.401-missing'],
  },
  '401, and created': {
    make: {
      changes: (made, asked) => createsAfter(made, asked, 401),
    },
    rules: ['create.refused-creates-nothing'],
  },
  'a redirect to a login for creates': {
    make: on([401], (made, { method }) => {
      if (method === 'POST') Object.assign(made, { status: 302, headers: { ...made.headers, location: '/login' } });
    }),
    rules: ['auth.401-missing'],
  },
  // Errors
  'errors without code': { make: members([400, 401], ({ code, ...rest }) => rest), rules: ['errors.shape'] },
  'errors without message': { make: members([400], ({ message, ...rest }) => rest), rules: ['errors.shape'] },
  'errors without status': { make: members([401], ({ status: _, ...rest }) => rest), rules: ['errors.shape'] },
  'a code that is a number': { make: members([400], (each) => ({ ...each, code: 4001 })), rules: ['errors.shape'] },
  'a message that is a list': {
    make: members([400], (each) => ({ ...each, message: ['a'] })),
    rules: ['errors.shape'],
  },
  'errors in an object': { make: members([400, 401], (each) => ({ error: each })), rules: ['errors.shape'] },
  'a status as text': {
    make: members([400, 401], (each, made) => ({ ...each, status: `${made.status}` })),
    rules: ['errors.status-integer'],
  },
  'a status of 0': { make: members([401], (each) => ({ ...each, status: 0 })), rules: ['errors.status-equals-http'] },
  'a status of 400 for 404': {
    make: members([404], (each) => ({ ...each, status: 400 })),
    rules: ['errors.status-equals-http'],
  },
  'HTML for 401': { make: body([401], '<html>No</html>', 'text/html'), rules: ['errors.shape'] },
  'HTML for 404': { make: body([404], '<html>No</html>', 'text/html'), rules: ['errors.shape'] },
  'text for 400': { make: body([400], 'No'), rules: ['errors.shape'] },
  'empty 401': { make: on([401], (made) => Object.assign(made, { body: undefined })), rules: ['errors.shape'] },
  'errors as problem+json': {
    make: header([400], 'content-type', () => 'application/problem+json'),
    rules: ['bodies.application-json'],
  },
  'lists as text/json': {
    make: header([200], 'content-type', () => 'text/json'),
    rules: ['bodies.application-json'],
  },
  'no Content-Type for a create': {
    make: header([201], 'content-type', () => undefined),
    rules: ['bodies.application-json'],
  },
  'application/jsonp': {
    make: header([201], 'content-type', () => 'application/jsonp'),
    rules: ['bodies.application-json'],
  },
  'silence for bad JSON': {
    make: {
      instead: ({ body: text }, response) => {
        if (!text.startsWith('{"name":') || text.endsWith('}')) return false;
        response.socket?.destroy();
        return true;
      },
    },
    rules: ['create.400-bad-json', 'create.refused-creates-nothing'],
  },
};
