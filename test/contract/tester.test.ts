import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import { after, describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { readContract } from '../kit/contract.ts';
import { testService, UNLIMITED } from '../kit/service.ts';

/** Generates valid and invalid requests from openapi.json alone, and checks every answer against it. */

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Record<string, Schema>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
}

interface Operation {
  readonly operationId: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { readonly schema: object }>; readonly headers: object }
  >;
}

const contract: { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } } =
  readContract();
const operations = Object.entries(contract.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'contract', components: contract.components });

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue(UNLIMITED);
// Ids that generated requests are likely to name.
for (const [path, body] of [
  ['/categories', { name: 'Dog' }],
  ['/pets', { name: 'Rex', categoryId: 1 }],
  ['/store/orders', { petId: 1, quantity: 1 }],
] as const)
  assert.equal((await service.send(secret, 'POST', path, body)).status, 201);

describe('a tester that knows only the contract', () => {
  const send = (method: string, path: string, body?: unknown) => service.send(secret, method, path, body);

  for (const { path, method, operation } of operations) {
    const bodySchema =
      operation.requestBody && resolve(operation.requestBody.content['application/json']?.schema ?? {});

    test(`${operation.operationId}: valid requests get answers that the contract declares`, async () => {
      const query = Object.fromEntries(
        (operation.parameters ?? [])
          .filter((each) => each.in === 'query')
          .map((each) => [each.name, valid(each.schema)]),
      );
      const request = fc.record({
        body: bodySchema ? valid(bodySchema) : fc.constant(undefined),
        query: fc.record(query, { requiredKeys: [] }),
        id: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1 })),
      });
      const run = fc.asyncProperty(request, async ({ body, query: asked, id }) => {
        const parameters = new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)]));
        const address = path.replace(/\{\w+\}/, String(id)) + (parameters.size > 0 ? `?${parameters}` : '');
        const response = await send(method, address, body);
        await assertForeseen(operation, response);
        assert.ok([200, 201, 204, 400, 404, 409].includes(response.status), `${response.status} for a good request`);
        // A good body may still name what does not exist; nothing else about it may be refused.
        if (response.status === 400)
          assert.match(JSON.stringify(await bodyOf(response)), /does not exist|cursor|in the past/);
      });
      await fc.assert(run, { numRuns: 15 });
    });

    if (!bodySchema) continue;
    test(`${operation.operationId}: bodies that the contract forbids get 400`, async () => {
      const run = fc.asyncProperty(invalid(bodySchema), async (body) => {
        fc.pre(!checkOf(bodySchema)(body));
        const response = await send(method, path.replace(/\{\w+\}/, '1'), body);
        assert.equal(response.status, 400, JSON.stringify(body));
        await assertForeseen(operation, response);
      });
      await fc.assert(run, { numRuns: 20 });
    });
  }

  test('every path refuses undeclared methods and names the declared ones', async () => {
    for (const [path, methods] of Object.entries(contract.paths)) {
      const given = new Set(Object.keys(methods).map((method) => method.toUpperCase()));
      if (given.has('GET')) given.add('HEAD');
      given.add('OPTIONS');
      // Node's client cannot send a CONNECT to a path, and undici sends no TRACE.
      const others = METHODS.filter((method) => !given.has(method) && !['CONNECT', 'TRACE'].includes(method));
      for (const method of others) {
        const response = await send(method, path.replace(/\{\w+\}/, '1')).catch(() => undefined);
        if (!response) continue;
        assert.equal(response.status, 405, `${method} ${path}`);
        assert.deepEqual(new Set(response.headers.get('allow')?.split(', ')), given);
      }
    }
  });

  const bodies = new WeakMap<Response, Promise<unknown>>();
  function bodyOf(response: Response): Promise<unknown> {
    const known = bodies.get(response) ?? response.text().then((text) => (text === '' ? undefined : JSON.parse(text)));
    bodies.set(response, known);
    return known;
  }

  async function assertForeseen(operation: Operation, response: Response): Promise<void> {
    const foreseen = operation.responses[response.status];
    assert.ok(foreseen, `${operation.operationId} answers ${response.status}, which is not in the contract`);
    for (const [name, header] of Object.entries(foreseen.headers)) {
      const isAlways = '$ref' in (header as object);
      if (isAlways) assert.notEqual(response.headers.get(name), null, `${name} is missing`);
    }
    const schema = foreseen.content?.['application/json']?.schema;
    const body = await bodyOf(response);
    if (!schema) return assert.equal(body, undefined);
    const check = checkOf(schema);
    assert.ok(check(body), `${ajv.errorsText(check.errors)}: ${JSON.stringify(body)}`);
  }
});

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (contract.components.schemas[name] ?? assert.fail(`no schema ${name}`));
}

const checks = new WeakMap<object, ReturnType<typeof ajv.compile>>();

/** The check of a part of the contract, compiled once. */
function checkOf(schema: object): ReturnType<typeof ajv.compile> {
  const local = () => JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"contract#/components'));
  const check = checks.get(schema) ?? ajv.compile(local());
  checks.set(schema, check);
  return check;
}

/** Values that fit a schema. */
function valid(reference: Schema): fc.Arbitrary<unknown> {
  const schema = resolve(reference);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'integer')
    return fc.integer({ min: schema.minimum ?? -10, max: Math.min(schema.maximum ?? 10, 2 ** 31) });
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'array')
    return fc.array(valid(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: schema.maxItems ?? 10 });
  if (schema.type === 'object') {
    const fields = Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, each]) => [name, valid(each)]),
    );
    return fc
      .record(fields, { requiredKeys: [...(schema.required ?? [])] })
      .filter((value) => Object.keys(value).length >= (schema.minProperties ?? 0));
  }
  if (schema.format === 'date-time')
    return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
  const fits = checkOf(schema);
  const text = schema.pattern === undefined ? fc.string() : fc.stringMatching(new RegExp(schema.pattern, 'u'));
  return text.filter((value) => fits(value) && value.isWellFormed());
}

/** Values that mostly do not fit a schema: a member gone, of another type, or out of its range. */
function invalid(schema: Schema): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(
    ...[fc.constantFrom<unknown>(null, true, [], {}, '', ' ', '\u0000', -1, 0, 1.5, 1e300, 'x'.repeat(3_000))],
    fc.jsonValue(),
  );
  const names = Object.keys(schema.properties ?? {});
  const spoiled = fc
    .tuple(valid(schema), fc.constantFrom(...names), fc.option(wrong, { nil: undefined }))
    .map(([good, name, value]) => ({ ...(good as object), [name]: value }));
  return fc.oneof({ weight: 4, arbitrary: spoiled }, { weight: 1, arbitrary: fc.jsonValue() });
}
