import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Writes the collections for HTTP clients beside this file, out of the contract: an `.http` file, a Bruno folder and a
 * Postman file. `npm run collections` runs it; a test compares.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BASE_URL = 'http://127.0.0.1:8080/v1';
const POSTMAN_SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** The parts of the contract that are read. */
export interface Contract {
  readonly info: { readonly title: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
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
  readonly schema: { readonly $ref: string };
  readonly example: Readonly<Record<string, unknown>>;
}

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly format?: string }>>;
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
  readonly inQuery: readonly Parameter[];
  /** JSON in lines, or undefined for none. */
  readonly body: string | undefined;
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

function requestsOf({ paths, components }: Contract): Request[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const { operationId, summary, deprecated = false, parameters = [], tags, requestBody } = operation;
      return {
        name: operationId,
        title: deprecated ? `${summary} (deprecated)` : summary,
        folder: tags[0] ?? 'other',
        method: method.toUpperCase(),
        path,
        inPath: parameters.filter((parameter) => parameter.in === 'path'),
        inQuery: parameters.filter((parameter) => parameter.in === 'query'),
        body: requestBody && bodyOf(requestBody.content['application/json'], components.schemas),
      };
    }),
  );
}

/** The example of the contract, without fixed dates, which would expire. */
function bodyOf({ schema, example }: JsonContent, schemas: Contract['components']['schemas']): string {
  const properties = schemas[schema.$ref.split('/').at(-1) ?? '']?.properties ?? {};
  const lasting = Object.entries(example).filter(([name]) => properties[name]?.format !== 'date-time');
  return JSON.stringify(Object.fromEntries(lasting), null, 2);
}

/** A file for the REST clients of editors: requests set apart by `###`. */
function httpFile({ info }: Contract, requests: readonly Request[]): string {
  const variables = [...new Set(requests.flatMap(({ inPath }) => inPath.map(({ name }) => name)))];
  const head = [
    `# ${info.title}`,
    '# The key comes from the environment variable PET_CATALOG_KEY.',
    '',
    `@base_url = ${BASE_URL}`,
    '@PET_CATALOG_KEY = {{$processEnv PET_CATALOG_KEY}}',
    ...variables.map((name) => `@${name} = 1`),
  ];
  const blocks = requests.map(({ name, title, method, path, inQuery, body }) =>
    [
      `### ${title}`,
      `# @name ${name}`,
      ...inQuery.map((parameter) => `# ?${parameter.name}= ${parameter.description ?? ''}`.trimEnd()),
      `${method} {{base_url}}${path.replace(/\{(\w+)\}/g, '{{$1}}')}`,
      'Authorization: Bearer {{PET_CATALOG_KEY}}',
      ...(body === undefined ? [] : ['Content-Type: application/json', '', body]),
    ].join('\n'),
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
    ],
    item: folders.map((folder) => ({
      name: folder,
      item: requests.filter((request) => request.folder === folder).map(postmanItem),
    })),
  };
}

function postmanItem({ name, title, method, path, inPath, inQuery, body }: Request) {
  const segments = path.slice(1).replace(/\{(\w+)\}/g, ':$1');
  return {
    name,
    request: {
      method,
      description: title,
      header: body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }],
      url: {
        raw: `{{base_url}}/${segments}`,
        host: ['{{base_url}}'],
        path: segments.split('/'),
        ...(inPath.length > 0 && { variable: inPath.map((parameter) => ({ key: parameter.name, value: '1' })) }),
        ...(inQuery.length > 0 && {
          query: inQuery.map((parameter) => ({
            key: parameter.name,
            value: '',
            description: parameter.description ?? '',
            disabled: true,
          })),
        }),
      },
      ...(body !== undefined && { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } }),
    },
    response: [],
  };
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
    ...[...Map.groupBy(requests, ({ folder }) => folder)].flatMap(([folder, inFolder]) =>
      // Counted within the folder, so that a new request leaves the files of other folders alone.
      inFolder.map((request, index): [string, string] => [
        `bruno/${folder}/${request.name}.bru`,
        brunoRequest(request, index + 1),
      ]),
    ),
  ];
}

function brunoRequest({ name, title, method, path, inPath, inQuery, body }: Request, place: number): string {
  const url = `{{base_url}}${path.replace(/\{(\w+)\}/g, ':$1')}`;
  const sections = [
    section('meta', [`name: ${name}`, 'type: http', `seq: ${place}`]),
    section(method.toLowerCase(), [`url: ${url}`, `body: ${body === undefined ? 'none' : 'json'}`, 'auth: inherit']),
  ];
  if (inQuery.length > 0) {
    const off = inQuery.map((parameter) => `~${parameter.name}: `);
    sections.push(section('params:query', off));
  }
  if (inPath.length > 0) {
    const values = inPath.map((parameter) => `${parameter.name}: 1`);
    sections.push(section('params:path', values));
  }
  if (body !== undefined) sections.push(section('body:json', body.split('\n')));
  sections.push(section('docs', [title]));
  return `${sections.join('\n\n')}\n`;
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
