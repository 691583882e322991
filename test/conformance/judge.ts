import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, Agent as TlsAgent } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Category } from '../../src/catalog/category.ts';
import { json, type TestService, UNLIMITED } from '../kit/service.ts';
import type { Row, Step } from './rows.ts';

const LIMITS = { free: 60, pro: 300, business: 1_000 };
const WINDOW_SECONDS = 60;

/** The service, and where it is asked: by itself, or behind a gateway with its certificate. */
export interface Place {
  readonly service: TestService;
  readonly url?: string;
  readonly ca?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly isSameConnection: boolean;
  /** The moments between which it was made, in Unix seconds. */
  readonly between: readonly [earliest: number, latest: number];
}

/** What is known of the row's key and of what it has created. */
interface State {
  readonly limit: number;
  admitted: number;
  /** The moments between which the window was opened. */
  opened: Answer['between'] | undefined;
  readonly all: Category[];
  last: Answer | undefined;
}

/** Asserts that a row holds: each of its answers, and what is in the list afterwards. */
export async function judge({ plan = 'free', steps }: Row, { service, url = service.url, ca }: Place): Promise<void> {
  const { secret } = await service.issue({ plan });
  const reader = (await service.issue(UNLIMITED)).secret;
  const list = () => json<Category[]>(service.call(reader, '/categories'));
  const state: State = { limit: LIMITS[plan], admitted: 0, opened: undefined, all: await list(), last: undefined };
  // One connection, so that what a request leaves behind on it would show.
  const agent =
    ca === undefined
      ? new Agent({ keepAlive: true, maxSockets: 1 })
      : new TlsAgent({ keepAlive: true, maxSockets: 1, ca });
  const ask = async (step: Step): Promise<Answer> => {
    const earliest = service.clock.now().unix;
    const response = await send(step, { url, secret, state, agent });
    const body = await text(response.message);
    const { statusCode: status = 0, headers } = response.message;
    return {
      status,
      headers,
      body,
      isSameConnection: response.isReused,
      between: [earliest, service.clock.now().unix],
    };
  };
  for (const step of steps) {
    if (step.waits) service.clock.advance(Number(state.last?.headers['retry-after']));
    if (step.waits) Object.assign(state, { admitted: 0, opened: undefined });
    if (step.atOnce === undefined)
      for (let time = 0; time < (step.times ?? 1); time += 1) check(step, await ask(step), state);
    else await checkTogether(step, await Promise.all(Array.from({ length: step.atOnce }, () => ask(step))));
  }
  agent.destroy();
  assert.deepEqual(await list(), state.all);
}

async function send(
  { method = 'GET', path = '/categories', headers = {}, body, authorization = 'Bearer {key}' }: Step,
  { url, secret, state, agent }: { url: string; secret: string; state: State; agent: Agent },
) {
  const filled = (value: string) =>
    value
      .replaceAll('{key}', secret)
      .replace('{almost}', secret.slice(0, -1))
      .replace('{etag}', `${state.last?.headers.etag}`);
  const base = new URL(url);
  const own = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(authorization !== null && { authorization }),
    ...headers,
  };
  const request = (agent instanceof TlsAgent ? httpsRequest : httpRequest)(base.origin, {
    agent,
    method,
    path: base.pathname + filled(path),
    headers: Object.fromEntries(Object.entries(own).map(([name, value]) => [name, filled(value)])),
  });
  request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  const [message] = (await once(request, 'response')) as [IncomingMessage];
  return { message, isReused: request.reusedSocket };
}

function check(step: Step, answer: Answer, state: State): void {
  const { status, headers, body } = answer;
  assert.equal(status, step.status, body);
  checkLimits(step, answer, state);
  for (const [name, value] of Object.entries(step.has ?? {})) {
    if (value instanceof RegExp) assert.match(`${headers[name]}`, value, name);
    else assert.equal(headers[name] ?? null, value, name);
  }
  if (step.isSameConnection) assert.ok(answer.isSameConnection, 'it came on another connection');
  state.last = answer;
  assert.equal(body === '', step.method === 'HEAD' || status === 204 || status === 304, `the body of ${status}`);
  if (body === '') return;
  assert.equal(headers['content-type'], 'application/json');
  const value = JSON.parse(body);
  if (status >= 400) assert.deepEqual(value, { code: step.code, message: `${value.message}`, status });
  else if (status === 201 && headers['idempotency-replayed']) assert.deepEqual(value, state.all.at(-1));
  else if (status === 201) state.all.push(created(step, value, state.all));
  else if (step.items !== undefined) assert.equal(value.length, step.items);
  else assert.deepEqual(value, state.all);
}

/** The Category that a create answers: what was sent, and an id that no other has. */
function created({ body }: Step, value: Category, all: readonly Category[]): Category {
  const { name, description } = body as Pick<Category, 'name' | 'description'>;
  assert.deepEqual(value, { id: value.id, name, ...(description !== undefined && { description }) });
  assert.ok(Number.isSafeInteger(value.id) && all.every(({ id }) => id !== value.id), `the id is ${value.id}`);
  return value;
}

/** Asserts the three headers, and `Retry-After` of a refusal, by what the row's key has done so far. */
function checkLimits(
  { isBeforeKey }: Step,
  { status, headers, between: [earliest, latest] }: Answer,
  state: State,
): void {
  const isAnonymous = status === 401 || isBeforeKey === true;
  const isRefused = status === 429;
  if (!isAnonymous && !isRefused) state.admitted += 1;
  if (!isAnonymous) state.opened ??= [earliest, latest];
  const wanted = isAnonymous ? [0, 0] : [state.limit, isRefused ? 0 : state.limit - state.admitted];
  const told = ['limit', 'remaining'].map((name) => Number(headers[`x-ratelimit-${name}`] ?? Number.NaN));
  assert.deepEqual(told, wanted, 'Limit and Remaining');
  const [from, to] = isAnonymous ? [earliest, latest] : (state.opened ?? []).map((second) => second + WINDOW_SECONDS);
  const reset = Number(headers['x-ratelimit-reset'] ?? Number.NaN);
  assert.ok(reset >= Number(from) && reset <= Number(to), `Reset is ${reset}, not from ${from} to ${to}`);
  assert.equal(headers['retry-after'] !== undefined, isRefused, 'Retry-After is on refusals alone');
  if (!isRefused) return;
  const seconds = Number(headers['retry-after']);
  assert.ok(seconds >= 1 && earliest + seconds <= reset && reset <= latest + seconds, `Retry-After is ${seconds}`);
}

function checkTogether({ status }: Step, answers: readonly Answer[]): void {
  const found = answers.map((answer) => answer.status).sort();
  assert.deepEqual(found, [status, ...answers.slice(1).map(() => 429)]);
}
