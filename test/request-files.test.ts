import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { pino } from 'pino';
import { newApiKey, secretRecord } from '../src/catalog/api-key.ts';
import { issueToken } from '../src/catalog/operator/access.ts';
import { readConfig } from '../src/config.ts';
import { type OpenedService, openService } from '../src/service.ts';
import { temporaryFolder } from './kit/folder.ts';
import { OPERATOR } from './kit/operator.ts';

/**
 * The files that a reader of a request opens: those of which a function runs from its arrival until its answer
 * is written, in the service as `serve` wires it. No feature beside the main job makes them more.
 */

const SOURCE = `${pathToFileURL(join(import.meta.dirname, '..', 'src'))}/`;
/** A timer that fires meanwhile is in one of them alone. */
const REQUESTS = 12;

const session = new Session();
const folder = temporaryFolder();
const log = { log: pino({ level: 'silent' }), write: () => {} };
let opened: OpenedService;
let secret: string;

before(async () => {
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const flags = { PORT: '0', OPERATOR_PORT: '0', DATABASE_URL: `sqlite:${join(folder.path, 'way.db')}` };
  const service = await openService(readConfig({ flags, env: {}, file: {} }), { log });
  opened = service;
  ({ secret } = await issue());
});

after(async () => {
  session.disconnect();
  await opened[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function issue() {
  const made = newApiKey({ name: 'way', environment: 'production', plan: 'business' }, opened.time.now().unix);
  await opened.storage.keys.insert(made.key, secretRecord(made.secret), OPERATOR);
  return made;
}

/** The files of which functions ran since the last call. */
function ran(): Set<string> {
  let taken: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    assert.equal(error, null);
    taken = coverage.result;
  });
  const ours = taken.filter(({ url }) => url.startsWith(SOURCE));
  const run = ours.filter(({ functions }) => functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0));
  return new Set(run.map(({ url }) => url.slice(SOURCE.length)));
}

/** The files that run in each of some requests until the answer is written; the first request warms the caches. */
async function filesOf(send: (turn: number) => Promise<Response>): Promise<string[]> {
  let common: Set<string> | undefined;
  for (let turn = 0; turn < REQUESTS; turn += 1) {
    let files = new Set<string>();
    const { end } = ServerResponse.prototype;
    ServerResponse.prototype.end = function (this: ServerResponse, ...written: unknown[]) {
      files = ran();
      return Reflect.apply(end, this, written);
    };
    ran();
    try {
      const answer = await send(turn);
      const body = await answer.text();
      assert.ok(answer.ok, body);
    } finally {
      ServerResponse.prototype.end = end;
    }
    if (turn > 0) common = common?.intersection(files) ?? files;
  }
  return [...(common ?? [])].sort();
}

const call = (path: string, init: RequestInit = {}) =>
  fetch(`${opened.service.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${secret}`, ...(init.body && { 'content-type': 'application/json' }) },
  });

test('a create runs through 26 files at most', async () => {
  const create = (turn: number) =>
    call('/categories', { method: 'POST', body: JSON.stringify({ name: `Dog ${turn}` }) });
  assertAtMost(26, await filesOf(create), 'storage/sqlite/connection.ts');
});

test('a list runs through 16 files at most', async () => {
  assertAtMost(16, await filesOf(() => call('/categories')), 'catalog/category-list.ts');
});

test('a revocation over the operator API runs through 38 files at most', async () => {
  const by = { storage: opened.storage, now: opened.time.now().unix, by: OPERATOR };
  const { secret: token } = await issueToken(by, { name: 'way', role: 'keys' });
  const ids: string[] = [];
  while (ids.length < REQUESTS) ids.push((await issue()).key.id);
  const headers = { authorization: `Bearer ${token}` };
  const revoke = (turn: number) =>
    fetch(`${opened.service.operatorUrl}/api/v1/keys/${ids[turn]}/revoke`, { method: 'POST', headers });
  assertAtMost(38, await filesOf(revoke), 'storage/sql/keys.ts');
});

function assertAtMost(max: number, files: readonly string[], last: string): void {
  assert.ok(files.includes(last), `it does not run ${last}`);
  assert.ok(files.length <= max, `${files.length} files: ${files.join(', ')}`);
}
