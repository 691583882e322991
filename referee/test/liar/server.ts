import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type Counters, type Decision, freshCounters, type Key, type Limiter, minuteAndDay } from './limiter.ts';

export type Members = Readonly<Record<string, unknown>>;

export interface Category {
  readonly id: unknown;
  readonly name: unknown;
  readonly description?: unknown;
}

/** An answer before it is sent. Header names are in lower case; `body` is a JSON value, or a `Buffer` as it is. */
export interface Answer {
  status: number;
  headers: Record<string, string | number | undefined>;
  body: unknown;
}

/** A request as the server reads it; the path is relative to `/v1`. A lie may change it. */
export interface Asked {
  readonly method: string;
  url: string;
  readonly headers: Record<string, string | undefined>;
  readonly text: string;
  readonly now: number;
  readonly state: State;
  readonly response: ServerResponse;
  /** The key, once it is known. */
  key?: Key;
}

/** All that a server keeps. `memory` is for what one lie remembers. */
export interface State {
  categories: Category[];
  pets: Map<number, { id: number; name: unknown; categoryId: unknown; status: unknown }>;
  replays: Map<string, { readonly asked: string; readonly answer: Answer }>;
  counters: Map<string, Counters>;
  lastId: number;
  requests: number;
  memory: Record<string, number>;
}

/** One way in which a server differs from the honest one: a lie, or a choice that the text leaves open. */
export interface Way {
  readonly limiter?: Limiter;
  /** Requests per minute of the limited key. */
  readonly limit?: number;
  /** Changes a request before anything reads it. */
  asked?(asked: Asked): void;
  /** True if the key is good, false if not; undefined for the usual check. */
  knows?(authorization: string | undefined): boolean | undefined;
  /** Changes the text of a create before it is parsed, or what was parsed; undefined refuses it. */
  takes?(body: unknown, asked: Asked): unknown;
  /** Changes a category as it is stored and shown everywhere. */
  stores?(category: Category, asked: Asked): Category;
  /** Changes the decision of the limits on a request. */
  decides?(decision: Decision, asked: Asked): Decision;
  /** Changes any answer at last. */
  says?(answer: Answer, asked: Asked): void;
  /** Answers by itself; true if it did. */
  instead?(asked: Asked): boolean;
  /** The time of each answer, on the clock of the server. */
  readonly latencySeconds?: number;
  /** Fails with 503: each so many requests, or one in twenty by chance of a seed. */
  readonly failsEvery?: number;
  readonly seed?: number;
  readonly coding?: 'gzip';
  /** Answers in HTTP/1.0, and ends the connection. */
  readonly isOld?: true;
  /** Serves one connection at a time, to its end. */
  readonly isSerial?: true;
  readonly hasNoDate?: true;
}

/** Unix time in seconds. Whoever judges turns it. */
export interface Clock {
  now: number;
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly clock: Clock;
  readonly state: State;
}

/** Prefix and 36 characters, as the keys of the catalog; a letter stands in the middle. */
export const MAIN_KEY = `petcat_test_${'MainKeyOfTheHonestServer'.padEnd(36, '0')}`;
export const LIMITED_KEY = `petcat_test_${'LimitedKeyOfTheHonestServer'.padEnd(36, '0')}`;
export const OTHER_KEY = `petcat_live_${'KeyOfTheOtherEnvironment'.padEnd(36, '0')}`;

const KEYS = new Map<string, Key>([
  [MAIN_KEY, { secret: MAIN_KEY, plan: 'business', minute: 1_000, day: 100_000 }],
  [LIMITED_KEY, { secret: LIMITED_KEY, plan: 'free', minute: 60, day: 1_000 }],
]);
const TOGETHER_MS = 8;
const BODY_BYTES_MAX = 256 * 1024;
const ID = /^[\w.-]{1,128}$/;
const DEPRECATED = {
  deprecation: '@1767225600',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</v1/pets>; rel="successor-version"',
};
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  '/categories': ['limit', 'cursor'],
  '/pets': ['ids', 'status', 'categoryId', 'limit', 'cursor'],
};
const ALLOWED: readonly (readonly [RegExp, string])[] = [
  [/^\/categories$/, 'GET, HEAD, OPTIONS, POST'],
  [/^\/pets$/, 'GET, HEAD, OPTIONS, POST'],
  [/^\/pets\/\d+$/, 'GET, HEAD, OPTIONS, PATCH'],
  [/^\/(categories\/[\w.-]+|store\/orders|inventory|rate_limit)$/, 'GET, HEAD, OPTIONS'],
];

