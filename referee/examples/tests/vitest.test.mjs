import { matchers, startReferee } from 'api-referee/test';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { carefulCreate, hastyCreate, startApi } from './things.mjs';

let api;
let referee;
beforeAll(async () => {
  api = await startApi();
  referee = await startReferee({ upstream: api.url });
  await referee.play('ok', carefulCreate);
});
afterAll(async () => {
  await referee.end();
  api.end();
});

expect.extend(matchers);

test('a create whose answer is lost is made once', async () => {
  expect(await referee.play('lost@POST', carefulCreate)).toKeep('once', 'tells');
  expect(await referee.play('lost@POST', hastyCreate)).not.toKeep('once');
});

test('a refusal is waited for', async () => {
  expect(await referee.play('limit:1@POST', carefulCreate)).toKeep('waits');
});
