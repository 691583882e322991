import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STORY } from './story.ts';

/**
 * Writes the collections for HTTP clients beside this file, out of the story and the contract: an `.http` file, a Bruno
 * folder and a Postman file. `npm run collections` runs it; a test compares.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BASE_URL = 'http://127.0.0.1:8080/v1';
const POSTMAN_SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** The parts of the contract that are read. */
export interface Contract {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly deprecated?: boolean;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': JsonContent } };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description?: string;
}

interface JsonContent {
  readonly example: Readonly<Record<string, unknown>>;
}

/** One request, as every client has it. */
interface Request {
  readonly name: string;
  readonly title: string;
  readonly folder: string;
  readonly method: string;
  /** With `{name}` for variables. */
  readonly path: string;
  readonly inPath: readonly Parameter[];
  readonly inQuery: readonly QueryParameter[];
  readonly idempotencyKey: string | undefined;
  readonly status: number;
  readonly expected: readonly Expected[];
  /** Variables to set, and where the body has their values. */
  readonly kept: readonly (readonly [variable: string, path: string])[];
  /** JSON in lines, or undefined for none. */
  readonly body: string | undefined;
}

/** A parameter of the query; without a value it is shown but not sent. */
interface QueryParameter extends Parameter {
  readonly value: string | undefined;
}

/** A value that is expected at a path of the body, or the variable that holds it. */
interface Expected {
  readonly path: string;
  readonly value: string | number | boolean;
  readonly variable: string | undefined;
}

/** Every file of the collections, by its path below `collections`. */
export function collections(contract: Contract): Map<string, string> {
  const requests = requestsOf(contract);
  return new Map([
    ['pet-catalog.http', httpFile(contract, requests)],
    ['pet-catalog.postman_collection.json', `${JSON.stringify(postman(contract, requests), null, 2)}\n`],
    ...bruno(contract, requests),
  ]);
}

function requestsOf({ paths }: Contract): Request[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
  return STORY.map((step) => {
    const operation = operations.find(({ operationId }) => operationId === step.operation);
    if (!operation) throw new Error(`the contract has no operation ${step.operation}`);
    const { path, method, summary, deprecated = false, parameters = [], tags, requestBody } = operation;
    return {
      name: step.name ?? step.operation,
      title: step.title ?? (deprecated ? `${summary} (deprecated)` : summary),
      folder: tags[0] ?? 'other',
      method: method.toUpperCase(),
      path,
      inPath: parameters.filter((parameter) => parameter.in === 'path'),
      inQuery: parameters
        .filter((parameter) => parameter.in === 'query')
        .map((parameter) => ({ ...parameter, value: step.query?.[parameter.name] })),
      idempotencyKey: step.idempotencyKey,
      status: step.status,
      expected: Object.entries(step.expect ?? {}).map(([at, value]) => ({
        path: at,
        value,
        variable: variableOf(value),
      })),
      kept: Object.entries(step.keep ?? {}),
      body: requestBody && bodyOf({ ...requestBody.content['application/json'].example, ...step.body }),
    };
  });
}

/** JSON in lines. A variable stands for a number, so it loses its quotes. */
function bodyOf(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(members, null, 2).replace(/"(\{\{\w+\}\})"/g, '$1');
}

function variableOf(value: unknown): string | undefined {
  return typeof value === 'string' ? /^\{\{(\w+)\}\}$/.exec(value)?.[1] : undefined;
}

/** A path of the body as JavaScript behind `body`: `.id`, `[0].id`. */
function accessOf(path: string): string {
  return path.startsWith('[') ? path : `.${path}`;
}

/** A file for the REST clients of editors: requests set apart by `###`. They assert nothing, so comments say it. */
function httpFile({ info }: Contract, requests: readonly Request[]): string {
  const head = [
    `# ${info.title}`,
    '# Send the requests in order. The key comes from the environment variable PET_CATALOG_KEY.',
    '',
    `@base_url = ${BASE_URL}`,
    '@PET_CATALOG_KEY = {{$processEnv PET_CATALOG_KEY}}',
  ];
  const blocks = requests.map(
    ({ name, title, method, path, inQuery, idempotencyKey, status, expected, kept, body }) => {
      const sent = inQuery.flatMap(({ name: parameter, value }) => (value ? [`${parameter}=${value}`] : []));
      return [
        `### ${title}`,
        `# @name ${name}`,
        ...inQuery.map((parameter) => `# ?${parameter.name}= ${parameter.description ?? ''}`.trimEnd()),
        `# Expect ${[status, ...expected.map(({ path: at, value }) => `${at}: ${value}`)].join(', ')}`,
        `${method} {{base_url}}${path.replace(/\{(\w+)\}/g, '{{$1}}')}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
        'Authorization: Bearer {{PET_CATALOG_KEY}}',
        ...(idempotencyKey === undefined ? [] : [`Idempotency-Key: ${idempotencyKey}`]),
        ...(body === undefined ? [] : ['Content-Type: application/json', '', body]),
        ...kept.map(([variable, at]) => `\n###\n@${variable} = {{${name}.response.body.$.${at}}}`),
      ].join('\n');
    },
  );
  return `${[head.join('\n'), ...blocks].join('\n\n')}\n`;
}