/** Starts a server on the loopback that keeps the published interface and our level, but for its ways. */
export async function serve(...ways: readonly Way[]): Promise<Server> {
  const clock = { now: 1_767_268_800.4 };
  const way: Way = Object.assign({}, ...ways);
  const state: State = {
    categories: [],
    pets: new Map(),
    replays: new Map(),
    counters: new Map(),
    lastId: 0,
    requests: 0,
    memory: {},
  };
  const http = createServer((request, response) => void handle(way, { state, clock }, request, response));
  http.keepAliveTimeout = 30_000;
  http.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const status = error.code === 'HPE_INVALID_METHOD' ? 501 : 400;
    const limits = Object.entries(noQuota(clock.now)).map(([name, value]) => `${name}: ${value}\r\n`);
    if (socket.writable) socket.end(`HTTP/1.1 ${status} No\r\n${limits.join('')}Content-Length: 0\r\n\r\n`);
  });
  const { server, close } = way.isSerial ? inTurn(http) : { server: http, close: () => {} };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    clock,
    state,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      close();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes connections on one after the other. */
function inTurn(http: ReturnType<typeof createServer>) {
  const waiting: Socket[] = [];
  let current: Socket | undefined;
  const next = () => {
    current = waiting.shift();
    current?.once('close', next);
    if (current) http.emit('connection', current);
  };
  const server = createTcpServer((socket) => {
    waiting.push(socket.on('error', () => {}));
    if (!current) next();
  });
  const close = () => {
    for (const socket of [current, ...waiting.splice(0)]) socket?.destroy();
  };
  return { server, close };
}

async function handle(
  way: Way,
  { state, clock }: { state: State; clock: Clock },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const arrivedAt = clock.now;
  const body = await text(request).catch(() => '');
  if (way.latencySeconds) {
    // Requests at once have connections of their own; the clock is turned when all of them have arrived.
    if (request.headers.connection === 'close') await sleep(TOGETHER_MS);
    clock.now = Math.max(clock.now, arrivedAt + way.latencySeconds);
  }
  state.requests += 1;
  const headers = request.headers as Asked['headers'];
  const url = (request.url ?? '').replace(/^\/v1/, '');
  const asked: Asked = { method: request.method ?? '', url, headers, text: body, now: clock.now, state, response };
  way.asked?.(asked);
  if (way.instead?.(asked)) return;
  const failure = failureOf(way, state);
  if (failure === 'silence') return void response.socket?.destroy();
  const busy = () => withBody(503, { ...noQuota(asked.now), 'retry-after': 1 }, 'unavailable');
  const answer = failure ? busy() : respond(way, asked);
  answer.headers['x-request-id'] = ID.test(headers['x-request-id'] ?? '') ? headers['x-request-id'] : 'made';
  answer.headers['cache-control'] = answer.headers.etag ? 'private, no-cache' : 'no-store';
  answer.headers['x-content-type-options'] = 'nosniff';
  if (answer.body !== undefined) answer.headers['content-type'] = 'application/json';
  way.says?.(answer, asked);
  send(way, answer, asked);
}

function respond(way: Way, asked: Asked): Answer {
  const { state, now } = asked;
  const path = pathOf(asked);
  const sent = asked.headers.authorization;
  const secret = /^Bearer +(\S+)$/i.exec(sent ?? '')?.[1] ?? '';
  const own = KEYS.get(secret);
  const isKnown = way.knows?.(sent) ?? own !== undefined;
  if (!isKnown) {
    const challenge = `Bearer realm="pet-catalog"${sent ? ', error="invalid_token"' : ''}`;
    const headers = { ...noQuota(now), 'www-authenticate': challenge };
    return withBody(401, headers, sent ? 'invalid_api_key' : 'missing_api_key');
  }
  const known = own ?? (KEYS.get(MAIN_KEY) as Key);
  const key = known.plan === 'free' ? { ...known, minute: way.limit ?? known.minute } : known;
  asked.key = key;
  const counters = state.counters.get(key.secret) ?? freshCounters();
  state.counters.set(key.secret, counters);
  const isFree = path === '/rate_limit' && asked.method !== 'OPTIONS';
  const made = (way.limiter ?? minuteAndDay)(key, counters, now, isFree ? 0 : 1);
  const decision = way.decides?.(made, asked) ?? made;
  const headers = limitHeaders(decision, now);
  if (decision.code && !isFree) {
    const wait = Math.max(1, decision.reset - Math.floor(now));
    return withBody(429, { ...headers, 'retry-after': wait }, decision.code);
  }
  const answer = isFree ? stateOf(key, decision) : route(way, asked, path);
  Object.assign(answer.headers, { ...headers, ...answer.headers });
  return answer;
}

