import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { OPERATOR_ERROR_CODES } from '../../src/catalog/error.ts';
import { operatorOpenApiDocument } from '../../src/operator/api/openapi.ts';
import { API_OPERATIONS } from '../../src/operator/api/server.ts';
import { storeBan } from '../kit/bans.ts';
import { readContract } from '../kit/contract.ts';
import { apiClient } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';
import { addUsage, usageAt } from '../kit/usage.ts';

/** The contract of the operator API: its examples, its bounds, its reference, and that the service keeps it. */

interface Contract {
  readonly paths: Record<string, Record<string, Described>>;
  readonly components: { readonly schemas: Record<string, object> };
}

interface Described {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Record<string, { readonly content?: Record<string, Content> }>;
}

interface Content {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Record<string, { value: unknown }>;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema: {
    readonly enum?: readonly string[];
    readonly maxLength?: number;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly default?: number;
  };
}

const FILE = 'operator-openapi.json';
const CONTRACT = readContract<Contract>(FILE);
const OPERATIONS = Object.entries(CONTRACT.paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, described]) => ({ path, method, ...described })),
);
const HOUR = 3_600;
const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** Says what is wrong with a value of a schema of the contract, which is compiled once. */
function mistakesIn(value: unknown, schema: object = {}): string {
  Object.assign(schema, { components: CONTRACT.components });
  return ajv.validate(schema, value) ? '' : `${JSON.stringify(ajv.errors)} ${JSON.stringify(value)}`;
}

/** One for the tests that change nothing, so that it renders its reference once. */
const service = await testService();
after(() => service[Symbol.asyncDispose]());

test('operator-openapi.json matches the routes, and the operator listener alone serves it', async () => {
  const generated = JSON.parse(JSON.stringify(operatorOpenApiDocument()));
  assert.deepEqual(JSON.parse(readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8')), generated);
  const { operatorUrl, url } = service;
  assert.deepEqual(await json(fetch(`${operatorUrl}/openapi.json`)), generated);
  const { info } = await json<{ info: { title: string } }>(fetch(`${new URL(url).origin}/openapi.json`));
  assert.doesNotMatch(info.title, /operator/);
});

test('every example is of its schema, and every code is in the set', () => {
  let examples = 0;
  const codes = new Set<string>();
  for (const { operationId, responses } of OPERATIONS) {
    for (const [status, { content }] of Object.entries(responses)) {
      const { schema, example, examples: named = {} } = content?.['application/json'] ?? { schema: {} };
      for (const code of Object.keys(named)) codes.add(code);
      const values = [...(example === undefined ? [] : [example]), ...Object.values(named).map(({ value }) => value)];
      for (const value of values) assert.equal(mistakesIn(value, schema), '', `${operationId} ${status}`);
      examples += values.length;
    }
  }
  assert.ok(examples > 50);
  for (const code of OPERATOR_ERROR_CODES) assert.ok(codes.has(code), code);
});

test('answers are of the schemas of the contract', async () => {
  const admin = await apiClient(service, 'admin');
  const { key, secret } = await service.issue();
  const now = service.clock.now().unix;
  await service.call(secret, '/categories', { headers: { 'x-request-id': 'one' } });
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'r' });
  const made = { name: 'x', plan: 'pro', expiresAt: '2099-01-01T00:00:00Z', owner: 'o' };
  for (const [id, path, body] of [
    ['createKey', '/keys', made],
    ['listKeys', '/keys'],
    ['getKey', `/keys/${key.id}`],
    ['updateKey', `/keys/${key.id}`, { plan: 'pro' }],
    ['rotateKey', `/keys/${key.id}/rotate`],
    ['listBans', '/bans'],
    ['listKeyRequests', `/keys/${key.id}/requests`],
    ['getRequest', '/requests/one'],
    ['getUsage', '/usage'],
    ['getUsage', '/usage?by=minute'],
    ['revokeKey', `/keys/${key.id}/revoke`],
    ['listAudit', '/audit'],
  ] as const) {
    const operation = API_OPERATIONS.find((each) => each.id === id) ?? assert.fail(id);
    const answer = await admin.send(operation.method, path, body);
    assert.equal(answer.status, operation.success.status, id);
    const { responses } = OPERATIONS.find(({ operationId }) => operationId === id) ?? assert.fail(id);
    const content = responses[answer.status]?.content?.['application/json'] ?? assert.fail(id);
    assert.equal(mistakesIn(await answer.json(), content.schema), '', id);
  }
});

