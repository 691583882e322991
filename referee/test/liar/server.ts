import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Counters, type Decision, freshCounters, type Key, type Limiter, minuteFromFirst } from './limiter.ts';

/** An answer before it is sent. Header names are in lower case. */
export interface Answer {
  status: number;
  headers: Record<string, string | number | undefined>;
}

/** A request as the server reads it. */
export interface Asked {
  readonly method: string;
  readonly now: number;
  readonly state: State;
  readonly response: ServerResponse;
  readonly key: Key;
}

/** All that a server keeps. `memory` is for what one lie remembers. */
interface State {
  readonly counters: Map<string, Counters>;
  arrived: number;
  requests: number;
  readonly memory: Record<string, number>;
}

/** One way in which a server differs from the honest one: a lie, or another way to be right. */
export interface Way {
  readonly limiter?: Limiter;
  /** Requests per minute of the limited key. */
  readonly limit?: number;
  /** Changes the decision of the limits on a request. */
  decides?(decision: Decision, asked: Asked): Decision;
  /** Changes any answer at last. */
  says?(answer: Answer, asked: Asked): void;
  /** The time of each answer, on the clock of the server. */
  readonly latencySeconds?: number;
  /** Fails with 503: each so many requests, or one in twenty by chance of a seed. */
  readonly failsEvery?: number;
  readonly seed?: number;
  /** Answers in HTTP/1.0, and ends the connection. */
  readonly isOld?: true;
  /** Serves one connection at a time, to its end. */
  readonly isSerial?: true;
  readonly hasNoDate?: true;
}

/** Unix time in seconds. Whoever judges turns it. */
interface Clock {
  now: number;
}

interface Server extends AsyncDisposable {
  readonly url: string;
  readonly clock: Clock;
}

export const MAIN_KEY = 'key_of_the_other_caller';
export const LIMITED_KEY = 'key_of_the_limited_caller';

/** Turns of the event loop without an arrival: requests at once come from this process. */
const TURNS_QUIET = 20;
const BODY = Buffer.from('{}');

/** Starts a server on the loopback with a limit that is kept, and told in `X-RateLimit-*`, but for its ways. */
export async function serve(...ways: readonly Way[]): Promise<Server> {
  const clock = { now: 1_767_268_800.4 };
  const way: Way = Object.assign({}, ...ways);
  const state: State = { counters: new Map(), arrived: 0, requests: 0, memory: {} };
  const http = createServer((request, response) => void handle(way, { state, clock }, request, response));
  http.keepAliveTimeout = 30_000;
  const { server, close } = way.isSerial ? inTurn(http) : { server: http, close: () => {} };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    clock,
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
  state.arrived += 1;
  request.resume();
  await once(request, 'end');
  if (way.latencySeconds) {
    // Requests at once have connections of their own; the clock is turned when all of them have arrived.
    if (request.headers.connection === 'close') await allArrived(state);
    clock.now = Math.max(clock.now, arrivedAt + way.latencySeconds);
  }
  state.requests += 1;
  const secret = request.headers.authorization?.replace('Bearer ', '') ?? '';
  const key = secret === MAIN_KEY ? { minute: 1_000, isLimited: false } : { minute: way.limit ?? 60, isLimited: true };
  const { method = '' } = request;
  const asked: Asked = { method, now: clock.now, state, response, key: { ...key, secret } };
  const failure = failureOf(way, state);
  if (failure === 'silence') return void response.socket?.destroy();
  const answer = failure ? { status: 503, headers: { 'retry-after': 1 } } : respond(way, asked);
  way.says?.(answer, asked);
  send(way, answer, asked);
}

async function allArrived(state: State): Promise<void> {
  let seen = state.arrived;
  for (let quiet = 0; quiet < TURNS_QUIET; quiet += 1) {
    await nextTurn();
    if (state.arrived !== seen) quiet = 0;
    seen = state.arrived;
  }
}

function respond(way: Way, asked: Asked): Answer {
  const { state, now, key, method } = asked;
  const counters = state.counters.get(key.secret) ?? freshCounters();
  state.counters.set(key.secret, counters);
  const made = (way.limiter ?? minuteFromFirst)(key, counters, now);
  const { limit, remaining, reset, isRefused } = way.decides?.(made, asked) ?? made;
  const ahead = reset - Math.floor(now);
  const headers = { 'x-ratelimit-limit': limit, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset };
  if (isRefused) return { status: 429, headers: { ...headers, 'retry-after': Math.max(1, ahead) } };
  return { status: method === 'POST' ? 201 : 200, headers };
}

function failureOf({ failsEvery, seed }: Way, { requests, memory }: State): 'busy' | 'silence' | undefined {
  if (failsEvery !== undefined) return requests % failsEvery === 0 ? 'busy' : undefined;
  if (seed === undefined) return undefined;
  // Park and Miller's generator: the same failures for the same seed.
  memory.chance = ((memory.chance ?? seed) * 48_271) % 2_147_483_647;
  if (memory.chance % 20 > 0) return undefined;
  return memory.chance % 40 === 0 ? 'silence' : 'busy';
}

function send(way: Way, { status, headers: said }: Answer, { now, response }: Asked): void {
  const headers: Record<string, string | number> = { 'content-type': 'application/json' };
  if (!way.hasNoDate) headers.date = new Date(Math.floor(now) * 1000).toUTCString();
  for (const [name, value] of Object.entries(said)) if (value !== undefined) headers[name] = value;
  if (way.isOld) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    response.socket?.write(`HTTP/1.0 ${status} Said\r\n${lines.join('')}\r\n`);
    response.socket?.end(BODY);
    return;
  }
  response.sendDate = false;
  response.writeHead(status, headers);
  response.end(BODY);
}
