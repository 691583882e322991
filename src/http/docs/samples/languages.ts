import { type DescribedApi, type DescribedOperation, exampleOf, type Field } from '../described.ts';
import type { Sample } from './block.ts';

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
  /** The method of the TypeScript client that sends it, such as `pets.list`; undefined if none does. */
  readonly clientMethod: string | undefined;
}

type SampledApi = Pick<DescribedApi, 'credential' | 'isPublic'> & Pick<SampleRequest, 'baseUrl'>;

/** The request that the samples of an operation send. */
export function sampleRequest(operation: DescribedOperation, api: SampledApi): SampleRequest {
  const { baseUrl, credential, isPublic } = api;
  const { id, method, path, fields, body, success } = operation;
  return {
    method,
    baseUrl,
    url: baseUrl + fields.path.reduce((text, field) => text.replace(`{${field.name}}`, sampleValue(field)), path),
    query: sampleQuery(operation),
    body: body?.example,
    idempotencyKey:
      method === 'POST' ? `${id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-1` : undefined,
    variable: credential.variable,
    hasAnswerBody: success.schema !== undefined,
    clientMethod: isPublic ? clientMethod(operation) : undefined,
  };
}

/** A filter with its first value, and the size of a page where a list is paged by default. */
export function sampleQuery({ fields }: DescribedOperation): Record<string, string> {
  const shown = fields.query.filter(({ schema }) => schema.enum !== undefined || schema.default !== undefined);
  return Object.fromEntries(shown.map((field) => [field.name, sampleValue(field)]));
}

/** A value that the field accepts. */
export function sampleValue({ schema }: Field): string {
  return String(exampleOf(schema) ?? 1);
}

/** The client names its methods after the operations: `listPets` at `/pets` is `pets.list`. */
function clientMethod({ id, path }: DescribedOperation): string | undefined {
  if (id === 'getRateLimit') return 'rateLimit';
  const resource = path.split('/').findLast((segment) => !segment.startsWith('{')) ?? '';
  return CLIENT_RESOURCES.includes(resource) ? `${resource}.${/^[a-z]+/.exec(id)}` : undefined;
}

const CLIENT_RESOURCES = ['categories', 'pets', 'orders', 'inventory'];

interface Language {
  readonly id: string;
  readonly label: string;
  /** Undefined if the language has no sample for the request. */
  readonly write: (request: SampleRequest) => string | undefined;
}

/** The languages, in the order of the tabs. Each sample takes the key or token from its variable and runs as it is. */
export const LANGUAGES: readonly Language[] = [
  { id: 'sh', label: 'curl', write: curl },
  { id: 'ts', label: 'TypeScript', write: clientSample },
  { id: 'js', label: 'JavaScript', write: javaScript },
  { id: 'py', label: 'Python', write: python },
  { id: 'go', label: 'Go', write: go },
];

/** A request in every language. */
export function inEveryLanguage(request: SampleRequest): Sample[] {
  return LANGUAGES.flatMap(({ id, label, write }) => {
    const code = write(request);
    return code === undefined ? [] : [{ language: id, label, code }];
  });
}

/** A request as a command. */
export function curl(request: SampleRequest): string {
  const { method, url, query, body, variable } = request;
  const address = withQuery(url, query);
  return [
    `curl ${method === (body === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `}${/[?&]/.test(address) ? `'${address}'` : address}`,
    `-H "Authorization: Bearer $${variable}"`,
    ...headersOf(request).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`]),
  ].join(' \\\n  ');
}

function javaScript(request: SampleRequest): string {
  const { method, url, query, body, variable, hasAnswerBody } = request;
  const own = headersOf(request).map(([name, value]) => `'${name}': '${value}'`);
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    `headers: ${braced([`Authorization: \`Bearer \${process.env.${variable}}\``, ...own], 2)}`,
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body)})`]),
  ];
  return `const response = await fetch('${withQuery(url, query)}', {
${listed(options, 2)}
});
console.log(response.status${hasAnswerBody ? ', await response.json()' : ''});`;
}

