import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../transport/exchange.ts';
import {
  checkQuery,
  nextPage,
  pageAnswer,
  readId,
  readIdParameter,
  readIdsParameter,
  readLimit,
  readPage,
  readParameter,
} from './paging.ts';

const query = (text: string) => new URLSearchParams(text);
const invalid = (message: string) => ({ code: 'validation_failed', message });

test('a parameter that the operation does not have is named, with the one that is meant', () => {
  const parameter = (name: string, schema = {}) => ({ name, description: '', schema });
  const queryParameters = [
    parameter('ids', { type: 'array', items: {} }),
    ...['status', 'categoryId', 'limit', 'cursor'].map((name) => parameter(name)),
  ];
  const check = (text: string) => checkQuery({ id: 'listPets', queryParameters }, query(text));
  check('');
  check('ids=1&ids=2&status=x&cursor=');
  for (const [sent, message] of [
    ['category_id=1', 'category_id is no parameter of listPets; did you mean categoryId?'],
    ['limit=1&CATEGORYID=1', 'CATEGORYID is no parameter of listPets; did you mean categoryId?'],
    ['categoryld', 'categoryld is no parameter of listPets; did you mean categoryId?'],
    ['category=1', 'category is no parameter of listPets; did you mean categoryId?'],
    ['id=1', 'id is no parameter of listPets; did you mean ids?'],
    ['ids[]=1', 'ids[] is no parameter of listPets; send ids=1,2'],
    ['ids%5B0%5D=1', 'ids[0] is no parameter of listPets; send ids=1,2'],
    ['status[]=sold', 'status[] is no parameter of listPets; did you mean status?'],
    ['colour=red', 'colour is no parameter of listPets; it has ids, status, categoryId, limit, cursor'],
    ['x%0A=petcat', '"x\\n" is no parameter of listPets; it has ids, status, categoryId, limit, cursor'],
    ['=1', '"" is no parameter of listPets; it has ids, status, categoryId, limit, cursor'],
  ] as const) {
    assert.throws(() => check(sent), invalid(message), sent);
  }
  const none = () => checkQuery({ id: 'createPet' }, query('limit=1'));
  assert.throws(none, invalid('limit is no parameter of createPet; it has none'));
  const long = () => check(`${'x'.repeat(5_000)}=1`);
  assert.throws(long, { message: /^"x{40}…" is no parameter of listPets; it has ids/ });
});

test('a page is the first twenty, unless the query says otherwise', () => {
  assert.deepEqual(readPage(query('')), { limit: 20, after: 0 });
  assert.deepEqual(readPage(query('limit=100&cursor=after_z')), { limit: 100, after: 35 });
  assert.deepEqual(readPage(query('limit=1000'), 1_000, 500), { limit: 1_000, after: 0 });
  assert.deepEqual(readPage(query(''), 1_000, 500), { limit: 500, after: 0 });
});

test('a limit is a whole number from 1 to the most', () => {
  assert.deepEqual([readLimit('1', 100), readLimit('100', 100), readLimit('999999999', 1e9)], [1, 100, 999_999_999]);
  for (const text of ['0', '101', '01', '+1', '1.0', '1e1', ' 1', '1 ', '', '1234567890', 'x1', '1x']) {
    assert.throws(
      () => readLimit(text, 100),
      invalid(`limit is ${JSON.stringify(text)}; send a whole number from 1 to 100`),
    );
  }
  assert.throws(() => readLimit('1234567890', 1e10), { code: 'validation_failed' });
});

test('a cursor is what a Link holds, and nothing else', () => {
  for (const after of [1, 36, 1_000_000, Number.MAX_SAFE_INTEGER]) {
    const [name, link = ''] = nextPage('/pets', { limit: 2, after }, [['status', 'sold']]);
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

test('a Link keeps nothing but what it is told to', () => {
  const link = ['Link', '</v1/categories?limit=2&cursor=after_3>; rel="next"'];
  assert.deepEqual(nextPage('/categories', { limit: 2, after: 3 }), link);
});

test('a parameter is given once', () => {
  assert.deepEqual([readParameter(query('a=1&b='), 'a'), readParameter(query('a=1&b='), 'b')], ['1', '']);
  assert.equal(readParameter(query('a=1'), 'b'), null);
  assert.throws(() => readParameter(query('a=1&a=1&a='), 'a'), invalid('a is given 3 times; send it once'));
});

test('an id in a path is a positive safe integer without zeros in front', () => {
  const most = Number.MAX_SAFE_INTEGER;
  assert.deepEqual([readId('1'), readId('10'), readId(`${most}`)], [1, 10, most]);
  for (const text of [undefined, '', '0', '01', '-1', '1.0', '1e3', ' 1', '1 ', `${most + 1}`, '12345678901234567']) {
    assert.equal(readId(text), undefined, `${text}`);
  }
});

test('an id in a query is one that can exist', () => {
  assert.equal(readIdParameter(query('b=1'), 'a'), undefined);
  assert.equal(readIdParameter(query('a=7'), 'a'), 7);
  for (const text of ['', '0', '9007199254740992', '01', '-1', 'x', '1x', 'x1', '1.0', '00']) {
    const wrong = invalid(`a has the id ${JSON.stringify(text)}; send a whole number from 1`);
    assert.throws(() => readIdParameter(query(`a=${text}`), 'a'), wrong);
    assert.throws(() => readIdsParameter(query(`a=1,${text}`), 'a', 9), wrong);
  }
});

test('ids in a query are counted once each, up to the most', () => {
  assert.equal(readIdsParameter(query('b=1'), 'a', 2), undefined);
  assert.deepEqual(readIdsParameter(query('a=3,1,3,3'), 'a', 2), [3, 1]);
  assert.deepEqual(readIdsParameter(query('a=3&a=1,2&a=3'), 'a', 3), [3, 1, 2]);
  assert.throws(() => readIdsParameter(query('a=1,2,3'), 'a', 2), invalid('a has 3 ids; send 1 to 2'));
});

test('a page that is not the last has a Link to the next, with the filters that were sent', () => {
  const filters = ['status', 'categoryId', 'ids'].map((name) => ({ name, description: '', schema: {} }));
  const answer = (text: string, found: readonly { id: number }[], more: object = { filters }) => {
    const exchange = { request: { headers: {} }, query: query(text) } as unknown as Exchange;
    const { status, body, headers } = pageAnswer(exchange, {
      path: '/pets',
      limit: 2,
      found,
      idOf: ({ id }) => id,
      ...more,
    });
    return { status, body, link: headers?.slice(2) };
  };
  const items = [{ id: 4 }, { id: 40 }, { id: 41 }];
  const first = { status: 200, body: '[{"id":4},{"id":40}]' };
  const link = (kept: string) => ['Link', `</v1/pets?${kept}limit=2&cursor=after_14>; rel="next"`];
  assert.deepEqual(answer('', items), { ...first, link: link('') });
  assert.deepEqual(answer('limit=2&status=sold&ids=&x=1', items), { ...first, link: link('status=sold&') });
  assert.deepEqual(answer('ids=4&ids=40,41', items), { ...first, link: link('ids=4%2C40%2C41&') });
  assert.deepEqual(answer('status=sold', items, {}), { ...first, link: link('') });
  assert.deepEqual(answer('status=sold', items.slice(0, 2)), { ...first, link: [] });
  assert.deepEqual(answer('', []), { status: 200, body: '[]', link: [] });
});
