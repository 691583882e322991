import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkQuery, choiceIn, momentOf, readId, readIdParameter, readIdsParameter, readParameter } from './query.ts';

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
    const wrong = `${JSON.stringify(text)}; send a whole number from 1`;
    assert.throws(() => readIdParameter(query(`a=${text}`), 'a'), invalid(`a is ${wrong}`));
    assert.throws(() => readIdsParameter(query(`a=1,${text}`), 'a', 9), invalid(`a has ${wrong}`));
  }
});

test('ids in a query are counted once each, up to the most', () => {
  assert.equal(readIdsParameter(query('b=1'), 'a', 2), undefined);
  assert.deepEqual(readIdsParameter(query('a=3,1,3,3'), 'a', 2), [3, 1]);
  assert.deepEqual(readIdsParameter(query('a=3&a=1,2&a=3'), 'a', 3), [3, 1, 2]);
  assert.throws(() => readIdsParameter(query('a=1,2,3'), 'a', 2), invalid('a has 3 ids; send 1 to 2'));
});

test('a moment is the second that it lies in', () => {
  assert.equal(momentOf('1970-01-01T00:00:01.999Z', 'since'), 1);
  assert.equal(momentOf('1970-01-01t01:00:02+01:00', 'since'), 2);
  assert.equal(momentOf('1970-01-01T00:00:03.123456789-00:00', 'since'), 3);
  for (const text of [
    '1970-01-01T00:00:03.Z',
    '1970-01-01T00:00:03.1234567890Z',
    '1970-01-01T00:00:03',
    '2030-02-30T00:00:00Z',
  ])
    assert.throws(
      () => momentOf(text, 'since'),
      invalid(`since is "${text}"; send a date and time such as 2026-01-01T12:00:00Z`),
    );
});

test('a choice is one of its values', () => {
  const chosen = (text: string) => choiceIn(query(text), 'a', ['x', 'y']);
  assert.deepEqual([chosen('a=y'), chosen('')], ['y', undefined]);
  for (const text of ['', 'X', 'xy']) {
    assert.throws(() => chosen(`a=${text}`), invalid(`a is "${text}"; send one of x, y`));
  }
});
