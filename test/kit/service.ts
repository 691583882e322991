import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type ApiKey, type NewApiKey, newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { openLimiter } from '../../src/limits/open.ts';
import { type Service, type ServiceOptions, startService } from '../../src/service.ts';
import { openStorage } from '../../src/storage/open.ts';
import type { SqlStorage } from '../../src/storage/sql/storage.ts';
import type { Events } from '../../src/telemetry/events.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import { type ManualClock, manualClock } from './clock.ts';
import { type RecordedEvents, recordedEvents } from './events.ts';
import { IN_MEMORY, temporaryFolder } from './folder.ts';
import { OPERATOR } from './operator.ts';

export { recordedEvents, temporaryFolder };

/** A plan that no test uses up. */
export const UNLIMITED = { plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } } as const;

export interface TestService extends AsyncDisposable {
  readonly url: string;
  readonly operatorUrl: string;
  /** Of the service that runs now. */
  readonly logins: Service['logins'];
  readonly localSecret: string;
  readonly config: Config;
  readonly storage: SqlStorage;
  readonly clock: ManualClock;
  /** Of the service that runs now. */
  readonly metrics: Metrics;
  readonly events: RecordedEvents;
  /** Issues a key: free unless told otherwise. */
  issue(wanted?: Partial<NewApiKey>): Promise<{ key: ApiKey; secret: string }>;
  /** A request with a key. */
  call(secret: string, path: string, init?: RequestInit): Promise<Response>;
  /** As `call`, with a body in JSON. */
  send(
    secret: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** Stops the service and starts another on the same database. */
  restart(): Promise<void>;
}

/** Answers are recorded, and counted by the metrics as those of a real service are. */
function answeredTo(events: RecordedEvents, metrics: Metrics): Events['requestAnswered'] {
  return (answered) => {
    events.requestAnswered(answered);
    metrics.requests.observe(answered, answered.durationMs / 1_000);
  };
}

/** What the service under test stands on unless a test says otherwise: the embedded database if it is not set. */
const TEST_ON = process.env.TEST_ON ?? '';
const postgres = TEST_ON.includes('postgres') ? await import('./postgres.ts') : undefined;

/** The settings for a database, and where TEST_ON asks for it a Redis, that go with the test. */
async function place(): Promise<AsyncDisposable & { readonly settings: Record<string, string> }> {
  const folder = temporaryFolder(IN_MEMORY);
  const settings: Record<string, string> = { DATABASE_URL: `sqlite:${join(folder.path, 'test.db')}` };
  await using stack = new AsyncDisposableStack();
  stack.use(folder);
  if (postgres) settings.DATABASE_URL = stack.use(await postgres.reusedDatabase()).url;
  // No two tests have a key in common, so that they may have a Redis in common.
  if (TEST_ON.includes('redis')) {
    const { sharedRedis } = await import('./redis-server.ts');
    Object.assign(settings, { REDIS_URL: (await sharedRedis()).url, INSTANCES: '1' });
  }
  const made = stack.move();
  return { settings, [Symbol.asyncDispose]: () => made.disposeAsync() };
}

/** So long that a busy machine does not count as an outage of Redis. */
const ANSWER_MS = 10_000;

/** The real service on a real port and a real database, with a manual clock. */
export async function testService(
  settings: Record<string, string> = {},
  clock: ManualClock = manualClock(),
  { examine }: Pick<ServiceOptions, 'examine'> = {},
): Promise<TestService> {
  const standing = await place();
  const flags = { PORT: '0', ...standing.settings, ...settings };
  const config = readConfig({ flags, env: {}, file: {} });
  const events = recordedEvents();
  const start = async () => {
    const time = clock;
    const storage = await openStorage(config.database, {
      time,
      categoriesMax: config.categoriesMax,
      categoriesBytesMax: config.categoriesBytesMax,
    });
    const limiter = await openLimiter(config, { storage, time, events, serverTime: time, answerMs: ANSWER_MS });
    const metrics = createMetrics();
    const told = { ...events, requestAnswered: answeredTo(events, metrics) };
    const parts = { storage, limiter, time, events: told, metrics };
    const service = await startService(config, { ...parts, ...(examine && { examine }) });
    return { storage, limiter, metrics, service };
  };
  let running = await start();
  const stop = async () => {
    await running.service[Symbol.asyncDispose]();
    await running.limiter[Symbol.asyncDispose]();
    await running.storage[Symbol.asyncDispose]();
  };
  const call: TestService['call'] = (secret, path, init = {}) =>
    fetch(running.service.url + path, {
      ...init,
      headers: { authorization: `Bearer ${secret}`, ...(init.headers as object) },
    });
  return {
    get metrics() {
      return running.metrics;
    },
    get url() {
      return running.service.url;
    },
    get operatorUrl() {
      return running.service.operatorUrl;
    },
    get logins() {
      return running.service.logins;
    },
    get localSecret() {
      return running.service.localSecret;
    },
    get storage() {
      return running.storage;
    },
    config,
    clock,
    events,
    async issue(wanted = {}) {
      const environment = config.environment;
      const made = newApiKey({ name: 'test', environment, plan: 'free', ...wanted }, clock.now().unix);
      await running.storage.keys.insert(made.key, secretRecord(made.secret), OPERATOR);
      return made;
    },
    call,
    send: (secret, method, path, body, headers) =>
      call(secret, path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    async restart() {
      await stop();
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await standing[Symbol.asyncDispose]();
    },
  };
}

/** A response's body, taken to be of the type that the contract promises. */
export async function json<T>(response: Response | Promise<Response>): Promise<T> {
  return (await (await response).json()) as T;
}

/** Every error body is exactly code, message and status, and its status that of the answer. */
export async function assertError(answer: Response | Promise<Response>, status: number, code: string) {
  const response = await answer;
  const body = await json<{ code: string; message: string; status: number }>(response);
  assert.deepEqual(body, { code, message: body.message, status }, body.message);
  assert.deepEqual([response.status, response.headers.get('content-type')], [status, 'application/json']);
  assert.ok(body.message.length > 10 && body.message.length < 300, body.message);
  return body;
}

/** Every item of a list that comes in pages, and how many each page held. `path` may hold filters and a limit. */
export async function everyPage<T>(
  get: (path: string) => Promise<Response>,
  path: string,
): Promise<{ items: T[]; counts: number[] }> {
  const pages: T[][] = [];
  for (let next: string | undefined = path; next !== undefined; ) {
    const response = await get(next);
    pages.push((await json(response)) as T[]);
    const link = response.headers.get('link');
    next = link === null ? undefined : /^<\/v1(\/[^>]*)>; rel="next"$/.exec(link)?.[1];
    if (link !== null && next === undefined) throw new Error(`Not a link to a next page: ${link}`);
  }
  return { items: pages.flat(), counts: pages.map((page) => page.length) };
}
