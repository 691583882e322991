import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Contract, collections } from '../../collections/generate.ts';
import { manualClock } from '../kit/clock.ts';
import { testService } from '../kit/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'collections');
const contract: Contract = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
const operations = Object.values(contract.paths).flatMap((methods) =>
  Object.values(methods).map(({ operationId }) => operationId),
);

test('the collections match the contract; `npm run collections` rewrites them', () => {
  const committed = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.ts'))
    .map((entry) => relative(FOLDER, join(entry.parentPath, entry.name)))
    .sort();
  const made = collections(contract);
  assert.deepEqual(committed, [...made.keys()].sort());
  for (const [file, text] of made) assert.equal(readFileSync(join(FOLDER, file), 'utf8'), text, file);
});

test('every request of the .http file succeeds on a new service, in the order of the file', async () => {
  await using service = await testService({}, manualClock());
  const { secret } = await service.issue({ plan: 'business' });
  const requests = parseHttpFile(readFileSync(join(FOLDER, 'pet-catalog.http'), 'utf8'), {
    base_url: service.url,
    PET_CATALOG_KEY: secret,
  });
  assert.deepEqual(
    requests.map(({ name }) => name),
    operations,
  );
  for (const { name, method, url, headers, body } of requests) {
    const response = await fetch(url, { method, headers, ...(body && { body }) });
    const answer = await response.text();
    assert.ok(response.ok, `${name}: ${response.status} ${answer}`);
  }
});

test('the Postman collection has the members that its format asks for, and every operation once', () => {
  const collection = JSON.parse(readFileSync(join(FOLDER, 'pet-catalog.postman_collection.json'), 'utf8'));
  assert.equal(collection.info.schema, 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json');
  assert.equal(typeof collection.info.name, 'string');
  assert.equal(collection.auth.type, 'bearer');
  const variables = collection.variable.map(({ key }: { key: string }) => key);
  const names: string[] = [];
  for (const folder of collection.item) {
    assert.equal(typeof folder.name, 'string');
    for (const { name, request, response } of folder.item) {
      names.push(name);
      assert.deepEqual(response, []);
      assert.match(request.method, /^[A-Z]+$/);
      assert.equal(request.url.raw, [...request.url.host, ...request.url.path].join('/'));
      for (const [, used] of request.url.raw.matchAll(/\{\{(\w+)\}\}/g)) assert.ok(variables.includes(used), used);
      const filled = (request.url.variable ?? []).map(({ key }: { key: string }) => `:${key}`);
      assert.deepEqual(
        request.url.path.filter((segment: string) => segment.startsWith(':')),
        filled,
      );
      if (request.body) assert.doesNotThrow(() => JSON.parse(request.body.raw));
    }
  }
  assert.deepEqual(names.sort(), operations.toSorted());
});

test('every file of the Bruno collection is made of blocks, and their names are those that Bruno knows', () => {
  const known =
    /^(meta|auth|auth:bearer|get|post|patch|delete|params:query|params:path|body:json|docs|vars|vars:secret)$/;
  const files = [...collections(contract)].filter(([file]) => file.endsWith('.bru'));
  assert.equal(files.length, operations.length + 2);
  for (const [file, text] of files) {
    const opened = [...text.matchAll(/^(\S+) [{[]$/gm)].map(([, name = '']) => name);
    const closed = text.match(/^[}\]]$/gm) ?? [];
    assert.equal(opened.length, closed.length, file);
    for (const name of opened) assert.match(name, known, file);
    for (const line of text.split('\n')) assert.match(line, /^$|^ {2}|^[}\]]$|^\S+ [{[]$/, `${file}: ${line}`);
  }
});

interface ParsedRequest {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Reads an .http file as the REST clients of editors do; `given` overrides the variables of the file. */
function parseHttpFile(text: string, given: Record<string, string>): ParsedRequest[] {
  const own = Object.fromEntries([...text.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name, value]) => [name, value]));
  const variables: Record<string, string | undefined> = { ...own, ...given };
  const filled = text.replace(/\{\{(\w+)\}\}/g, (_all, name: string) => {
    const value = variables[name];
    assert.ok(value !== undefined, `nothing is set for ${name}`);
    return value;
  });
  return filled
    .split(/^###.*$/m)
    .slice(1)
    .map((block) => {
      const name = /^# @name (\w+)$/m.exec(block)?.[1] ?? '';
      const [head = '', ...bodies] = block
        .replace(/^#.*\n/gm, '')
        .trim()
        .split('\n\n');
      const [first = '', ...lines] = head.split('\n');
      const [method = '', url = ''] = first.split(' ');
      return { name, method, url, headers: Object.fromEntries(lines.map(header)), body: bodies.join('\n\n') };
    });
}

function header(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
