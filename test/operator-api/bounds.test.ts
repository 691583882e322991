import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeBan } from '../kit/bans.ts';
import { readContract } from '../kit/contract.ts';
import { apiClient } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';
import { addUsage, usageAt } from '../kit/usage.ts';

/** The bounds and defaults that the contract names are those that the operator API has. */

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

interface Contract {
  readonly paths: Record<string, Record<string, { readonly operationId: string; readonly parameters?: Parameter[] }>>;
}

const MINUTE = 60;
const HOUR = 3_600;

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
  await using service = await testService();
  const client = await apiClient(service, 'admin');
  const { key } = await service.issue();
  let tried = 0;
  for (const [path, operations] of Object.entries(readContract<Contract>('operator-openapi.json').paths)) {
    for (const parameter of operations.get?.parameters ?? []) {
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
  const { paths } = readContract<Contract>('operator-openapi.json');
  const counts: Record<string, [found: number, promised: number | undefined]> = {};
  for (const [path, { get }] of Object.entries(paths)) {
    const limit = get?.parameters?.find(({ name }) => name === 'limit');
    if (!get || limit?.schema.default === undefined) continue;
    const items = await json<object[]>(client.send('GET', path.replace('{keyId}', key.id)));
    counts[get.operationId] = [items.length, limit.schema.default];
  }
  assert.deepEqual(counts, {
    listKeys: [20, 20],
    listBans: [20, 20],
    listKeyRequests: [100, 100],
    getUsage: [1_000, 1_000],
    listAudit: [20, 20],
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
    [24 * HOUR - MINUTE, 1],
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
