import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { get, post, type Row, rowsOf, tryRow } from '../kit/edge/corpus.ts';
import { json, testService } from '../kit/service.ts';

const PIECES = 7;
const TOO_LARGE =
  '431 headers_too_large: The request line and headers exceed 16384 bytes or 100 headers; send less, closed';
const members = Array.from({ length: 20_000 }, (_, index) => `"${index}":0`).join();
const manyMembers = `{"name":"Dog","x":{${members}}}`;

function headers(count: number, value = 'b'): string[] {
  return Array.from({ length: count }, (_, index) => `X-${index}: ${value}`);
}

/** What is too long for the table. */
const LONG: readonly Row[] = [
  ['100 headers', get(...headers(98)), '200, open'],
  ['101 headers', get(...headers(99)), TOO_LARGE],
  ['900 headers', get(...headers(898)), TOO_LARGE],
  ['A second Authorization behind 200 headers', get(...headers(200), 'Authorization: Bearer other'), TOO_LARGE],
  ['Headers over 16 KiB together', get(...headers(40, 'b'.repeat(500))), TOO_LARGE],
  ['A member with 20,000 members', post(manyMembers, `Content-Length: ${manyMembers.length}`), '201, open'],
];

const table = rowsOf(readFileSync(join(import.meta.dirname, 'corpus.txt'), 'utf8'));

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } });

describe('bytes in, answers out', () => {
  const rows = [...table, ...LONG];
  for (const row of rows) {
    test(`${row[0]} gets ${row[2]}`, async () => {
      const { whole } = row[3] ?? {};
      for (const pieces of whole ? [1] : [1, PIECES]) await tryRow(service, secret, { row, pieces });
    });
  }

  test('no two rows are the same, and none was a defect', () => {
    assert.equal(new Set(rows.map(([, bytes, , options]) => bytes + options?.halfClose)).size, rows.length);
    assert.deepEqual(service.events.failures, []);
  });
});

test('the table is read whole', () => {
  assert.ok(table.length > 350, `${table.length} rows`);
});

test('a script that says patch to fetch, which sends it as it is, is told of capitals', async () => {
  const { message } = await json<{ message: string }>(fetch(`${service.url}/pets/1`, { method: 'patch' }));
  assert.equal(message, 'The method is not supported; methods are in capitals, such as PATCH');
});
