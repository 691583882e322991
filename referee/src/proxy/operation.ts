import { type Fields, fieldOf, isJson } from './headers.ts';

const NAME_CHARACTERS_MAX = 60;
const DEPTH_MAX = 100;
/** Strings and comments of a GraphQL document (GraphQL, section 2.1). */
const NO_SYNTAX = /"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#.*/g;
const INNERMOST = /\{[^{}]*\}|\([^()]*\)/g;
const OPERATION = /(?<![$@\w])(query|mutation|subscription)\b\s*(\w+)?/g;

/** The meaning of a request to an address that has many. */
export interface Meaning {
  /** `mutation Name` of GraphQL, the method of JSON-RPC, or the `X-Amz-Target`; undefined for others. */
  readonly operation: string | undefined;
  /** The body without what differs between tries: the `id` of JSON-RPC. Undefined: the body as it is. */
  readonly content?: string;
}

/** Finds the operation of a request in its headers and body. Of a batch it is the first mutation, else the first. */
export function meaningOf(fields: Fields, body: Buffer | undefined): Meaning {
  const target = fieldOf(fields, 'x-amz-target');
  if (target !== undefined) return { operation: nameOf(target) };
  if (!body?.length || !isJson(fieldOf(fields, 'content-type'))) return { operation: undefined };
  const calls = [jsonOf(body)].flat().map((each) => ({ ...(typeof each === 'object' ? each : {}) }) as Members);
  const operations = calls.flatMap((call) => graphqlOf(call) ?? rpcOf(call) ?? []);
  const operation = operations.find((each) => each.startsWith('mutation')) ?? operations[0];
  if (!calls.some(rpcOf)) return { operation };
  return { operation, content: JSON.stringify(calls.map((call) => ({ ...call, id: null }))) };
}

type Members = Readonly<Record<string, unknown>>;

/** The value of a body; undefined if it is no JSON. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(`${body}`);
  } catch {
    return undefined;
  }
}

/** The type and name of the operation that a request selects (GraphQL, section 6.1); undefined if it is no document. */
function graphqlOf({ query, operationName }: Members): string | undefined {
  if (typeof query !== 'string') return undefined;
  const document = query.replaceAll(NO_SYNTAX, '');
  let outer = document;
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) outer = outer.replaceAll(INNERMOST, ' ');
  if (outer === document) return undefined;
  const all = [...outer.matchAll(OPERATION)];
  const [, type = 'query', name = ''] = all.find((each) => each[2] === operationName) ?? all[0] ?? [];
  const isDocument = all.length > 0 || document.trimStart().startsWith('{');
  return isDocument ? `${type} ${nameOf(name)}`.trim() : undefined;
}

function rpcOf({ jsonrpc, method }: Members): string | undefined {
  return jsonrpc !== undefined && typeof method === 'string' ? nameOf(method) : undefined;
}

/** A name as it can stand in a script. */
function nameOf(text: string): string {
  return text.replaceAll(/[^\w./:-]+/g, '_').slice(0, NAME_CHARACTERS_MAX);
}
