import type { Field, ReferenceApi, ReferenceOperation } from '../reference/contract.ts';

/** A request whose values are the examples of the contract. */
export interface SampleRequest {
  readonly method: string;
  /** The address before each operation's path. */
  readonly baseUrl: string;
  /** Without the query. */
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The example key of a create; each operation has its own. */
  readonly idempotencyKey: string | undefined;
  /** The environment variable with the key or token. */
  readonly variable: string;
  /** True if the answer has one. */
  readonly hasAnswerBody: boolean;
}

/** The request that the samples of an operation send. */
export function sampleRequest(
  operation: ReferenceOperation,
  { baseUrl, credential }: Pick<ReferenceApi, 'baseUrl' | 'credential'>,
): SampleRequest {
  const { method, path, inPath, body, success } = operation;
  const filled = inPath.reduce((text, field) => text.replace(`{${field.name}}`, exampleOf(field)), path);
  return {
    method,
    baseUrl,
    url: baseUrl + filled,
    query: sampleQuery(operation),
    body: body?.example,
    idempotencyKey:
      method === 'POST' ? `${operation.id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-1` : undefined,
    variable: credential.variable,
    hasAnswerBody: success.body !== undefined,
  };
}

/** A filter with its first value, and the size of a page where a list is paged by default. */
export function sampleQuery({ inQuery }: ReferenceOperation): Record<string, string> {
  const shown = inQuery.filter(({ schema }) => schema.enum !== undefined || schema.default !== undefined);
  return Object.fromEntries(shown.map((field) => [field.name, exampleOf(field)]));
}

/** A value that the field accepts. */
export function exampleOf({ schema }: Field): string {
  return String(schema.example ?? schema.enum?.[0] ?? 1);
}
