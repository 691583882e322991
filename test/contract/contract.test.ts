import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { NewCategory } from '../../src/catalog/category.ts';
import { ERROR_CODES } from '../../src/catalog/error.ts';
import { contractOf, PUBLISHED_SERVERS, publicApi } from '../../src/http/docs/openapi.ts';
import { OPERATIONS } from '../../src/http/operations.ts';
import { readContract } from '../kit/contract.ts';
import { testService } from '../kit/service.ts';

interface Contract {
  readonly security: unknown;
  readonly paths: Record<string, Record<string, ContractOperation>>;
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly headers: Record<string, object>;
  };
}

interface ContractOperation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly example?: unknown; readonly schema: object }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Record<string, { readonly headers: Record<string, unknown>; readonly content?: Content }>;
}

type Content = Record<string, { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }>;

const committed: Contract = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const resolved = readContract<Contract>();

test('openapi.json matches the routes; `npm run openapi` rewrites it', () => {
  const generated = contractOf(publicApi(OPERATIONS, PUBLISHED_SERVERS));
  assert.deepEqual(committed, JSON.parse(JSON.stringify(generated)));
});

test('every error code is in the contract, and the limit headers are on every response', () => {
  const { code } = (committed.components.schemas.Error as { properties: { code: { enum: string[] } } }).properties;
  assert.deepEqual(code.enum, ERROR_CODES);
  let responses = 0;
  for (const operation of contractOperations()) {
    for (const { headers } of Object.values(operation.responses)) {
      responses += 1;
      for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id']) {
        assert.ok(headers[name], `${operation.operationId} lacks ${name}`);
      }
    }
  }
  assert.ok(responses > 20);
});

test('every parameter has an example that validates, but the cursor, which a client copies', () => {
  const parameters = contractOperations().flatMap(({ parameters = [] }) => parameters);
  const names = (all: typeof parameters) => [...new Set(all.map(({ name }) => name))].sort();
  assert.deepEqual(names(parameters.filter(({ example }) => example === undefined)), ['cursor']);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const wrong = parameters.filter(({ schema, example }) => example !== undefined && !ajv.validate(schema, example));
  assert.deepEqual(names(wrong), []);
  assert.ok(names(parameters).length > 8);
});

test('no member of a body has a default, which some generators take for required', () => {
  const bodies = contractOperations().flatMap(({ requestBody }) => Object.values(requestBody?.content ?? {}));
  for (const { schema } of bodies) {
    const name = (schema as { $ref: string }).$ref.replace('#/components/schemas/', '');
    assert.doesNotMatch(JSON.stringify(committed.components.schemas[name]), /"default"/, name);
  }
  assert.ok(bodies.length > 4);
});

test('every example in the contract validates against its schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'contract', components: committed.components });
  let examples = 0;
  const validate = (content: Content = {}) => {
    for (const { schema, example, examples: more = {} } of Object.values(content)) {
      const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"contract#/components'));
      for (const value of [example, ...Object.values(more).map((each) => each.value)]) {
        if (value === undefined) continue;
        examples += 1;
        assert.ok(ajv.validate(local, value), ajv.errorsText());
      }
    }
  };
  for (const operation of contractOperations()) {
    validate(operation.requestBody?.content);
    for (const { content } of Object.values(operation.responses)) validate(content);
  }
  assert.ok(examples > 20);
});

test('the order of the example can be placed, and cancelled years later', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const send = (method: string, path: string, body?: unknown) =>
    service.call(secret, path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const create = async (path: string) => {
    const example = resolved.paths[path]?.post?.requestBody?.content['application/json']?.example;
    const response = await send('POST', path, example);
    assert.equal(response.status, 201, await response.text());
    return response.headers.get('location')?.replace('/v1', '') ?? '';
  };
  await create('/categories');
  await create('/pets');
  const order = await create('/store/orders');
  service.clock.advance(20 * 365 * 86_400);
  assert.equal((await send('DELETE', order)).status, 204);
});

test('the contract is served whole, as JSON and as YAML, and needs no key', async () => {
  await using service = await testService();
  const origin = service.url.replace('/v1', '');
  const response = await fetch(`${origin}/openapi.json`);
  const served = (await response.json()) as Contract;
  assert.equal(response.headers.get('x-ratelimit-limit'), null);
  const again = { headers: { 'if-none-match': response.headers.get('etag') ?? '' } };
  assert.equal((await fetch(`${origin}/openapi.json`, again)).status, 304);
  assert.deepEqual(served.paths, committed.paths);
  assert.deepEqual(parse(await (await fetch(`${origin}/openapi.yaml`)).text()), served);
});

function contractOperations(): ContractOperation[] {
  return Object.values(resolved.paths).flatMap((path) => Object.values(path));
}

test('the contract and the limits page name the characters that a text may not hold in the same words', () => {
  const page = readFileSync(new URL('../../src/http/docs/pages/limits.md', import.meta.url), 'utf8');
  const { name, description } = NewCategory.properties;
  for (const [field, { 'x-violation': rules }] of Object.entries({ name, description })) {
    const words = Object.values(rules).findLast((rule) => rule.includes('control'));
    const line = page.split('\n- ').find((each) => each.startsWith(`\`${field}\``)) ?? '';
    assert.ok(line.replaceAll(/\s+/g, ' ').includes(`${words}`.replace('send ', '')), `${field}: ${words}`);
  }
});
