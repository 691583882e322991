import assert from 'node:assert/strict';
import { type ApiClient, callApi } from '../operator.ts';
import type { RunHereOptions } from '../process.ts';
import { run } from '../process.ts';
import { json, type TestService } from '../service.ts';

/** A key of a release's database, with what its owner holds. */
export interface RecordedKey {
  readonly id: string;
  readonly secret: string;
  /** The secret before the rotation. */
  readonly before?: string;
}

/** A create that its client may retry. */
export interface RecordedCreate {
  readonly path: string;
  readonly body: object;
  readonly idempotencyKey: string;
  readonly answer: unknown;
}

/** What clients and operators of a release hold, and what it answered them before it was stopped. */
export interface Recorded {
  /** When it was stopped, in Unix seconds: time stands still until the upgrade. */
  readonly leftAt: number;
  readonly keys: Readonly<Record<string, RecordedKey>>;
  /** Tokens of the operator API. */
  readonly tokens: Readonly<Record<string, string>>;
  /** The cookies of the console's sessions. */
  readonly cookies: Readonly<Record<string, string>>;
  /** All within their 24 hours. */
  readonly creates: readonly RecordedCreate[];
  /** One whose 24 hours are over. */
  readonly forgotten: RecordedCreate;
  /** The highest ids ever given, each since deleted. */
  readonly lastIds: Readonly<Record<'/categories' | '/store/orders', number>>;
  /** By path, for the key `business`. */
  readonly answers: Readonly<Record<string, unknown>>;
  /** By the name of the key, for GET /rate_limit. */
  readonly limits: Readonly<Record<string, unknown>>;
  /** By path, for the token `viewer` of the operator API. */
  readonly operatorAnswers: Readonly<Record<string, unknown>>;
  /** By command: what it printed, as JSON. */
  readonly printed: Readonly<Record<string, unknown>>;
}

/**
 * Refusals lead to a ban soon, so that few requests suffice. A Redis has a time of its own, so the service counts in
 * memory wherever the test runs.
 */
export const SETTINGS = { REDIS_URL: '', INSTANCES: '', BAN_AFTER_REFUSALS: '3' };
/** Before everything that is recorded. */
const EVER = '20000d';

export const PUBLIC_PATHS = ['/categories', '/pets?limit=100', '/store/orders?limit=100', '/inventory?limit=100'];
export const OPERATOR_PATHS = [
  '/keys?limit=100',
  '/bans',
  '/usage?since=30d',
  '/usage?since=30d&by=day',
  '/usage?since=30d&by=hour',
  '/audit?limit=100',
  ...['/orders/1', '/orders/3', '/pets/1', '/categories/2', '/categories/7'],
];
export const COMMANDS = [
  'keys list --json',
  'operators list --json',
  `usage --since ${EVER} --json`,
  `audit --since ${EVER} --json`,
  'categories list --json',
];

/** A request with a key that has to be answered with this status. Resolves with the answer. */
export async function called(
  service: TestService,
  secret: string,
  path: string,
  { status = 200, method = 'GET', body, headers = {} }: CallOptions = {},
): Promise<{ readonly body: unknown; readonly headers: Headers }> {
  const response = await service.call(secret, path, {
    method,
    ...(body && { body: JSON.stringify(body) }),
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
  });
  const text = await response.text();
  assert.equal(response.status, status, `${method} ${path}: ${text}`);
  return { body: text === '' ? undefined : JSON.parse(text), headers: response.headers };
}

interface CallOptions {
  readonly status?: number;
  readonly method?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

/** A request to the operator API with a token that has to be answered with this status. */
export async function operated(
  service: TestService,
  token: string,
  path: string,
  { status = 200, method = 'GET', body }: Omit<CallOptions, 'headers'> = {},
): Promise<unknown> {
  const answer = await callApi(service, method, path, { body, headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  assert.equal(answer.status, status, `${method} ${path}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Runs a command that has to succeed. Resolves with the JSON that it prints, or undefined. */
export async function printedBy(command: string, options: RunHereOptions): Promise<unknown> {
  const { code, stdout, stderr } = await run(command.split(' '), options);
  assert.equal(code, 0, `${command}: ${stderr}`);
  return /^[[{]/.test(stdout) ? JSON.parse(stdout) : undefined;
}

/** Issues a key through the operator API. */
export async function issued(client: ApiClient, wanted: object): Promise<RecordedKey> {
  const answer = await client.send('POST', '/keys', wanted);
  assert.equal(answer.status, 201);
  const { id, key } = await json<{ id: string; key: string }>(answer);
  return { id, secret: key };
}
