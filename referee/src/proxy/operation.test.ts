import assert from 'node:assert/strict';
import { test } from 'node:test';
import { meaningOf } from './operation.ts';

const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8'] as const;

for (const [body, operation] of [
  [{ query: 'query Pets($query: String) { pets(a: {b: 1}) { mutation } }' }, 'query Pets'],
  [{ query: '# mutation A {}\n{ pets(name: "mutation B { c }") { id } }' }, 'query'],
  [{ query: 'fragment F on Pet { id } mutation Add @query { add { ...F } }' }, 'mutation Add'],
  [{ query: 'query A { a } mutation B { b }', operationName: 'B' }, 'mutation B'],
  [[{ query: '{ a }' }, { query: 'mutation { b }' }], 'mutation'],
  [{ query: 'query optimisation of mutations' }, undefined],
  [{ jsonrpc: '2.0', method: 'tools/call, (now)' }, 'tools/call_now_'],
  [{ method: 'card' }, undefined],
  [null, undefined],
] as const) {
  test(`the operation of ${JSON.stringify(body)} is ${operation}`, () =>
    assert.equal(meaningOf([JSON_TYPE], Buffer.from(JSON.stringify(body))).operation, operation));
}

test('the id of JSON-RPC makes no other call, and its parameters do', () => {
  const contentOf = (id: number, params: number) =>
    meaningOf([JSON_TYPE], Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'add', params }))).content;
  assert.equal(contentOf(1, 1), contentOf(2, 1));
  assert.notEqual(contentOf(1, 1), contentOf(1, 2));
});
