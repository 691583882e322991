import assert from 'node:assert/strict';
import type { Category } from '../../../src/catalog/category.ts';
import { json, type TestService } from '../service.ts';

/** Checks for a service whose database fails. */

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