function route(way: Way, asked: Asked, path: string): Answer {
  const { method, state } = asked;
  const query = new URL(asked.url, 'http://a').searchParams;
  const allow = ALLOWED.find(([pattern]) => pattern.test(path))?.[1];
  if (!allow) return withBody(404, {}, 'not_found');
  if (method === 'OPTIONS') return { status: 204, headers: { allow }, body: undefined };
  if (!allow.includes(method)) return withBody(405, { allow }, 'method_not_allowed');
  const isTwice = [...query.keys()].some((name) => name !== 'ids' && query.getAll(name).length > 1);
  const isUnknown = [...query.keys()].some((name) => !PARAMETERS[path]?.includes(name));
  if (isTwice || isUnknown) return withBody(400, {}, 'validation_failed');
  if (method === 'POST' || method === 'PATCH') return write(way, asked, path);
  const id = Number(path.split('/')[2]);
  if (path === '/categories') return conditional(asked, list(asked, query));
  if (path.startsWith('/categories/')) return one(state.categories.find((each) => `${each.id}` === path.split('/')[2]));
  if (!path.startsWith('/pets/')) return { status: 200, headers: {}, body: [] };
  const pet = one(state.pets.get(id));
  return { ...pet, headers: { ...pet.headers, ...DEPRECATED } };
}

function list({ state: { categories } }: Asked, query: URLSearchParams): Answer {
  if (!query.has('limit')) return { status: 200, headers: {}, body: categories };
  const limit = Number(query.get('limit'));
  if (!(limit >= 1 && limit <= 1_000)) return withBody(400, {}, 'validation_failed');
  const after = Number(query.get('cursor') ?? 0);
  const rest = categories.slice(after);
  const next = `</v1/categories?limit=${limit}&cursor=${after + limit}>; rel="next"`;
  return { status: 200, headers: rest.length > limit ? { link: next } : {}, body: rest.slice(0, limit) };
}

function write(way: Way, asked: Asked, path: string): Answer {
  const { headers, state, text: sent, method } = asked;
  if (Buffer.byteLength(sent) > BODY_BYTES_MAX) return withBody(413, { connection: 'close' }, 'payload_too_large');
  const type = headers['content-type'] ?? 'application/json';
  if (!/^application\/json *(;|$)/i.test(type)) return withBody(415, {}, 'unsupported_media_type');
  const replayed = replay(asked);
  if (replayed) return replayed;
  const parsed = parse(sent);
  const body = path === '/categories' && way.takes ? way.takes(parsed, asked) : parsed;
  if (body === undefined) return withBody(400, {}, parsed === undefined ? 'invalid_json' : 'validation_failed');
  if (method === 'PATCH') return change(asked, body as Members, Number(path.split('/')[2]));
  if (path === '/categories' && !isNewCategory(body)) return withBody(400, {}, 'validation_failed');
  if (path === '/pets') {
    const id = state.pets.size + 1;
    const { name, categoryId, status = 'available' } = body as Members;
    state.pets.set(id, { id, name, categoryId, status });
    return { ...one(state.pets.get(id)), status: 201 };
  }
  const { name, description } = body as Members;
  state.lastId += 1;
  const made = { id: state.lastId, name, ...(description !== undefined && { description }) };
  const category = way.stores?.(made, asked) ?? made;
  state.categories = [...state.categories, category];
  const answer = { ...one(category), status: 201 };
  answer.headers.location = `/v1/categories/${category.id}`;
  const key = headers['idempotency-key'];
  if (key !== undefined) state.replays.set(key, { asked: sent, answer: structuredClone(answer) });
  return answer;
}

/** The first outcome under an `Idempotency-Key`; undefined if there is none. */
function replay({ headers, state, text: sent }: Asked): Answer | undefined {
  const before = state.replays.get(headers['idempotency-key'] ?? '');
  if (!before) return undefined;
  if (before.asked !== sent) return withBody(422, {}, 'idempotency_key_reused');
  const { status, headers: first, body } = before.answer;
  return { status, body, headers: { ...first, 'idempotency-replayed': 'true' } };
}

