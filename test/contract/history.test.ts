import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { readContract } from '../kit/contract.ts';

/**
 * The contract stays compatible with its last release. `contracts/` holds the contract of the last release: at a
 * release, copy openapi.json there under the new version of the interface and remove the file before it. A breaking
 * change within /v1 is only for what is experimental, for what is beta and was announced, and for what is past its
 * sunset. src/http/docs/pages/versions.md is the policy.
 */

/** Changes that break no caller, or are of beta operations and announced in CHANGELOG.md: how each begins, and why. */
const ALLOWED: Readonly<Record<string, string>> = {};
/** The same of the operator API. */
const ALLOWED_FOR_OPERATORS: Readonly<Record<string, string>> = {
  '/components/schemas/OperatorToken/required/issuedBy': 'a member that every answer has',
  '/components/schemas/IssuedToken/required/issuedBy': 'a member that every answer has',
  '/components/schemas/KeyRequest/required/userAgent': 'a member that every answer has',
  '/components/schemas/AuditEntry/required/id': 'a member that every answer has',
  '/components/schemas/ListedPet/required/': 'members that every answer has',
  '/components/schemas/ListedOrder/required/': 'members that every answer has',
  '/paths//categories/get/responses/200/content/application/json/schema/items/$ref': 'a category and who made it',
  '/components/schemas/AuditEntry/properties/via/enum/key': 'a way that is listed only where it is asked for',
  '/paths//audit/get/parameters/action/schema': 'an action that there is not is refused; it found nothing',
  '/paths//audit/get/parameters/key/schema': 'so is a key',
  '/paths//usage/get/parameters/key/schema': 'so is a key',
  '/paths//usage/get/parameters/route/schema': 'so is a route',
  '/components/schemas/AuditEntry/properties/via/enum/proxy': 'a way in that is there only once it is set up',
};

interface Contract {
  readonly paths: Record<string, Record<string, object>>;
  readonly components: Record<string, object>;
}

/** Members in words, which no program depends on. */
const WORDS = ['description', 'summary', 'tags', 'example', 'examples', 'x-violation'];
/** An addition that breaks callers of what was there before, and what that is. */
const NARROWING =
  /^(.*?)\/(?:(?:parameters\/[^/]+|requestBody)\/required|responses\/[23]\d\d|(?:required|enum|security|x-stability|pattern|format|type|additionalProperties|anyOf|min\w+|max\w+|exclusive\w+)(?:\/.*)?)$/;

/**
 * Everything in a contract that differs from an earlier one and is no mere addition. Experimental operations may
 * change; a deprecated one may go once its sunset (compared with `today`, YYYY-MM-DD) has come.
 */
function breakingChanges(before: Contract, after: Contract, today: string): string[] {
  const [old, now] = [factsOf(before), factsOf(after)];
  const mayChange = (fact: string) => {
    const [, operation = ''] = /^(\/paths\/\/.*?\/(?:get|post|put|patch|delete))(?:\/|$)/.exec(fact) ?? [];
    const isOver = `${old.get(`${operation}/x-deprecated-sunset`) ?? 'never'}` <= today && !now.has(operation);
    return isOver || old.get(`${operation}/x-stability`) === 'experimental';
  };
  const changed = [...old].filter(([fact, value]) => now.get(fact) !== value).map(([fact]) => fact);
  const added = [...now].filter(([fact, value]) => {
    if (old.has(fact) || (value === false && fact.endsWith('/required'))) return false;
    if (fact.endsWith('/deprecated')) return !now.has(fact.replace('deprecated', 'x-deprecated-sunset'));
    return old.has(NARROWING.exec(fact)?.[1] ?? '');
  });
  return [...changed, ...added.map(([fact]) => fact)]
    .filter((fact) => !mayChange(fact))
    .map((fact) => `${fact}: ${old.get(fact)} → ${now.get(fact)}`);
}

/** Each object and value by its path. What is a set, such as an enumeration or the parameters, has no order. */
function factsOf({ paths, components: { schemas, headers } }: Contract): Map<string, unknown> {
  const facts = new Map<string, unknown>();
  const note = (value: unknown, at: string) => {
    facts.set(at, typeof value === 'object' && value !== null ? 'there' : value);
    if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) note(each, `${at}/${nameOf(each) ?? index}`);
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value))
        if (at.endsWith('/properties') || !WORDS.includes(name)) note(member, `${at}/${name}`);
    }
  };
  note(paths, '/paths');
  note({ schemas, headers }, '/components');
  return facts;
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return `${item}`;
  return (item as { name?: string }).name;
}

const kept = readdirSync(new URL('../contracts/', import.meta.url));
const [operatorFile = '', ...otherOperatorFiles] = kept.filter((file) => file.startsWith('operator-'));
const [releasedFile = '', ...others] = kept.filter((file) => !file.startsWith('operator-'));
const released = readContract<Contract>(`test/contracts/${releasedFile}`);

