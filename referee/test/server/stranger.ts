import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { type Judgement, judge, type RefereeOptions } from '../../src/server/referee.ts';

export interface Category {
  readonly id: unknown;
  readonly name: unknown;
  readonly description?: unknown;
}

/** An answer before it is sent; `body` is a value for JSON, or a text as it is. */
export interface Made {
  status: number;
  headers: Record<string, string | number | undefined>;
  body: unknown;
}

/** What a limiter says of a request. */
export interface Told {
  limit: number;
  remaining: number;
  /** Unix seconds, whole. */
  reset: number;
  /** Seconds to wait; undefined if it is admitted. */
  wait?: number;
}

/** A request as a stranger sees it. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: string;
  readonly now: number;
  readonly request: IncomingMessage;
  readonly state: State;
}

/** What a stranger keeps. */
export interface State {
  categories: Category[];
  lastId: number;
  readonly counters: Map<string, number[]>;
  requests: number;
  /** For what a single make remembers. */
  readonly memory: Record<string, number>;
}

export type Limiter = (key: string, limit: number, now: number, state: State) => Told;

/** A make of server: what it does otherwise than the plain one. */
export interface Make {
  readonly limiter?: Limiter;
  readonly limit?: number;
  /** The time of each answer, on the turned clock if there is one. */
  readonly latencySeconds?: number;
  /** Fails every so many requests with 503. */
  readonly failsEvery?: number;
  /** Fails one in twenty by chance: with 503, or by ending the connection. */
  readonly seed?: number;
  readonly coding?: 'gzip' | 'br' | 'deflate';
  /** Answers in HTTP/1.0, and ends the connection. */
  readonly isOld?: boolean;
  /** Serves one connection at a time, to its end. */
  readonly isSerial?: boolean;
  readonly withoutDate?: boolean;
  /** Answers itself. */
  readonly instead?: (asked: Asked, response: ServerResponse) => boolean;
  /** Changes what is stored; undefined refuses. */
  readonly store?: (category: Category, asked: Asked) => Category | undefined;
  /** Decides on a key; undefined is the usual way. */
  readonly knows?: (authorization: string | undefined) => boolean | undefined;
  /** Validates a body; undefined is the usual way. */
  readonly validates?: (body: string) => boolean | undefined;
  readonly listed?: (categories: readonly Category[], asked: Asked) => readonly Category[];
  /** Changes any answer at last. */
  readonly changes?: (made: Made, asked: Asked) => void;
}

export const [MAIN_KEY, LIMITED_KEY] = ['main-key-0123456789', 'limited-key-0123456789'];

/** A minute from the first request of a key. */
export const fixedWindow: Limiter = (key, limit, now, { counters }) => {
  let [ends = 0, used = 0] = counters.get(key) ?? [];
  if (now >= ends) [ends, used] = [Math.floor(now) + 60, 0];
  if (used < limit) counters.set(key, [ends, used + 1]);
  if (used >= limit) return { limit, remaining: 0, reset: ends, wait: ends - Math.floor(now) };
  return { limit, remaining: limit - used - 1, reset: ends };
};

/** Tokens that come back one by one. */
export const bucket: Limiter = (key, limit, now, { counters }) => {
  const [before = limit, at = now] = counters.get(key) ?? [];
  const tokens = Math.min(limit, before + ((now - at) * limit) / 60);
  const isAdmitted = tokens >= 1;
  const left = isAdmitted ? tokens - 1 : tokens;
  counters.set(key, [left, now]);
  const [full, next] = [now + ((limit - left) * 60) / limit, now + ((1 - left) * 60) / limit];
  const told = { limit, remaining: Math.floor(left), reset: Math.ceil(isAdmitted ? full : next) };
  return isAdmitted ? told : { ...told, wait: Math.max(1, Math.ceil(next - now)) };
};