function change({ state, headers }: Asked, body: Members, id: number): Answer {
  const pet = state.pets.get(id);
  if (!pet) return withBody(404, {}, 'not_found');
  const match = headers['if-match'];
  if (match !== undefined && match !== one(pet).headers.etag) return withBody(412, {}, 'precondition_failed');
  state.pets.set(id, { ...pet, status: body.status });
  return one(state.pets.get(id));
}

function isNewCategory(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const { name, description = '' } = body as Members;
  if (typeof name !== 'string' || typeof description !== 'string') return false;
  const length = [...name].length;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a name may not have
  return length >= 1 && length <= 255 && /[^\s]/.test(name) && !/[\0-\x1f]/.test(name);
}

/** A single resource with a strong validator. */
function one(value: unknown): Answer {
  if (value === undefined) return withBody(404, {}, 'not_found');
  return { status: 200, headers: { etag: etagOf(value) }, body: value };
}

function conditional({ headers, state }: Asked, answer: Answer): Answer {
  if (answer.status !== 200) return answer;
  const etag = etagOf(state.lastId + (answer.body as unknown[]).length);
  const isSame = headers['if-none-match'] === etag;
  return isSame
    ? { status: 304, headers: { etag }, body: undefined }
    : { ...answer, headers: { ...answer.headers, etag } };
}

function stateOf({ plan }: Key, { minute, day, ban }: Decision): Answer {
  return { status: 200, headers: {}, body: { plan, minute, day, ban } };
}

function limitHeaders({ limit, remaining, reset, minute, day }: Decision, now: number): Answer['headers'] {
  const left = ({ remaining: r, reset: at }: typeof minute) => `r=${r};t=${Math.max(0, at - Math.floor(now))}`;
  return {
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': reset,
    'ratelimit-policy': `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    ratelimit: `"minute";${left(minute)}, "day";${left(day)}`,
  };
}

function noQuota(now: number): Answer['headers'] {
  return { 'x-ratelimit-limit': 0, 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': Math.floor(now) };
}

function withBody(status: number, headers: Answer['headers'], code: string): Answer {
  return { status, headers: { ...headers }, body: { code, message: 'It cannot be done', status } };
}

export function pathOf({ url }: Asked): string {
  return url.split('?', 1)[0] ?? '';
}

function etagOf(value: unknown): string {
  return `"${Buffer.from(jsonOf(value)).toString('base64url')}"`;
}

function parse(sent: string): unknown {
  try {
    return JSON.parse(sent);
  } catch {
    return undefined;
  }
}

/** As JSON; a BigInt by its digits. */
export function jsonOf(value: unknown): string {
  try {
    // Only few servers have a BigInt, which this refuses.
    return JSON.stringify(value);
  } catch {
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
    return JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? rawJSON(`${each}`) : each));
  }
}

function failureOf({ failsEvery, seed }: Way, { requests, memory }: State): 'busy' | 'silence' | undefined {
  if (failsEvery !== undefined) return requests % failsEvery === 0 ? 'busy' : undefined;
  if (seed === undefined) return undefined;
  // Park and Miller's generator: the same failures for the same seed.
  memory.chance = ((memory.chance ?? seed) * 48_271) % 2_147_483_647;
  if (memory.chance % 20 > 0) return undefined;
  return memory.chance % 40 === 0 ? 'silence' : 'busy';
}

function send(way: Way, { status, headers: said, body }: Answer, { method, now, response }: Asked): void {
  const plain = body === undefined ? '' : Buffer.isBuffer(body) ? body : jsonOf(body);
  const coding = plain === '' ? undefined : way.coding;
  const headers: Record<string, string | number> = {};
  if (!way.hasNoDate) headers.date = new Date(Math.floor(now) * 1000).toUTCString();
  if (coding) headers['content-encoding'] = coding;
  for (const [name, value] of Object.entries(said)) if (value !== undefined) headers[name] = value;
  const bytes = coding ? gzipSync(plain) : Buffer.from(plain);
  const hasBody = method !== 'HEAD' && status !== 304 && status !== 204;
  if (way.isOld) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    response.socket?.write(`HTTP/1.0 ${status} Said\r\n${lines.join('')}\r\n`);
    response.socket?.end(hasBody ? bytes : '');
    return;
  }
  response.sendDate = false;
  response.writeHead(status, headers);
  response.end(hasBody ? bytes : undefined);
}
