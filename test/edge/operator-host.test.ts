import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { openRaw, type RawAnswer } from '../kit/edge/raw.ts';
import { testService } from '../kit/service.ts';

/** By which names the operator listener may be called: a page whose name leads to this machine must read nothing. */

test('the operator listener answers to addresses, localhost and OPERATOR_HOSTS, and to nothing else', async () => {
  await using service = await testService({ OPERATOR_HOSTS: 'Ops.example, pet-catalog-1' });
  const good = ['127.0.0.1', '10.0.0.7:8081', '[::1]', '[fd00::7]:8081', 'localhost:9', 'localhost:', 'LocalHost'];
  for (const host of [...good, 'ops.example', 'OPS.example:443', 'pet-catalog-1:8081']) {
    for (const path of ['/metrics', '/livez', '/readyz', '/console/login']) {
      assert.equal((await ask(service.operatorUrl, path, host)).status, 200, `${host}${path}`);
    }
  }
  const foreign = [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'ops.example.evil',
    '0x7f.1',
    '',
  ];
  for (const host of foreign) {
    for (const path of [
      '/metrics',
      '/readyz',
      '/',
      '/nothing',
      '/openapi.json',
      '/docs',
      '/api/v1/keys',
      '/console',
      '/console/keys',
    ]) {
      const { status, headers, body } = await ask(service.operatorUrl, path, host);
      const { message, ...rest } = JSON.parse(body);
      assert.deepEqual([status, rest], [421, { code: 'misdirected_request', status: 421 }], `${host}${path}`);
      const advice = 'use its IP address or localhost, or add the name to OPERATOR_HOSTS';
      assert.equal(message, `The operator listener is not called "${host}"; ${advice}`);
      assert.ok(!headers.has('x-ratelimit-limit'));
    }
  }
  assert.equal(service.events.failures.length, 0);
});

test('HTTP/1.0 without a Host is served, and the public listener answers to every name', async () => {
  await using service = await testService();
  assert.equal((await ask(service.operatorUrl, '/livez', undefined)).status, 200);
  assert.equal((await ask(service.url, '/livez', 'api.example')).status, 200);
});

const own = await lookup(hostname()).catch(() => undefined);
const skip = own || process.env.CI ? false : 'the name of this machine leads nowhere';

test('the name in the listen address is allowed: links use it', { skip }, async () => {
  await using service = await testService({ OPERATOR_HOST: hostname() });
  assert.equal((await ask(service.operatorUrl, '/livez', hostname())).status, 200);
});

const hasIpv6 = Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === '::1'));

test('an IPv6 address is in brackets in the addresses that are told', {
  skip: hasIpv6 || process.env.CI ? false : 'this machine has no ::1',
}, async () => {
  await using service = await testService({ HOST: '::1', OPERATOR_HOST: '::1' });
  assert.match(service.url, /^http:\/\/\[::1\]:\d+\/v1$/);
  assert.match(service.operatorUrl, /^http:\/\/\[::1\]:\d+$/);
  assert.equal((await fetch(`${service.operatorUrl}/livez`)).status, 200);
});

/** One request with a Host of choice, which `fetch` does not let one choose; as HTTP/1.0 if there is none. */
async function ask(url: string, path: string, host: string | undefined): Promise<RawAnswer> {
  await using connection = await openRaw(url);
  const line = host === undefined ? `GET ${path} HTTP/1.0` : `GET ${path} HTTP/1.1\r\nHost: ${host}`;
  await connection.send(`${line}\r\nConnection: close\r\n\r\n`);
  const [answer] = await connection.answersUntilClosed();
  assert.ok(answer);
  return answer;
}