for (const [file, kept, allowed] of [
  ['openapi.json', releasedFile, ALLOWED],
  ['operator-openapi.json', operatorFile, ALLOWED_FOR_OPERATORS],
] as const) {
  test(`${file} breaks nothing that the last release promised, unless announced`, () => {
    assert.deepEqual([others, otherOperatorFiles], [[], []], 'only the contract of the last release is kept');
    const before = readContract<Contract>(`test/contracts/${kept}`);
    assert.ok(Object.keys(before.paths).length >= 9);
    const found = breakingChanges(before, readContract<Contract>(file), new Date().toISOString().slice(0, 10));
    assert.deepEqual(
      found.filter((change) => !Object.keys(allowed).some((prefix) => change.startsWith(prefix))),
      [],
    );
  });
}

type Path = readonly string[];
type Change = readonly [path: Path, value?: unknown];

const LIST: Path = ['paths', '/categories', 'get'];
const CREATE: Path = ['paths', '/categories', 'post'];
const STOCK: Path = ['paths', '/inventory/{petId}', 'patch'];
const NEW_CATEGORY: Path = ['components', 'schemas', 'NewCategory'];
const CATEGORY: Path = ['components', 'schemas', 'Category'];
const LIMIT: Path = [...LIST, 'parameters', '0'];
const NAME: Path = [...NEW_CATEGORY, 'properties', 'name'];

/** Changes to the contract that break, made by setting what is at a path, or removing it. */
const BREAKING: readonly Change[] = [
  [['paths', '/categories']],
  [CREATE],
  [[...LIST, 'operationId'], 'allCategories'],
  [[...LIST, 'x-stability'], 'experimental'],
  [['paths', '/store/orders/{orderId}', 'delete', 'x-stability'], 'experimental'],
  [[...LIST, 'deprecated'], true],
  [['paths', '/pets/{petId}', 'get', 'x-deprecated-sunset'], '2027-01-01'],
  [[...LIST, 'security', '0', 'apiKey', '0'], 'pets:read'],
  [LIMIT, { name: 'size', in: 'query', schema: { type: 'integer' } }],
  [[...LIMIT, 'required'], true],
  [[...LIMIT, 'schema', 'maximum'], 100],
  [[...LIST, 'parameters', '9'], { name: 'sort', in: 'query', required: true, schema: {} }],
  [['paths', '/pets', 'get', 'parameters', '1', 'schema', 'enum', '0'], 'new'],
  [[...LIST, 'responses', '304']],
  [[...LIST, 'responses', '206'], { description: 'A part' }],
  [[...LIST, 'responses', '200', 'headers', 'ETag']],
  [[...LIST, 'responses', '200', 'content', 'application/json']],
  [[...LIST, 'responses', '200', 'content', 'application/json', 'schema', 'type'], 'object'],
  [[...NEW_CATEGORY, 'required', '1'], 'description'],
  [[...NEW_CATEGORY, 'properties', 'description']],
  [[...NEW_CATEGORY, 'additionalProperties'], false],
  [[...NAME, 'maxLength'], 100],
  [[...NAME, 'minLength'], 2],
  [[...NAME, 'pattern'], '^[a-z]+$'],
  [[...NAME, 'enum'], ['Dog']],
  [[...CATEGORY, 'properties', 'id']],
  [[...CATEGORY, 'properties', 'id', 'type'], 'string'],
  [[...CATEGORY, 'properties', 'id', 'format'], 'int32'],
  [[...CATEGORY, 'required'], ['id']],
  [['components', 'schemas', 'Pet', 'properties', 'status', 'enum', '3'], 'lost'],
  [['components', 'schemas', 'Error', 'properties', 'code', 'enum', '0'], 'bad_json'],
  [['components', 'schemas', 'RateLimit', 'properties', 'ban', 'anyOf', '1']],
];

test('the comparison finds every kind of breaking change', () => {
  for (const change of BREAKING)
    assert.notDeepEqual(breakingChanges(released, changed(change), '2026-01-01'), [], change[0].join('/'));
});

test('the comparison lets additions pass', () => {
  const parameter = { name: 'sort', in: 'query', required: false, schema: { type: 'string', enum: ['name'] } };
  for (const change of [
    [['paths', '/toys'], { get: { operationId: 'listToys', security: [{ apiKey: ['pets:read'] }] } }],
    [[...LIST, 'parameters', '9'], parameter],
    [[...LIST, 'responses', '200', 'headers', 'X-More'], { schema: { type: 'integer', minimum: 0 } }],
    [[...LIST, 'responses', '418'], { content: {} }],
    [[...LIST, 'description'], 'In other words'],
    [[...CATEGORY, 'properties', 'colour'], { type: 'string', maxLength: 5 }],
  ] satisfies Change[])
    assert.deepEqual(breakingChanges(released, changed(change), '2026-01-01'), [], change[0].join('/'));
});

test('the comparison lets changes of what is experimental and announced ends pass', () => {
  assert.deepEqual(breakingChanges(released, released, '2026-01-01'), []);
  const experimental = changed([[...STOCK, 'x-stability'], 'experimental']);
  for (const change of [[STOCK], [[...STOCK, 'responses'], {}]] satisfies Change[]) {
    assert.deepEqual(breakingChanges(experimental, changed(change), '2026-01-01'), [], change[0].join('/'));
    assert.notDeepEqual(breakingChanges(released, changed(change), '2026-01-01'), [], 'beta now');
  }
  const withoutGetPet = changed([['paths', '/pets/{petId}', 'get']]);
  assert.ok(breakingChanges(released, withoutGetPet, '2030-12-04')[0]?.startsWith('/paths//pets/{petId}/get: '));
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
