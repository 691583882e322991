import { type Answer, type Asked, type Category, type Members, pathOf, type Way } from './server.ts';

/** One way in which a server breaks the interface, as real services do. A function makes one that remembers something. */
export type Lying = Way | (() => Way);

export interface Lie {
  readonly told: string;
  /** The rules that find it: mostly one; several where the lie contradicts more than one sentence. */
  readonly rules: readonly string[];
  readonly way: Lying;
}

/** Lies in words, by the rules that find them. */
export type Told = Readonly<Record<string, Readonly<Record<string, Lying>>>>;

export function liesOf(table: Told): Lie[] {
  return Object.entries(table).flatMap(([rules, lies]) =>
    Object.entries(lies).map(([told, way]) => ({ told, rules: rules.split(' '), way })),
  );
}

/** The answers that a lie changes: those that are all of this. */
export interface Where {
  readonly status?: number;
  readonly code?: string;
  readonly method?: string;
  readonly path?: string | RegExp;
  readonly url?: RegExp;
  readonly when?: (asked: Asked, answer: Answer) => boolean;
}

export const LIMIT = 'x-ratelimit-limit';
export const REMAINING = 'x-ratelimit-remaining';
export const RESET = 'x-ratelimit-reset';
export const REFUSED = { status: 429 };

/** Changes some answers. */
export function say(where: Where, change: (answer: Answer, asked: Asked) => void): Way {
  return {
    says(answer, asked) {
      const path = pathOf(asked);
      const isThere =
        (where.status ?? answer.status) === answer.status &&
        (where.code === undefined || membersOf(answer.body).code === where.code) &&
        (where.method ?? asked.method) === asked.method &&
        (typeof where.path === 'string' ? where.path === path : (where.path ?? /^/).test(path)) &&
        (where.url ?? /^/).test(asked.url);
      if (isThere && where.when?.(asked, answer) !== false) change(answer, asked);
    },
  };
}

/** Changes a header of some answers; without a change, or for an empty text, it is missing. */
export function head(
  where: Where,
  name: string,
  change: (value: string, asked: Asked) => string | number | undefined = () => undefined,
): Way {
  return say(where, (answer, asked) => {
    const value = change(`${answer.headers[name] ?? ''}`, asked);
    answer.headers[name] = value === '' ? undefined : value;
  });
}

/** Adds to the number in a header of some answers. */
export const add = (where: Where, name: string, number: number) =>
  head(where, name, (text) => (text === '' ? '' : Number(text) + number));

/** Changes the JSON value of some answers. */
export function body<T = Members>(where: Where, change: (value: T, asked: Asked) => unknown): Way {
  return say(where, (answer, asked) => {
    answer.body = change(answer.body as T, asked);
  });
}

/** Sets members of the JSON object of some answers. */
export const members = (where: Where, others: Members) => body(where, (value) => ({ ...value, ...others }));

/** Sends bytes for a body, with their media type. */
export const bytes = (where: Where, text: string | ((value: unknown) => string), type = 'application/json') =>
  say(where, (answer) => {
    answer.body = Buffer.from(typeof text === 'string' ? text : text(answer.body));
    answer.headers['content-type'] = type;
  });

/** Sends another status, and of an error the same in its body. */
export const status = (where: Where, other: number) =>
  say(where, (answer) => {
    answer.status = other;
    if (other >= 400) answer.body = { ...membersOf(answer.body), status: other };
  });

/** Answers with an error instead. */
export const fail = (where: Where, other: number, code: string) =>
  say(where, (answer) => {
    answer.status = other;
    answer.body = { code, message: 'No', status: other };
    answer.headers['content-type'] = 'application/json';
    delete answer.headers.etag;
    answer.headers['cache-control'] = 'no-store';
  });

/** Changes a header of the requests that have it; undefined removes it. */
export const ask = (name: string, change: (value: string) => string | undefined): Way => ({
  asked({ headers }) {
    const value = headers[name];
    if (value !== undefined) headers[name] = change(value);
  },
});

/** Replaces a part of the target of each request. */
export const target = (part: string | RegExp, other: string): Way => ({
  asked(asked) {
    asked.url = asked.url.replace(part, other);
  },
});

/** Changes the body of a create before it is checked, if it is an object. */
export const take = (change: (body: Members, asked: Asked) => unknown): Way => ({
  takes: (value, asked) => (isObject(value) ? change(value, asked) : value),
});

export const refuse = (isRefused: (body: Members) => boolean) =>
  take((value) => (isRefused(value) ? undefined : value));
export const name = (change: (name: unknown) => unknown) =>
  take((value) => ('name' in value ? { ...value, name: change(value.name) } : value));

/** Changes categories as they are stored and shown. */
export const store = (change: (category: Category, asked: Asked) => object): Way => ({
  stores: (category, asked) => change(category, asked) as Category,
});

/** Changes a text of each category. */
export const text = (member: 'name' | 'description', change: (text: string) => string) =>
  store((category) => {
    const value = category[member];
    return typeof value === 'string' ? { ...category, [member]: change(value) } : category;
  });

export const isLimited = ({ key }: Asked) => key?.plan === 'free';

export function membersOf(value: unknown): Members {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Buffer.isBuffer(value);
}