function python(request: SampleRequest): string {
  const { method, url, query, body, variable, hasAnswerBody } = request;
  // `json=` sets the media type.
  const own = headersOf(request).flatMap(([name, value]) => (name === 'Content-Type' ? [] : [`"${name}": "${value}"`]));
  const options = [
    `"${url}"`,
    `headers=${braced([`"Authorization": f"Bearer {os.environ['${variable}']}"`, ...own], 4)}`,
    ...(Object.keys(query).length === 0 ? [] : [`params=${overLines(query, 4)}`]),
    ...(body === undefined ? [] : [`json=${overLines(body, 4)}`]),
    'timeout=30',
  ];
  return `import os

import requests

response = requests.${method.toLowerCase()}(
${listed(options, 4)}
)
print(response.status_code${hasAnswerBody ? ', response.json()' : ''})`;
}

function go(request: SampleRequest): string {
  const { method, url, query, body, variable } = request;
  const imports = ['fmt', 'io', 'log', 'net/http', 'os', ...(body === undefined ? [] : ['strings'])];
  const lines = [
    ...(body === undefined ? [] : [`body := strings.NewReader(\`${JSON.stringify(body)}\`)`]),
    `request, err := http.NewRequest("${method}", "${withQuery(url, query)}", ${body === undefined ? 'nil' : 'body'})`,
    ...FATAL,
    `request.Header.Set("Authorization", "Bearer "+os.Getenv("${variable}"))`,
    ...headersOf(request).map(([name, value]) => `request.Header.Set("${name}", "${value}")`),
    'response, err := http.DefaultClient.Do(request)',
    ...FATAL,
    'defer response.Body.Close()',
    'fmt.Println(response.Status)',
    'io.Copy(os.Stdout, response.Body)',
  ];
  return `package main

import (
${imports.map((name) => `\t"${name}"`).join('\n')}
)

func main() {
${lines.map((line) => `\t${line}`).join('\n')}
}`;
}

const FATAL = ['if err != nil {', '\tlog.Fatal(err)', '}'];

/** The headers that every sample sends beside the key, in this order. */
function headersOf({ body, idempotencyKey }: SampleRequest): [string, string][] {
  return Object.entries({
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
  });
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString().replaceAll('%2C', ',');
  return text ? `${url}?${text}` : url;
}

/** Entries in braces, on one line if there is only one; Python has no spaces within them. */
function braced(entries: readonly string[], columns: number): string {
  const space = columns === 2 ? ' ' : '';
  return entries.length === 1 ? `{${space}${entries}${space}}` : `{\n${listed(entries, columns)}\n}`;
}

/** Entries with a comma after each, on lines of their own. */
function listed(entries: readonly string[], columns: number): string {
  return entries.map((entry) => `${entry},`.replaceAll(/^(?=.)/gm, ' '.repeat(columns))).join('\n');
}

/** The request sent by the TypeScript client. */
function clientSample({ baseUrl, url, query, body, hasAnswerBody, clientMethod }: SampleRequest): string | undefined {
  if (clientMethod === undefined) return undefined;
  const id = url.split('/').at(-1) ?? '';
  const call = `catalog.${clientMethod}(${[
    ...(/^\d+$/.test(id) ? [id] : []),
    ...(Object.keys(query).length === 0 ? [] : [literal(numbers(query))]),
    ...(body === undefined ? [] : [literal(body)]),
  ].join(', ')})`;
  return `import { PetCatalog } from '@pet-catalog/client';

const catalog = new PetCatalog({
  baseUrl: '${baseUrl}',
  apiKey: process.env.PET_CATALOG_KEY,
});
${hasAnswerBody ? `console.log(await ${call});` : `await ${call};`}`;
}

function numbers(query: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  );
}

/** JSON as a JavaScript literal over several lines, as the samples show bodies. */
function literal(value: unknown): string {
  return overLines(value, 2)
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_all, text: string) => `'${text.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`)
    .replace(/^(\s*)'(\w+)':/gm, '$1$2:');
}

/** JSON over several lines. Python reads it too, but for true, false and null, which are in no example. */
function overLines(value: unknown, columns: number): string {
  return JSON.stringify(value, null, columns).replace(/([^{[,])$(?=\n\s*[}\]])/gm, '$1,');
}