/** The last 60 seconds, whatever they are. */
export const slidingLog: Limiter = (key, limit, now, { counters }) => {
  const recent = (counters.get(key) ?? []).filter((at) => at > now - 60);
  const isAdmitted = recent.length < limit;
  if (isAdmitted) recent.push(now);
  counters.set(key, recent);
  const reset = Math.ceil((recent[0] ?? now) + 60);
  const told = { limit, remaining: limit - recent.length, reset };
  return isAdmitted ? told : { ...told, wait: Math.max(1, reset - Math.floor(now)) };
};

/** Starts a server of a make on the loopback, in turned time, and judges it at the published level. */
export async function judgeMake(make: Make, options: Partial<RefereeOptions> = {}): Promise<Judgement> {
  const time = { now: 1_767_268_800.4 };
  await using server = await openMake(make, time);
  const pace = {
    now: () => time.now,
    async wait(seconds: number) {
      time.now += seconds;
    },
  };
  return await judge({
    url: new URL(server.url),
    key: MAIN_KEY,
    limitedKey: LIMITED_KEY,
    otherEnvironmentKey: undefined,
    level: 'published',
    isFull: false,
    concurrency: 16,
    pace,
    ...options,
  });
}

/** Starts a server of a make; `time.now` is Unix time in seconds, or undefined for the machine's. */
export async function openMake(
  make: Make,
  time?: { now: number },
): Promise<AsyncDisposable & { readonly url: string }> {
  const state: State = { categories: [], lastId: 0, counters: new Map(), requests: 0, memory: {} };
  const clock = time ?? {
    get now() {
      return Date.now() / 1000;
    },
    set now(_) {},
  };
  const http = createServer((request, response) => void answer(make, state, clock, request, response));
  http.keepAliveTimeout = 30_000;
  const waiting: Socket[] = [];
  let current: Socket | undefined;
  const next = () => {
    current = waiting.shift();
    if (!current) return;
    current.once('close', next);
    http.emit('connection', current);
  };
  const server = make.isSerial
    ? createTcpServer({ pauseOnConnect: false }, (socket) => {
        waiting.push(socket.on('error', () => {}));
        if (!current) next();
      })
    : http;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      for (const socket of [current, ...waiting]) socket?.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(
  make: Make,
  state: State,
  time: { now: number },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const arrivedAt = time.now;
  const body = await text(request).catch(() => '');
  if (make.latencySeconds) {
    for (let turns = 0; turns < 4; turns += 1) await new Promise(setImmediate);
    time.now = Math.max(time.now, arrivedAt + make.latencySeconds);
    if (time.now < arrivedAt + make.latencySeconds) await setTimeout(make.latencySeconds * 1000);
  }
  state.requests += 1;
  const { authorization } = request.headers;
  const key = /^Bearer (.*)$/i.exec(authorization ?? '')?.[1] ?? '';
  const asked: Asked = {
    method: request.method ?? '',
    path: (request.url ?? '').replace(/^\/v1/, ''),
    key,
    body,
    now: time.now,
    request,
    state,
  };
  if (make.instead?.(asked, response)) return;
  const failure = failureOf(make, state);
  if (failure === 'silence') return void response.socket?.destroy();
  const made = failure ? error(503, { ...NO_QUOTA(asked.now), 'retry-after': 1 }) : respond(make, asked);
  make.changes?.(made, asked);
  send(make, made, asked, response);
}

function send(make: Make, made: Made, { method, now }: Asked, response: ServerResponse): void {
  const plain = made.body === undefined ? '' : typeof made.body === 'string' ? made.body : json(made.body);
  const bytes = encoded(plain, make.coding);
  const headers: Record<string, string | number> = {};
  if (plain !== '') headers['content-type'] = 'application/json';
  if (make.coding && plain !== '') headers['content-encoding'] = make.coding;
  if (!make.withoutDate) headers.date = new Date(Math.floor(now) * 1000).toUTCString();
  for (const [name, value] of Object.entries(made.headers)) {
    if (value === undefined) delete headers[name];
    else headers[name] = value;
  }
  if (make.isOld) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    response.socket?.write(`HTTP/1.0 ${made.status} Said\r\n${lines.join('')}\r\n`);
    response.socket?.end(method === 'HEAD' ? '' : bytes);
    return;
  }
  response.sendDate = false;
  response.writeHead(made.status, headers);
  response.end(method === 'HEAD' ? undefined : bytes);
}