/** A Postman collection, version 2.1: a folder for each tag. */
function postman({ info }: Contract, requests: readonly Request[]) {
  const folders = [...new Set(requests.map(({ folder }) => folder))];
  return {
    info: { name: info.title, description: info.description, schema: POSTMAN_SCHEMA },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{PET_CATALOG_KEY}}', type: 'string' }] },
    variable: [
      { key: 'base_url', value: BASE_URL },
      { key: 'PET_CATALOG_KEY', value: '' },
      ...requests.flatMap(({ kept }) => kept.map(([key]) => ({ key, value: '' }))),
    ],
    item: folders.map((folder) => ({
      name: folder,
      item: requests.filter((request) => request.folder === folder).map(postmanItem),
    })),
  };
}

function postmanItem(request: Request) {
  const { name, title, method, path, inPath, inQuery, idempotencyKey, body } = request;
  const headers = {
    ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  };
  const segments = path.slice(1).replace(/\{(\w+)\}/g, ':$1');
  return {
    name,
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: postmanTests(request) } }],
    request: {
      method,
      description: title,
      header: Object.entries(headers).map(([key, value]) => ({ key, value })),
      url: {
        raw: `{{base_url}}/${segments}`,
        host: ['{{base_url}}'],
        path: segments.split('/'),
        ...(inPath.length > 0 && { variable: inPath.map(({ name: key }) => ({ key, value: `{{${key}}}` })) }),
        ...(inQuery.length > 0 && {
          query: inQuery.map((parameter) => ({
            key: parameter.name,
            value: parameter.value ?? '',
            description: parameter.description ?? '',
            disabled: parameter.value === undefined,
          })),
        }),
      },
      ...(body !== undefined && { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } }),
    },
    response: [],
  };
}

function postmanTests({ status, expected, kept }: Request): string[] {
  return [
    `pm.test('answers ${status}', () => pm.response.to.have.status(${status}));`,
    ...expected.map(({ path, value, variable }) => {
      const wanted = variable ? `pm.collectionVariables.get('${variable}')` : JSON.stringify(value);
      const found = `pm.response.json()${accessOf(path)}`;
      return `pm.test('${path} is ${value}', () => pm.expect(${found}).to.eql(${wanted}));`;
    }),
    ...kept.map(([name, path]) => `pm.collectionVariables.set('${name}', pm.response.json()${accessOf(path)});`),
  ];
}

/** A Bruno collection: a folder for each tag, a file for each request. */
function bruno({ info }: Contract, requests: readonly Request[]): [string, string][] {
  const settings = { version: '1', name: info.title, type: 'collection', ignore: ['node_modules', '.git'] };
  return [
    ['bruno/bruno.json', `${JSON.stringify(settings, null, 2)}\n`],
    [
      'bruno/collection.bru',
      `${[section('auth', ['mode: bearer']), section('auth:bearer', ['token: {{PET_CATALOG_KEY}}'])].join('\n\n')}\n`,
    ],
    [
      'bruno/environments/local.bru',
      `${section('vars', [`base_url: ${BASE_URL}`])}\nvars:secret [\n  PET_CATALOG_KEY\n]\n`,
    ],
    ...[...Map.groupBy(requests, ({ folder }) => folder)].flatMap(([folder, inFolder], place): [string, string][] => [
      [`bruno/${folder}/folder.bru`, `${section('meta', [`name: ${folder}`, `seq: ${place + 1}`])}\n`],
      // Counted within the folder, so that a new request leaves the files of other folders alone.
      ...inFolder.map((request, index): [string, string] => [
        `bruno/${folder}/${request.name}.bru`,
        brunoRequest(request, index + 1),
      ]),
    ]),
  ];
}

function brunoRequest(request: Request, place: number): string {
  const { name, title, method, path, inPath, inQuery, idempotencyKey, status, expected, kept, body } = request;
  const sent = inQuery.flatMap((parameter) => (parameter.value ? [`${parameter.name}=${parameter.value}`] : []));
  const url = `{{base_url}}${path.replace(/\{(\w+)\}/g, ':$1')}${sent.length > 0 ? `?${sent.join('&')}` : ''}`;
  const sections: [name: string, lines: readonly string[]][] = [
    ['meta', [`name: ${name}`, 'type: http', `seq: ${place}`]],
    [method.toLowerCase(), [`url: ${url}`, `body: ${body === undefined ? 'none' : 'json'}`, 'auth: inherit']],
    ['params:query', inQuery.map(({ name: key, value }) => (value ? `${key}: ${value}` : `~${key}: `))],
    ['params:path', inPath.map((parameter) => `${parameter.name}: {{${parameter.name}}}`)],
    ['headers', idempotencyKey === undefined ? [] : [`Idempotency-Key: ${idempotencyKey}`]],
    ['body:json', body?.split('\n') ?? []],
    ['vars:post-response', kept.map(([variable, at]) => `${variable}: res.body${accessOf(at)}`)],
    [
      'assert',
      [`res.status: eq ${status}`, ...expected.map((each) => `res.body${accessOf(each.path)}: eq ${each.value}`)],
    ],
    ['docs', [title]],
  ];
  const filled = sections.filter(([, lines]) => lines.length > 0);
  return `${filled.map(([heading, lines]) => section(heading, lines)).join('\n\n')}\n`;
}

function section(name: string, lines: readonly string[]): string {
  return [`${name} {`, ...lines.map((line) => `  ${line}`), '}'].join('\n');
}

if (import.meta.main) {
  const folder = join(ROOT, 'collections');
  rmSync(join(folder, 'bruno'), { recursive: true, force: true });
  for (const [file, text] of collections(JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
}
