import type { Method } from './operation.ts';
import type { CallOptions, PetCatalogOptions } from './options.ts';

/** Every option of a client with its type. */
export const CLIENT_OPTIONS: Readonly<Record<keyof PetCatalogOptions, string>> = {
  baseUrl: 'address',
  apiKey: 'string',
  timeoutMs: 'number',
  attemptTimeoutMs: 'number',
  maxRetries: 'number',
  pace: 'boolean',
  headers: 'object',
  onResponse: 'function',
  onRetry: 'function',
  onDeprecation: 'function',
  fetch: 'function',
  clock: 'object',
};

const CALL_OPTIONS: Readonly<Record<keyof CallOptions, string>> = {
  signal: 'object',
  timeoutMs: 'number',
  maxRetries: 'number',
  headers: 'object',
};

/** Every option of a call by this method with its type. */
export function callOptions(method: Method): Readonly<Record<string, string>> {
  if (method === 'GET') return CALL_OPTIONS;
  return { ...CALL_OPTIONS, [method === 'POST' ? 'idempotencyKey' : 'ifMatch']: 'string' };
}

/** Throws a TypeError for a query or body that is no object, or has the name of an option. */
export function checkPart(part: unknown, name: 'query' | 'body'): void {
  if (typeof part !== 'object' || part === null || Array.isArray(part)) {
    throw new TypeError(`the ${name} is ${Array.isArray(part) ? 'an array' : typeOf(part)}; pass an object`);
  }
  const option = ['idempotencyKey', 'ifMatch'].find((each) => each in part);
  if (option) throw new TypeError(`${option} is an option; pass it in the argument after the ${name}`);
}

/** Throws a TypeError for an option that is unknown or of another type. Quotes no text: it may be the key. */
export function checkOptions(options: object, known: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(options)) {
    const type = Object.hasOwn(known, name) ? known[name] : undefined;
    if (!type) throw new TypeError(`${name} is no option; there are ${Object.keys(known).join(', ')}`);
    if (value === undefined || type === 'address') continue;
    if (type === 'number' ? !(typeof value === type && value >= 0) : typeof value !== type || value === null) {
      const wanted = `${type === 'object' ? 'an' : 'a'} ${type}${type === 'number' ? ' from 0' : ''}`;
      throw new TypeError(`${name} is ${typeOf(value)}; pass ${wanted}`);
    }
  }
}

/** A number as it is, of anything else the type. */
export function typeOf(value: unknown): string {
  return typeof value === 'number' || value === null ? `${value}` : `of type ${typeof value}`;
}
