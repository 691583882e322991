import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { selfSigned } from '../kit/deploy/nginx.ts';
import { freePort } from '../kit/deploy/port.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { findingsOf, runProcess, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';

/** A Redis that answers, and may or may not count: what `doctor` says of each. */

const skip = redisServerMissing();
const SHARE = 'until then each instance admits its share of every limit';
/** As docs/scaling.md has it. */
const RIGHTS =
  'ACL SETUSER petcatalog on >secret resetkeys ~pet-catalog:* resetchannels -@all +info +ping +time +get +set +eval +evalsha';

async function said(url: string): Promise<string[]> {
  const findings = (await findingsOf({ REDIS_URL: url, INSTANCES: '2' })).filter(({ check }) => check === 'redis');
  return findings.map((each) => (each.status === 'ok' ? each.finding : `${each.finding}; ${each.advice}`));
}

test('the commands and keys of docs/scaling.md suffice, and `doctor` says when one is missing', { skip }, async () => {
  await using server = await startRedis();
  using folder = temporaryFolder();
  const url = server.url.replace('redis://', 'redis://petcatalog:secret@');
  const rights = 'let the user of REDIS_URL run the commands on the keys that docs/scaling.md lists';
  await server.command(...RIGHTS.split(' '));
  assert.deepEqual(await said(url), ['It counts']);
  {
    await using service = await serveProcess([], { cwd: folder.path, env: { REDIS_URL: url, INSTANCES: '1' } });
    await untilTrue(async () => (await server.command('EXISTS', 'pet-catalog:{beat}')) === 1);
    assert.doesNotMatch(service.output.stderr, /limiter_degraded/);
  }
  for (const [change, pattern] of [
    ['-eval', /eval/],
    ['-evalsha', /evalsha/],
    ['-get', /can't run this command/],
    ['-set', /can't run this command/],
    ['resetkeys', /keys?\b/],
  ] as const) {
    await server.command('ACL', 'SETUSER', 'petcatalog', change);
    // A script that is loaded needs no EVAL.
    await server.command('SCRIPT', 'FLUSH');
    const [told = '', ...others] = await said(url);
    assert.deepEqual(others, []);
    assert.match(told, pattern);
    assert.ok(told.startsWith('It cannot count: ') && told.endsWith(`; ${rights}; ${SHARE}`), told);
    await server.command(...RIGHTS.split(' '));
  }
  await server.command('ACL', 'SETUSER', 'petcatalog', '-info');
  assert.match(`${await said(url)}`, new RegExp(`It cannot count: NOPERM.*info.*${rights}; ${SHARE}`));
  const env = { REDIS_URL: url, INSTANCES: '1' };
  await using service = await serveProcess([], { cwd: folder.path, env });
  await untilTrue(() => /limiter_degraded.*docs\/scaling\.md/.test(service.output.stderr));
});

test('a certificate of an own authority opens Redis when NODE_EXTRA_CA_CERTS names it', { skip }, async () => {
  using folder = temporaryFolder();
  selfSigned(folder.path);
  const [certFile, keyFile] = [join(folder.path, 'fullchain.pem'), join(folder.path, 'privkey.pem')];
  const tls = ['--tls-port', `${await freePort()}`, '--tls-cert-file', certFile, '--tls-key-file', keyFile];
  await using _server = await startRedis(...tls, '--tls-auth-clients', 'no');
  const env = { REDIS_URL: `rediss://127.0.0.1:${tls[1]}`, INSTANCES: '1', PATH: process.env.PATH ?? '' };
  const examine = async (more: Record<string, string>) =>
    (await runProcess(['doctor', '--json'], { cwd: folder.path, env: { ...env, ...more } })).stdout;
  assert.match(await examine({}), /name the file of its certificate authority in NODE_EXTRA_CA_CERTS/);
  assert.match(await examine({ NODE_EXTRA_CA_CERTS: certFile }), /It counts/);
});
