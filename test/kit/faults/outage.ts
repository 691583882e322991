import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Category } from '../../../src/catalog/category.ts';
import { json, type TestService } from '../service.ts';

/** Checks for a service whose database fails. */

export const RECOVERY_MS_MAX = 5_000;
/** A statement times out after 6 s, a connection after 2 s; the rest is slack for a busy machine. */
export const DEADLINE_MS_MAX = 9_000;
export const UNLIMITED = { plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } } as const;

export function create(service: TestService, secret: string, name: string, idempotencyKey?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(idempotencyKey && { 'idempotency-key': idempotencyKey }) };
  return service.call(secret, '/categories', { method: 'POST', headers, body: JSON.stringify({ name }) });
}

export async function names(service: TestService, secret: string): Promise<string[]> {
  const response = await service.call(secret, '/categories');
  assert.equal(response.status, 200);
  return (await json<Category[]>(response)).map(({ name }) => name);
}

export async function codeOf(response: Response): Promise<string> {
  return (await json<{ code: string }>(response)).code;
}

export function readiness(service: TestService): Promise<Response> {
  return fetch(`${service.operatorUrl}/readyz`);
}

export async function timed(
  url: string,
  secret: string,
  body?: unknown,
): Promise<{ status: number; durationMs: number }> {
  const startedMs = performance.now();
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  await response.arrayBuffer();
  return { status: response.status, durationMs: performance.now() - startedMs };
}

/** Asserts that no answer so far was a 500. */
export function assertNoDefect({ events }: TestService): void {
  assert.deepEqual(
    events.answered.filter(({ status }) => status === 500),
    [],
  );
}

/** Within the five seconds that are promised. */
export async function recovers(condition: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < RECOVERY_MS_MAX, 'it did not recover in time');
    await wait(20);
  }
}