/** Each parameter of a query with values that its schema allows, and with some that it does not. */
function* values({ schema }: Parameter): Generator<[value: string, status: number]> {
  const { enum: choices = [], maxLength, minimum, maximum } = schema;
  for (const choice of choices) yield [choice, 200];
  if (choices.length > 0) yield [`${choices[0]}s`, 400];
  if (maxLength !== undefined) yield ['x'.repeat(maxLength), 200];
  if (maxLength !== undefined) yield ['x'.repeat(maxLength + 1), 400];
  if (minimum !== undefined) yield [`${minimum}`, 200];
  if (minimum !== undefined) yield [`${minimum - 1}`, 400];
  if (maximum !== undefined) yield [`${maximum}`, 200];
  if (maximum !== undefined) yield [`${maximum + 1}`, 400];
}

test('every parameter takes the values that its schema allows, to the bound, and no others', async () => {
  const client = await apiClient(service, 'admin');
  const { key } = await service.issue();
  let tried = 0;
  for (const { path, method, parameters = [] } of OPERATIONS) {
    for (const parameter of method === 'get' ? parameters : []) {
      if (parameter.in !== 'query') continue;
      for (const [value, status] of values(parameter)) {
        const query = new URLSearchParams({ [parameter.name]: value });
        const answer = await client.send('GET', `${path.replace('{keyId}', key.id)}?${query}`);
        assert.equal(answer.status, status, `${path} ${query}`);
        tried += 1;
      }
    }
  }
  assert.ok(tried > 40, `${tried}`);
});

test('a list without a limit has as many items as the contract says', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'admin');
  const now = service.clock.now().unix;
  const { key, secret } = await service.issue({ plan: 'pro' });
  for (let index = 0; index < 21; index += 1) {
    const other = (await service.issue()).key;
    await storeBan(service.storage, { keyId: other.id, startedAt: now, endsAt: now + HOUR, level: 1, reason: 'r' });
  }
  for (let index = 0; index < 101; index += 1) await service.call(secret, '/rate_limit');
  const keyIds = Array.from({ length: 1_001 }, (_, index) => `key_${index}`);
  await addUsage(
    service.storage,
    now,
    keyIds.map((keyId) => usageAt(keyId, now)),
  );
  const counts: Record<string, [found: number, promised: number | undefined]> = {};
  for (const { operationId, path, method, parameters = [] } of OPERATIONS) {
    const limit = parameters.find(({ name }) => name === 'limit');
    if (method !== 'get' || limit?.schema.default === undefined) continue;
    const items = await json<object[]>(client.send('GET', path.replace('{keyId}', key.id)));
    counts[operationId] = [items.length, limit.schema.default];
  }
  assert.deepEqual(counts, {
    listKeys: [20, 20],
    listBans: [20, 20],
    listKeyRequests: [100, 100],
    getUsage: [1_000, 1_000],
    listAudit: [20, 20],
    listCategories: [0, 20],
    listOrders: [0, 20],
    listPets: [0, 20],
    listRequests: [20, 20],
    listSessions: [0, 20],
    listTokens: [1, 20],
  });
});

