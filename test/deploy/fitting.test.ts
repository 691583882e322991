import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES } from '../../src/catalog/error.ts';
import { STATUS_OF } from '../../src/http/errors.ts';
import { URL_CHARACTERS_MAX } from '../../src/http/transport/request.ts';
import { parseDuration } from '../../src/stdx/duration.ts';
import { text } from '../kit/deploy/files.ts';
import { testService } from '../kit/service.ts';

const BODY_BYTES_MAX = 256 * 1024;

/** The numbers of the files in deploy/ fit those of the service, and each other's. */

/** The value of a directive of nginx, outside its locations, or of Caddy, the only one of its name. */
function directive(file: string, name: string): string {
  const found = [...text(file).matchAll(new RegExp(`^(?: {4}|\\t+)${name} ([^;{}\\n]*?);?$`, 'gm'))].map(
    ([, value]) => value,
  );
  assert.equal(found.length, 1, `${name} in ${file}: ${found}`);
  return found[0] ?? '';
}

function seconds(file: string, name: string): number {
  return parseDuration(directive(file, name)) ?? assert.fail(`${name} in ${file} is no duration`);
}

const SITE = 'nginx/pet-catalog.conf';
const CADDY = 'caddy/Caddyfile';
/** What Caddy keeps an idle connection for unless told otherwise, in seconds. */
const CADDY_IDLE = 120;

test('idle connections of the proxies end before those of the service, also with one command of Caddy', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const answer = await service.call(secret, '/rate_limit', { headers: { connection: 'keep-alive' } });
  const idle = Number(/^timeout=(\d+)$/.exec(answer.headers.get('keep-alive') ?? '')?.[1]);
  assert.ok(idle > 0);
  const files = ['nginx/upstream.conf', 'nginx/upstream.scaled.conf'];
  const before = [...files.map((file) => seconds(file, 'keepalive_timeout')), seconds(CADDY, 'keepalive'), CADDY_IDLE];
  assert.ok(
    before.every((each) => each > 0 && each < idle),
    `${before} of ${idle} s`,
  );
});

test('what the proxies say themselves has codes, statuses and bounds of the service', () => {
  const own = /'(\{"code":.*\})'|`(\{"code":.*\})`/g;
  const errors = [SITE, CADDY].flatMap((file) =>
    [...text(file).matchAll(own)].map(([, single, quoted]) => JSON.parse(single ?? quoted ?? '')),
  );
  assert.equal(errors.length, 15);
  const bounds = { payload_too_large: `${BODY_BYTES_MAX} bytes`, uri_too_long: `${URL_CHARACTERS_MAX} characters` };
  for (const { code, status, message } of errors) {
    if (code in STATUS_OF) assert.equal(status, STATUS_OF[code as keyof typeof STATUS_OF], code);
    else assert.ok(!ERROR_CODES.includes(code), code);
    if (code in bounds) assert.ok(message.endsWith(`at most ${bounds[code as keyof typeof bounds]}`), message);
  }
  for (const [, status, error = ''] of text(SITE).matchAll(/^ {4}(\d{3}) +'(\{.*\})';$/gm))
    assert.equal(JSON.parse(error).status, Number(status));
  const security = [...text(SITE).matchAll(/Strict-Transport-Security "([^"]*)" always;/g)].map(([, value]) => value);
  assert.deepEqual(security, ['max-age=31536000', 'max-age=31536000'], 'of answers, and of errors of its own');
});
