import type { Field, ReferenceOperation } from '../reference/contract.ts';

/** A request whose values are the examples of the contract. */
export interface SampleRequest {
  readonly method: string;
  /** Without the query. */
  readonly url: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Whether the answer has one. */
  readonly hasAnswerBody: boolean;
}

/** The request that the samples of an operation send. */
export function sampleRequest(operation: ReferenceOperation, baseUrl: string): SampleRequest {
  const { method, path, inPath, body, success } = operation;
  const filled = inPath.reduce((text, field) => text.replace(`{${field.name}}`, exampleOf(field)), path);
  return {
    method,
    url: baseUrl + filled,
    query: sampleQuery(operation),
    body: body?.example,
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
