import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { readContract } from '../kit/contract.ts';
import { breakingChanges, type Contract } from './breaking-changes.ts';

/**
 * The contract stays compatible with its last release. `contracts/` holds the contract of the last release: at a
 * release, copy openapi.json there under the new version of the interface and remove the file before it. A breaking
 * change within /v1 is only for what is experimental, for what is beta and was announced, and for what is past its
 * sunset. src/http/docs/pages/versions.md is the policy.
 */

/** Breaking changes to beta operations, by the sentence that the comparison gives, announced in CHANGELOG.md. */
const ANNOUNCED: readonly string[] = [];

/** Codes added to the closed set since then, each only for what no caller of the last release sends. */
const ADDED_CODES: Readonly<Record<string, string>> = { precondition_failed: 'a request with If-Match' };

const [releasedFile = '', ...others] = readdirSync(new URL('../contracts/', import.meta.url));
const released = readContract<Contract>(`test/contracts/${releasedFile}`);

test('the contract breaks nothing that the last release promised, unless announced', () => {
  assert.deepEqual(others, [], 'only the contract of the last release is kept');
  const present = readContract<Contract>();
  const today = new Date().toISOString().slice(0, 10);
  const found = breakingChanges(released, present, today);
  assert.deepEqual(
    found.filter((change) => {
      const [, code = ''] = /\.code can be (\w+) now$/.exec(change) ?? [];
      return !ANNOUNCED.includes(change) && !(code in ADDED_CODES);
    }),
    [],
  );
});

type Path = readonly string[];
type Change = readonly [path: Path, value?: unknown];

const LIST: Path = ['paths', '/categories', 'get'];
const CREATE: Path = ['paths', '/categories', 'post'];
const STOCK: Path = ['paths', '/inventory/{petId}', 'patch'];
const NEW_CATEGORY: Path = ['components', 'schemas', 'NewCategory'];
const CATEGORY: Path = ['components', 'schemas', 'Category'];
const LIMIT: Path = [...LIST, 'parameters', '0'];
const NAME: Path = [...NEW_CATEGORY, 'properties', 'name'];

/** A change to the contract, made by setting what is at a path, or removing it, and what must be found. */
const BREAKING: readonly (readonly [change: Change, found: RegExp])[] = [
  [[['paths', '/categories']], /^listCategories is gone$/],
  [[CREATE], /^createCategory is gone$/],
  [[[...LIST, 'operationId'], 'allCategories'], /is now called allCategories/],
  [[[...LIST, 'x-stability'], 'experimental'], /listCategories is less stable/],
  [[['paths', '/store/orders/{orderId}', 'delete', 'x-stability'], 'experimental'], /cancelOrder is less stable/],
  [[[...LIST, 'deprecated'], true], /deprecated without a sunset/],
  [[['paths', '/pets/{petId}', 'get', 'x-deprecated-sunset'], '2027-01-01'], /getPet ends earlier/],
  [[[...LIST, 'security', '0', 'apiKey', '0'], 'pets:read'], /listCategories needs another scope/],
  [[LIMIT, { name: 'size', in: 'query', schema: { type: 'integer' } }], /parameter limit is gone/],
  [[[...LIMIT, 'required'], true], /parameter limit is required now/],
  [[[...LIMIT, 'schema', 'maximum'], 100], /parameter limit has a narrower maximum: 100/],
  [
    [[...LIST, 'parameters', '9'], { name: 'sort', in: 'query', required: true, schema: {} }],
    /sort is new and required/,
  ],
  [[['paths', '/pets', 'get', 'parameters', '1', 'schema', 'enum', '0'], 'new'], /status no longer admits available/],
  [[[...LIST, 'responses', '304']], /listCategories: 304 is gone/],
  [[[...LIST, 'responses', '206'], { description: 'A part' }], /can succeed with 206 now/],
  [[[...LIST, 'responses', '200', 'headers', 'ETag']], /200 lost the header ETag/],
  [[[...LIST, 'responses', '200', 'content', 'application/json']], /200 is no longer application\/json/],
  [
    [[...LIST, 'responses', '200', 'content', 'application/json', 'schema', 'type'], 'object'],
    /type object instead of array/,
  ],
  [[[...NEW_CATEGORY, 'required', '1'], 'description'], /body.description is required now/],
  [[[...NEW_CATEGORY, 'properties', 'description']], /body.description is gone/],
  [[[...NEW_CATEGORY, 'additionalProperties'], false], /body refuses unknown members/],
  [[[...NAME, 'maxLength'], 100], /body.name has a narrower maxLength: 100/],
  [[[...NAME, 'minLength'], 2], /body.name has a narrower minLength: 2/],
  [[[...NAME, 'pattern'], '^[a-z]+$'], /body.name has another pattern/],
  [[[...NAME, 'enum'], ['Dog']], /body.name admits certain values only/],
  [[[...CATEGORY, 'properties', 'id']], /200\[\].id is gone/],
  [[[...CATEGORY, 'properties', 'id', 'type'], 'string'], /200\[\].id is of type string instead of integer/],
  [[[...CATEGORY, 'properties', 'id', 'format'], 'int32'], /200\[\].id has the format int32 instead of int64/],
  [[[...CATEGORY, 'required'], ['id']], /200\[\].name is no longer always there/],
  [[['components', 'schemas', 'Pet', 'properties', 'status', 'enum', '3'], 'lost'], /status can be lost now/],
  [[['components', 'schemas', 'Error', 'properties', 'code', 'enum', '0'], 'bad_json'], /code can be bad_json now/],
  [[['components', 'schemas', 'RateLimit', 'properties', 'ban', 'anyOf', '1']], /ban has other alternatives/],
];

test('the comparison finds every kind of breaking change', () => {
  for (const [change, expected] of BREAKING) {
    const found = breakingChanges(released, changed(change), '2026-01-01');
    assert.match(found[0] ?? '', expected, `${change[0].join('/')}: ${found.join('; ') || 'nothing found'}`);
  }
});

test('the comparison lets changes of what is experimental and announced ends pass', () => {
  assert.deepEqual(breakingChanges(released, released, '2026-01-01'), []);
  const experimental = changed([[...STOCK, 'x-stability'], 'experimental']);
  for (const change of [[STOCK], [[...STOCK, 'responses'], {}]] satisfies Change[]) {
    assert.deepEqual(breakingChanges(experimental, changed(change), '2026-01-01'), [], change[0].join('/'));
    assert.notDeepEqual(breakingChanges(released, changed(change), '2026-01-01'), [], 'beta now');
  }
  const withoutGetPet = changed([['paths', '/pets/{petId}', 'get']]);
  assert.deepEqual(breakingChanges(released, withoutGetPet, '2030-12-04'), ['getPet is gone']);
  assert.deepEqual(breakingChanges(released, withoutGetPet, '2030-12-05'), []);
});

/** A copy of the released contract with one thing set or, where there is no value, removed. */
function changed([path, value]: Change): Contract {
  const copy = structuredClone(released);
  const owner = path.slice(0, -1).reduce<unknown>((part, key) => (part as Record<string, unknown>)[key], copy);
  const key = path.at(-1) ?? '';
  if (Array.isArray(owner)) owner.splice(Number(key), 1, ...(value === undefined ? [] : [value]));
  else if (value === undefined) delete (owner as Record<string, unknown>)[key];
  else (owner as Record<string, unknown>)[key] = value;
  return copy;
}
