import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Report } from '../../referee/src/trial/rule.ts';
import { runReferee } from '../../referee/test/kit/fixtures.ts';
import { systemTime } from '../../src/stdx/time.ts';
import { manualClock } from '../kit/clock.ts';
import { caddyMissing, startCaddy } from '../kit/deploy/caddy.ts';
import { startNginx } from '../kit/deploy/nginx.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

const CLOCK = { ...manualClock(), ...systemTime() };

test('the nginx of deploy/nginx keeps every rule', { skip: missingPrograms('nginx', 'openssl') }, async () => {
  await using service = await testService({}, CLOCK);
  await using nginx = await startNginx(new URL(service.url).port);
  assert.deepEqual(await brokenBehind(`https://127.0.0.1:${nginx.port}/v1`, service, nginx.ca), []);
});

test('the Caddyfile keeps every rule but that of HTTP that Caddy itself breaks', { skip: caddyMissing }, async () => {
  await using service = await testService({}, CLOCK);
  await using caddy = await startCaddy(new URL(service.url).port);
  // It goes on after a request with Content-Length and Transfer-Encoding, against RFC 9112, section 6.1.
  const broken = await brokenBehind(`${caddy.url}/v1`, service);
  assert.deepEqual(
    broken.filter((text) => !/^http\.one-answer: .* 2 answers/.test(text)),
    [],
  );
});

/** What is broken behind a gateway, judged by the command with the authority of its certificate. */
async function brokenBehind(url: string, service: Awaited<ReturnType<typeof testService>>, ca = ''): Promise<string[]> {
  using folder = temporaryFolder();
  const file = join(folder.path, 'ca.pem');
  writeFileSync(file, ca);
  const [key, limited] = [(await service.issue({ plan: 'pro' })).secret, (await service.issue()).secret];
  const args = ['server', url, '--key', key, '--limited-key', limited, '--level', 'ours', '--json'];
  const env = ca === '' ? {} : { NODE_EXTRA_CA_CERTS: file };
  const { stdout, stderr } = await runReferee(args, { cwd: folder.path, env });
  assert.ok(stdout, stderr);
  const { rules } = JSON.parse(stdout) as Report;
  assert.ok(rules.filter(({ verdict }) => verdict === 'passed').length > 70);
  return rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`);
}