function respond(make: Make, asked: Asked): Made {
  const { method, path, key, now, body, state } = asked;
  const { authorization } = asked.request.headers;
  const isKnown =
    make.knows?.(authorization) ?? (/^Bearer /.test(authorization ?? '') && [MAIN_KEY, LIMITED_KEY].includes(key));
  if (!isKnown) return error(401, NO_QUOTA(now));
  const limit = key === MAIN_KEY ? 1_000 : (make.limit ?? 60);
  const told = (make.limiter ?? fixedWindow)(key, limit, now, state);
  const headers: Made['headers'] = {
    'x-ratelimit-limit': told.limit,
    'x-ratelimit-remaining': told.remaining,
    'x-ratelimit-reset': told.reset,
  };
  if (told.wait !== undefined) return error(429, { ...headers, 'retry-after': told.wait });
  if (path.split('?')[0] !== '/categories') return error(404, headers);
  if (method === 'GET' || method === 'HEAD') {
    const listed = make.listed?.(state.categories, asked) ?? state.categories;
    return { status: 200, headers, body: listed };
  }
  if (method !== 'POST') return error(405, headers);
  if (body.length > 256 * 1024) return error(413, headers);
  const category = newCategory(body, make);
  const stored = category && { id: state.lastId + 1, ...category };
  const kept = stored && (make.store ? make.store(stored, asked) : stored);
  if (!kept) return error(400, headers);
  state.lastId += 1;
  state.categories = [...state.categories, kept];
  return { status: 201, headers, body: kept };
}

function newCategory(body: string, make: Make): Pick<Category, 'name' | 'description'> | undefined {
  const own = make.validates?.(body);
  if (own === false) return undefined;
  try {
    const value = JSON.parse(body);
    const { name, description } = value ?? {};
    const isValid = typeof name === 'string' && /^(string|undefined)$/.test(typeof description);
    if (!isValid && own !== true) return undefined;
    return { name, ...(description !== undefined && { description }) };
  } catch {
    return own ? { name: 'unreadable' } : undefined;
  }
}

function error(status: number, headers: Made['headers']): Made {
  return { status, headers: { ...headers }, body: { code: `E${status}`, message: 'No', status } };
}

function failureOf({ failsEvery, seed }: Make, state: State): 'busy' | 'silence' | undefined {
  if (failsEvery !== undefined) return state.requests % failsEvery === 0 ? 'busy' : undefined;
  if (seed === undefined) return undefined;
  // Park and Miller's generator: the same failures for the same seed.
  state.memory.chance = ((state.memory.chance ?? seed) * 48_271) % 2_147_483_647;
  if (state.memory.chance % 20 > 0) return undefined;
  return state.memory.chance % 40 === 0 ? 'silence' : 'busy';
}

const NO_QUOTA = (now: number): Made['headers'] => ({
  'x-ratelimit-limit': 0,
  'x-ratelimit-remaining': 0,
  'x-ratelimit-reset': Math.floor(now),
});

/** As JSON; an id of digits that a number cannot hold is a BigInt. */
export function json(value: unknown): string {
  return JSON.stringify(value, (_, each) =>
    typeof each === 'bigint' ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(`${each}`) : each,
  );
}

function encoded(plain: string, coding: Make['coding']): Buffer {
  const bytes = Buffer.from(plain);
  if (coding === undefined || plain === '') return bytes;
  return { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[coding](bytes);
}
