import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { temporaryFolder } from './kit/fixtures.ts';
import { brokenIn } from './kit/stage.ts';
import { install, judgeClient, service } from './registry/bench.ts';
import { CLIENTS } from './registry/clients.ts';

/** HTTP clients in six languages, each with the setting that makes it right, are never accused. Needs the registry. */

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

describe('with its setting, alone and in a pool of eight, nothing is broken by', () => {
  const folder = temporaryFolder();
  before(() => install(folder.path));

  for (const [index, client] of CLIENTS.entries()) {
    const api = APIS[index % APIS.length] ?? service;
    for (const workers of [1, 8]) {
      test(`${client.name}${workers > 1 ? `, ${workers} at once` : ''}`, async () => {
        const report = await judgeClient(client, { folder: folder.path, isSet: true, workers, api, playsMax: 12 });
        assert.deepEqual(brokenIn(report), []);
      });
    }
  }
});
