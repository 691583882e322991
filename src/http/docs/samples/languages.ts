import type { SampleRequest } from './request.ts';

export interface Language {
  readonly id: string;
  readonly label: string;
  /** Undefined if the language has no sample for the operation. */
  readonly write: (request: SampleRequest, operationId: string) => string | undefined;
}

/** The languages, in the order of the tabs. Each sample takes the key or token from its variable and runs as it is. */
export const LANGUAGES: readonly Language[] = [
  { id: 'sh', label: 'curl', write: curl },
  { id: 'ts', label: 'TypeScript', write: clientSample },
  { id: 'js', label: 'JavaScript', write: javaScript },
  { id: 'py', label: 'Python', write: python },
  { id: 'go', label: 'Go', write: go },
];

function curl(request: SampleRequest): string {
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
    ...(Object.keys(query).length === 0 ? [] : [`params=${pythonLiteral(query)}`]),
    ...(body === undefined ? [] : [`json=${pythonLiteral(body)}`]),
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
  const headers: [string, string | undefined][] = [
    ['Content-Type', body === undefined ? undefined : 'application/json'],
    ['Idempotency-Key', idempotencyKey],
  ];
  return headers.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
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

const CALLS: Readonly<Record<string, (request: Record<'id' | 'query' | 'body', string>) => string>> = {
  listCategories: () => 'categories.list()',
  createCategory: ({ body }) => `categories.create(${body})`,
  getCategory: ({ id }) => `categories.get(${id})`,
  listPets: ({ query }) => `pets.list(${query})`,
  createPet: ({ body }) => `pets.create(${body})`,
  getPet: ({ id }) => `pets.get(${id})`,
  updatePet: ({ id, body }) => `pets.update(${id}, ${body})`,
  listOrders: ({ query }) => `orders.list(${query})`,
  placeOrder: ({ body }) => `orders.place(${body})`,
  getOrder: ({ id }) => `orders.get(${id})`,
  cancelOrder: ({ id }) => `orders.cancel(${id})`,
  listInventory: ({ query }) => `inventory.list(${query})`,
  getInventory: ({ id }) => `inventory.get(${id})`,
  updateInventory: ({ id, body }) => `inventory.update(${id}, ${body})`,
  getRateLimit: () => 'rateLimit()',
};

/** The operation called by the TypeScript client; undefined if it has no such call. */
function clientSample({ baseUrl, url, query, body, hasAnswerBody }: SampleRequest, operationId: string) {
  const call = CALLS[operationId]?.({
    id: url.replace(/^.*\//, ''),
    query: literal(numbers(query)),
    body: literal(body),
  });
  if (call === undefined) return undefined;
  return `import { PetCatalog } from '@pet-catalog/client';

const catalog = new PetCatalog({
  baseUrl: '${baseUrl}',
  apiKey: process.env.PET_CATALOG_KEY,
});
${hasAnswerBody ? `console.log(await catalog.${call});` : `await catalog.${call};`}`;
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

/** The same as a Python literal; true, false and null are written otherwise there, and are in no example. */
function pythonLiteral(value: unknown): string {
  return overLines(value, 4);
}

function overLines(value: unknown, columns: number): string {
  return (JSON.stringify(value, null, columns) ?? '').replace(/([^{[,])$(?=\n\s*[}\]])/gm, '$1,');
}
