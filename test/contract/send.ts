import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

/** Variables of a collection, by name. */
export type Variables = Map<string, string>;

/** A request as a collection says it. */
export interface Request {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What was answered. */
export interface Sent {
  readonly status: number;
  /** Parsed; undefined if empty. */
  readonly body: unknown;
}

/** Sends a request, and nothing but what it says. */
export async function send({ method, url, headers, body }: Request): Promise<Sent> {
  const response = await fetch(url, { method, headers, ...(body && { body }) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** Replaces `{{name}}` by the value of the variable, and `{{$guid}}` by a new one. */
export function filled(text: string, variables: Variables): string {
  return text.replace(/\{\{(\$?\w+)\}\}/g, (_all, name: string) => {
    const value = name === '$guid' ? randomUUID() : variables.get(name);
    assert.ok(value, `nothing is set for ${name}`);
    return value;
  });
}

/** The value at a path such as `id`, `.id` or `[0].id`. */
export function valueAt(body: unknown, path: string): unknown {
  const names = path.split(/[.[\]]/).filter((name) => name !== '');
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], body);
}
