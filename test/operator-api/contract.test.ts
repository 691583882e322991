import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { OPERATOR_ERROR_CODES } from '../../src/catalog/error.ts';
import { API_OPERATIONS } from '../../src/operator/api/app.ts';
import { operatorOpenApiDocument } from '../../src/operator/api/openapi.ts';
import { storeBan } from '../kit/bans.ts';
import { readContract } from '../kit/contract.ts';
import { apiClient } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';

/** The contract of the operator API. */

interface Contract {
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, Described> }>>;
  readonly components: { readonly schemas: Record<string, object> };
}

interface Described {
  readonly content?: Record<
    string,
    { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
  >;
}

const FILE = 'operator-openapi.json';

test('operator-openapi.json matches the routes, and the operator listener alone serves it', async () => {
  const generated = JSON.parse(JSON.stringify(operatorOpenApiDocument()));
  assert.deepEqual(JSON.parse(readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8')), generated);
  await using service = await testService();
  const { operatorUrl, url } = service;
  assert.deepEqual(await json(fetch(`${operatorUrl}/openapi.json`)), generated);
  const { info } = await json<{ info: { title: string } }>(fetch(`${new URL(url).origin}/openapi.json`));
  assert.doesNotMatch(info.title, /operator/);
});

test('every example is of its schema, and every code is in the set', () => {
  const contract = readContract<Contract>(FILE);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  let examples = 0;
  const codes = new Set<string>();
  for (const [path, operations] of Object.entries(contract.paths)) {
    for (const { operationId, responses } of Object.values(operations)) {
      for (const [status, { content }] of Object.entries(responses)) {
        const { schema, example, examples: named = {} } = content?.['application/json'] ?? { schema: {} };
        const values = [...(example === undefined ? [] : [example]), ...Object.values(named).map(({ value }) => value)];
        for (const code of Object.keys(named)) codes.add(code);
        for (const value of values) {
          examples += 1;
          assert.ok(ajv.validate(withComponents(schema, contract), value), `${path} ${operationId} ${status}`);
        }
      }
    }
  }
  assert.ok(examples > 50);
  for (const code of OPERATOR_ERROR_CODES) assert.ok(codes.has(code), code);
});

test('answers are of the schemas of the contract', async () => {
  await using service = await testService();
  const admin = await apiClient(service, 'admin');
  const contract = readContract<Contract>(FILE);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const { key, secret } = await service.issue();
  const now = service.clock.now().unix;
  await service.call(secret, '/categories', { headers: { 'x-request-id': 'one' } });
  const check = async (id: string, path: string, body?: unknown) => {
    const operation = API_OPERATIONS.find((each) => each.id === id);
    assert.ok(operation);
    const { status, schema } = operation.success;
    const answer = await admin.send(operation.method, path, body);
    assert.equal(answer.status, status, id);
    assert.ok(schema);
    const described = contract.paths[operation.path]?.[operation.method.toLowerCase()]?.responses[status]?.content;
    const found = await answer.json();
    const isValid = ajv.validate(withComponents(described?.['application/json']?.schema ?? {}, contract), found);
    assert.ok(isValid, `${id}: ${JSON.stringify(ajv.errors)} ${JSON.stringify(found)}`);
  };
  await check('createKey', '/keys', { name: 'x', plan: 'pro', expiresAt: '2099-01-01T00:00:00Z', owner: 'o' });
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'r' });
  await check('listKeys', '/keys');
  await check('getKey', `/keys/${key.id}`);
  await check('updateKey', `/keys/${key.id}`, { plan: 'pro' });
  await check('rotateKey', `/keys/${key.id}/rotate`);
  await check('listBans', '/bans');
  await check('listKeyRequests', `/keys/${key.id}/requests`);
  await check('getRequest', '/requests/one');
  await check('getUsage', '/usage');
  await check('getUsage', '/usage?by=minute');
  await check('revokeKey', `/keys/${key.id}/revoke`);
  await check('listAudit', '/audit');
});

/** The schema with the components that it refers to. */
function withComponents(schema: object, { components }: Contract): object {
  return { ...schema, components };
}