test('what is not sent has the default that the contract names: 24 hours of usage, and of grace', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const { key } = await service.issue();
  const now = service.clock.now().unix;
  for (const [ago, served] of [
    [24 * HOUR - 60, 1],
    [25 * HOUR, 10],
  ] as const) {
    const counts = { served, clientErrors: 2 * served, refused: 3 * served, serverErrors: 4 * served };
    await addUsage(service.storage, now - ago, [{ keyId: key.id, ...counts, first: now - ago, last: now - ago + 9 }]);
  }
  assert.deepEqual(await json(client.send('GET', '/usage')), [
    {
      id: key.id,
      name: 'test',
      owner: null,
      served: 1,
      clientErrors: 2,
      refused: 3,
      serverErrors: 4,
      first: '2025-12-31T12:01:00Z',
      last: '2025-12-31T12:01:09Z',
    },
  ]);
  assert.deepEqual(await json(client.send('GET', `/usage?key=${key.id}&by=day&since=2d`)), [
    { at: '2025-12-31T00:00:00Z', served: 11, clientErrors: 22, refused: 33, serverErrors: 44 },
  ]);
  await client.send('POST', `/keys/${key.id}/rotate`);
  const { graces } = await json<{ graces: object[] }>(client.send('GET', `/keys/${key.id}`));
  assert.deepEqual(graces, [{ prefix: key.prefix, endsAt: '2026-01-02T12:00:00Z' }]);
});

test('the reference has every operation with its path, errors and samples, without a token and without scripts', async () => {
  const response = await fetch(`${service.operatorUrl}/docs/`);
  assert.equal(response.status, 200);
  const text = await response.text();
  const [intro = ''] = /<div class="intro">[\s\S]*?<section class="group"/.exec(text) ?? [];
  for (const { path, method, operationId, requestBody, responses } of OPERATIONS) {
    const [section = ''] =
      new RegExp(`<section id="${operationId}" class="operation"[\\s\\S]*?</section>`).exec(text) ?? [];
    assert.ok(section.includes(`<code>/api/v1${path}</code>`), operationId);
    const errors = Object.values(responses).flatMap(({ content }) =>
      Object.keys(content?.['application/json']?.examples ?? {}),
    );
    assert.ok(errors.length > 0);
    for (const code of errors) {
      const shown = [intro, section].filter((part) => part.includes(`<code>${code}</code>`));
      // Operations with values name the error that tells of one that is wrong once more.
      const isTwice = code === 'validation_failed' && section.includes(`<code>${code}</code>`);
      assert.equal(shown.length, isTwice ? 2 : 1, `${operationId} ${code}`);
    }
    const isPlainPost = method === 'post' && !requestBody;
    assert.equal(section.includes('-X POST'), isPlainPost, `${operationId}: curl sends GET without a body`);
    const languages = [...section.matchAll(/<div data-language="(\w+)">([\s\S]*?)<\/div>/g)];
    assert.equal(languages.map(([, language]) => language).join(), 'sh,js,py,go');
    for (const [sample] of languages)
      assert.ok(sample.includes(`${service.operatorUrl}/api/v1/`) && sample.includes('PET_CATALOG_TOKEN'), sample);
  }
  assert.ok(intro.includes('<code>missing_token</code>'), 'what every operation can answer is said once');
  assert.doesNotMatch(text, /PET_CATALOG_KEY|Any valid/);
});

test('the reference links to nothing that is not served there, and its policy allows no other origin', async () => {
  const response = await fetch(`${service.operatorUrl}/docs`);
  const text = await response.text();
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = new Set([...text.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link));
  assert.ok(links.size > 20, `only ${links.size} links`);
  for (const link of links) {
    const { origin, pathname, hash } = new URL(link, `${service.operatorUrl}/docs`);
    assert.equal(origin, service.operatorUrl, link);
    if (hash) assert.ok(pathname === '/docs' && ids.has(hash.slice(1)), link);
    else assert.ok((await fetch(`${origin}${pathname}`)).ok, link);
  }
  const policy = response.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
});
