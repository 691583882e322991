import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertKept, startReferee } from 'api-referee/test';
import { carefulCreate, hastyCreate, startApi } from './things.mjs';

let api;
let referee;
before(async () => {
  api = await startApi();
  referee = await startReferee({ upstream: api.url });
  await referee.play('ok', carefulCreate);
});
after(async () => {
  await referee.end();
  api.end();
});

test('a create whose answer is lost is made once', async () => {
  assertKept(await referee.play('lost@POST', carefulCreate), 'once', 'tells');
  const report = await referee.play('lost@POST', hastyCreate);
  assert.throws(() => assertKept(report, 'once'), /once for POST \/things is broken/);
});

test('a refusal is waited for', async () => {
  assertKept(await referee.play('limit:1@POST', carefulCreate), 'waits');
});
