import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { RequestListener } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from './kit/fixtures.ts';
import { brokenIn } from './kit/stage.ts';
import { CLIENTS, install, judgeClient, type RegistryClient, service } from './registry/bench.ts';

/**
 * HTTP clients, each with the setting that makes it right, are never accused. Needs the package registry for those of
 * npm; one that comes with a machine is tried where it is there. `make-clients.ts` tries all of them, under all plays.
 */

const ONE = JSON.stringify({ id: 'x_1', object: 'list', data: [{ id: 'x_2', embedding: [0.5] }] });

/** APIs with forms of their own; each client is tried before one after the other. */
const APIS: readonly (() => RequestListener)[] = [
  service,
  // The forms of GitHub, compressed.
  () => (request, response) => {
    const isZipped = /gzip/.test(`${request.headers['accept-encoding']}`);
    const body = isZipped ? gzipSync(ONE) : Buffer.from(ONE);
    const limits = { 'x-ratelimit-limit': 60, 'x-ratelimit-remaining': 59, 'x-ratelimit-reset': 1_900_000_000 };
    const coding = isZipped ? { 'content-encoding': 'gzip' } : {};
    const type = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length };
    request.resume().on('end', () => response.writeHead(200, { ...type, ...coding, ...limits }).end(body));
  },
  // A stream, slowly.
  () => async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const part of ONE.match(/.{1,20}/g) ?? []) {
      response.write(part);
      await wait(5);
    }
    response.end();
  },
];

/** Those that retry, each in another way, as the workers of a pool do. */
const POOLED = ['got', 'undici RetryAgent', 'requests with Retry(3)'];

const hasRegistry = spawnSync('npm', ['ping'], { timeout: 20_000 }).status === 0;
assert.ok(hasRegistry || process.env.CI !== 'true', 'the package registry does not answer');

// Mostly they wait, so a few go side by side.
const options = { skip: !hasRegistry && 'the package registry does not answer', concurrency: 3 };

describe('with its setting nothing is broken by', options, () => {
  const folder = temporaryFolder();
  before(() => install(folder.path));
  after(() => folder[Symbol.dispose]());

  for (const [index, client] of CLIENTS.entries()) {
    // GraphQL has one form of answers.
    const api = client.name.startsWith('graphql') ? service : (APIS[index % APIS.length] ?? service);
    const skip = !isThere(client) && `${client.version?.join(' ')} fails: it is not on this machine`;
    test(client.name, { skip }, async () => {
      const report = await judgeClient(client, { folder: folder.path, isSet: true, api, playsMax: 12 });
      assert.deepEqual(brokenIn(report), []);
    });
    if (!POOLED.includes(client.name)) continue;
    test(`${client.name}, eight at once`, { skip }, async () => {
      const report = await judgeClient(client, { folder: folder.path, isSet: true, workers: 8, api, playsMax: 6 });
      assert.deepEqual(brokenIn(report), []);
    });
  }
});

function isThere({ version: [program = 'node', ...args] = [] }: RegistryClient): boolean {
  return spawnSync(program, args).status === 0;
}
