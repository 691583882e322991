import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../transport/exchange.ts';
import { LIST_CATEGORIES } from './categories.ts';
import { nextPage, pageAnswer, placeAnswer, readLimit, readPage, readPlace } from './paging.ts';

const query = (text: string) => new URLSearchParams(text);
const invalid = (message: string) => ({ code: 'validation_failed', message });
const asked = (path: string, text: string) =>
  ({ path, request: { headers: {} }, query: query(text) }) as unknown as Exchange;

test('a page is the first twenty, unless the query says otherwise', () => {
  assert.deepEqual(readPage(query('')), { limit: 20, after: 0 });
  assert.deepEqual(readPage(query('limit=100&cursor=after_z')), { limit: 100, after: 35 });
  assert.deepEqual(readPage(query('limit=1000'), 1_000, 500), { limit: 1_000, after: 0 });
  assert.deepEqual(readPage(query(''), 1_000, 500), { limit: 500, after: 0 });
});

test('a limit is a whole number from 1 to the most', () => {
  const limitOf = (text: string, most: number) => readLimit(new URLSearchParams({ limit: text }), most);
  assert.deepEqual([limitOf('1', 100), limitOf('100', 100), limitOf('999999999', 1e9)], [1, 100, 999_999_999]);
  for (const text of ['0', '101', '01', '+1', '1.0', '1e1', ' 1', '1 ', '', '1234567890', 'x1', '1x']) {
    assert.throws(
      () => limitOf(text, 100),
      invalid(`limit is ${JSON.stringify(text)}; send a whole number from 1 to 100`),
    );
  }
  assert.throws(() => limitOf('1234567890', 1e10), { code: 'validation_failed' });
});

test('a cursor is what a Link holds, and nothing else', () => {
  for (const after of [1, 36, 1_000_000, Number.MAX_SAFE_INTEGER]) {
    const [name, link = ''] = nextPage(asked('/v1/pets', 'limit=7&status=sold&cursor=after_1'), { limit: 2, after });
    const cursor = new URLSearchParams(/\?(.*)>/.exec(link)?.[1]).get('cursor');
    assert.equal(name, 'Link');
    assert.equal(link, `</v1/pets?status=sold&limit=2&cursor=${cursor}>; rel="next"`);
    assert.deepEqual(readPage(query(`cursor=${cursor}`)).after, after);
  }
  for (const cursor of [
    '',
    'after_',
    'after_0',
    'after_01',
    'after_A',
    'xafter_1',
    'after_1x!',
    'after_zzzzzzzzzzz',
    'after_100000000000',
    '1',
  ]) {
    assert.throws(
      () => readPage(query(`cursor=${cursor}`)),
      invalid(`cursor is ${JSON.stringify(cursor)}; copy it from the Link header of the previous page`),
    );
  }
});

test('a page that is not the last has a Link to the next, with the filters that were sent', () => {
  const answer = (text: string, found: readonly { id: number }[]) => {
    const { status, body, headers } = pageAnswer(asked('/v1/pets', text), { limit: 2, found, idOf: ({ id }) => id });
    return { status, body, link: headers?.slice(2) };
  };
  const items = [{ id: 4 }, { id: 40 }, { id: 41 }];
  const first = { status: 200, body: '[{"id":4},{"id":40}]' };
  const link = (kept: string) => ['Link', `</v1/pets?${kept}limit=2&cursor=after_14>; rel="next"`];
  assert.deepEqual(answer('', items), { ...first, link: link('') });
  assert.deepEqual(answer('limit=2&status=sold', items), { ...first, link: link('status=sold&') });
  assert.deepEqual(answer('ids=4&ids=40,41', items), { ...first, link: link('ids=4&ids=40%2C41&') });
  assert.deepEqual(answer('status=sold', items.slice(0, 2)), { ...first, link: [] });
  assert.deepEqual(answer('', []), { status: 200, body: '[]', link: [] });
});

test('categories after a cursor are a page of a thousand, unless a limit is sent', () => {
  const pages: object[] = [];
  const page = (wanted: object) => {
    pages.push(wanted);
    return { body: [], moreAfter: undefined };
  };
  for (const query of ['cursor=after_1', 'cursor=after_1&limit=7', 'limit=1000'])
    LIST_CATEGORIES.handle({ categories: { page } } as never, asked('/v1/categories', query));
  assert.deepEqual(pages, [
    { limit: 1_000, after: 1 },
    { limit: 7, after: 1 },
    { limit: 1_000, after: 0 },
  ]);
});

test('a place is a number and an id, and a Link to it keeps the limit that was sent', () => {
  const exchange = asked('/api/v1/keys', 'limit=7&plan=pro&cursor=1.x');
  const body = '[1]';
  const link = '</api/v1/keys?limit=7&plan=pro&cursor=rs.key_a-1>; rel="next"';
  assert.deepEqual(placeAnswer(exchange, [1], { number: 1000, id: 'key_a-1' }), {
    status: 200,
    headers: ['Link', link],
    body,
  });
  assert.deepEqual(placeAnswer(exchange, [1], undefined), { status: 200, headers: [], body });
  assert.deepEqual(readPlace(query('cursor=rs.key_a-1')), { number: 1000, id: 'key_a-1' });
  assert.equal(readPlace(query('')), undefined);
  // An owner of 255 characters of four bytes each, in base64url.
  const owner = Buffer.from('🐕'.repeat(255)).toString('base64url');
  assert.deepEqual(readPlace(query(`cursor=zzzzzzzzzz.${owner}`)), { number: 36 ** 10 - 1, id: owner });
  for (const cursor of ['', 'x', '.x', '-1.x', 'after_1', '1.x y']) {
    const message = `cursor is ${JSON.stringify(cursor)}; copy it from the Link header of the previous page`;
    assert.throws(() => readPlace(new URLSearchParams({ cursor })), invalid(message));
  }
});
