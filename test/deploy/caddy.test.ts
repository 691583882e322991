import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { CADDYFILE, startCaddy } from '../kit/deploy/caddy.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { openRaw } from '../kit/edge/raw.ts';
import { testService } from '../kit/service.ts';
import { call } from './call.ts';

const ANSWERS = 30;

suite('the Caddyfile', { skip: missingPrograms('caddy') }, () => {
  test('is in the form that Caddy gives it', () => {
    const { stdout } = spawnSync('caddy', ['fmt', CADDYFILE], { encoding: 'utf8' });
    assert.equal(stdout, readFileSync(CADDYFILE, 'utf8'));
  });

  test('answers in the form of the service where that is not there', async () => {
    await using service = await testService();
    const { secret } = await service.issue();
    const headers = { authorization: `Bearer ${secret}` };
    await using caddy = await startCaddy(new URL(service.url).port);
    const other = await call(caddy.url, '/v1/categories', { headers: { host: 'other.example' } });
    assert.deepEqual([other.status, JSON.parse(other.body.toString()).code], [421, 'misdirected_request']);
    assert.equal(other.headers['x-ratelimit-limit'], '0');

    await service[Symbol.asyncDispose]();
    const gone = await call(caddy.url, '/v1/categories', { headers });
    assert.deepEqual([gone.status, JSON.parse(gone.body.toString()).code], [503, 'unavailable']);
    const own = {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-ratelimit-limit': '0',
      'x-ratelimit-remaining': '0',
    };
    const plain = { ...own, 'retry-after': '1', 'strict-transport-security': 'max-age=31536000' };
    for (const [name, value] of Object.entries(plain)) assert.equal(gone.headers[name], value, name);
    assert.match(gone.headers['x-ratelimit-reset'] as string, /^\d{10}$/);
    assert.match(gone.headers['x-request-id'] as string, /^[0-9a-f-]{36}$/);
  });

  test('callers that read no answer do not fill the service: the oldest of them is closed', async () => {
    const connectionsMax = 20;
    await using service = await testService({ CONNECTIONS_MAX: `${connectionsMax}` });
    const { secret } = await service.issue({ plan: 'business' });
    const description = 'x'.repeat(1_900);
    for (let count = 0; count < 200; count += 1)
      assert.equal((await service.send(secret, 'POST', '/categories', { name: `c${count}`, description })).status, 201);
    await using caddy = await startCaddy(new URL(service.url).port);
    await using opened = new AsyncDisposableStack();
    const list = `GET /v1/categories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${secret}\r\n\r\n`;
    for (let count = 0; count < 2 * connectionsMax; count += 1) {
      const raw = opened.use(await openRaw(caddy.url));
      raw.pause();
      // More than the system takes for a client.
      await raw.send(list.repeat(ANSWERS));
    }
    await untilTrue(() => service.events.answered.length > 200 + 2 * connectionsMax);
    const headers = { authorization: `Bearer ${secret}` };
    assert.equal((await call(caddy.url, '/v1/rate_limit', { headers })).status, 200);
  });
});
