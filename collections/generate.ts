import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { STORY } from './story.ts';

/**
 * Writes the Postman collection and the Arazzo description beside this file, out of the story and the contract. `npm run collections` runs it; a
 * test compares.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const POSTMAN_FILE = 'pet-catalog.postman_collection.json';
const ARAZZO_FILE = 'pet-catalog.arazzo.yaml';
const BASE_URL = 'http://127.0.0.1:8080/v1';
const POSTMAN_SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/** The parts of the contract that are read. */
export interface Contract {
  readonly info: { readonly title: string; readonly description: string; readonly version: string };
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
  readonly operation: string;
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

/** The Postman collection as text. */
export function postmanFile(contract: Contract): string {
  return `${JSON.stringify(postman(contract, requestsOf(contract)), null, 2)}\n`;
}

/** The Arazzo description (version 1.0.1) as text. */
export function arazzoFile(contract: Contract): string {
  return stringify(arazzo(contract, requestsOf(contract)), { lineWidth: 0 });
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
      operation: step.operation,
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

function arazzo({ info }: Contract, requests: readonly Request[]) {
  const setBy = new Map(requests.flatMap(({ name, kept }) => kept.map(([variable]) => [variable, name] as const)));
  const outputOf = (variable: string) => `$steps.${setBy.get(variable)}.outputs.${variable}`;
  return {
    arazzo: '1.0.1',
    info: {
      title: info.title,
      summary: 'A category, a pet, an order, and what is left of the limits',
      version: info.version,
    },
    sourceDescriptions: [{ name: 'catalog', url: '../openapi.json', type: 'openapi' }],
    workflows: [
      {
        workflowId: 'shop',
        inputs: { type: 'object', required: ['key'], properties: { key: { type: 'string', format: 'password' } } },
        steps: requests.map((request) => arazzoStep(request, outputOf)),
      },
    ],
  };
}

function arazzoStep(request: Request, outputOf: (variable: string) => string) {
  const { operation, name, title, inPath, inQuery, idempotencyKey, status, expected, kept, body } = request;
  const filled = (text: string) => text.replace(/\{\{(\w+)\}\}/g, (_, variable) => `{${outputOf(variable)}}`);
  const argumentOf = (value: unknown) => {
    const variable = variableOf(value);
    return variable ? outputOf(variable) : value;
  };
  const sent = [
    { name: 'Authorization', in: 'header', value: 'Bearer {$inputs.key}' },
    ...inPath.map((parameter) => ({ name: parameter.name, in: 'path', value: outputOf(parameter.name) })),
    ...inQuery.flatMap((parameter) =>
      parameter.value === undefined ? [] : [{ name: parameter.name, in: 'query', value: argumentOf(parameter.value) }],
    ),
    // Arazzo has no random values: a step whose key would be one goes without.
    ...(idempotencyKey?.startsWith('{{$') === false
      ? [{ name: 'Idempotency-Key', in: 'header', value: filled(idempotencyKey) }]
      : []),
  ];
  return {
    stepId: name,
    description: title,
    operationId: operation,
    parameters: sent,
    ...(body && {
      requestBody: {
        contentType: 'application/json',
        payload: JSON.parse(quoted(body), (_, each) => argumentOf(each)),
      },
    }),
    successCriteria: [
      { condition: `$statusCode == ${status}` },
      ...expected.map((each) => criterionOf(each, outputOf)),
    ],
    ...(kept.length > 0 && {
      outputs: Object.fromEntries(kept.map(([variable, path]) => [variable, `$response.body#${pointerOf(path)}`])),
    }),
  };
}

/** Arazzo compares no lengths; every list of the story has one item. */
function criterionOf({ path, value, variable }: Expected, outputOf: (variable: string) => string) {
  if (path === 'length') return { context: '$response.body', type: 'jsonpath', condition: '$[0]' };
  const literal = typeof value === 'string' ? `'${value}'` : value;
  return { condition: `$response.body#${pointerOf(path)} == ${variable ? outputOf(variable) : literal}` };
}

/** Undoes what `bodyOf` did for Postman. */
function quoted(body: string): string {
  return body.replace(/\{\{\w+\}\}/g, '"$&"');
}

/** A path of the body as a JSON pointer: `id` is `/id`, `[0].id` is `/0/id`. */
function pointerOf(path: string): string {
  return `/${path.replace(/^\[(\d+)\]\./, '$1/')}`;
}

if (import.meta.main) {
  const contract: Contract = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
  writeFileSync(join(ROOT, 'collections', POSTMAN_FILE), postmanFile(contract));
  writeFileSync(join(ROOT, 'collections', ARAZZO_FILE), arazzoFile(contract));
}
