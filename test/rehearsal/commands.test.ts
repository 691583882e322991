import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { run, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/** What an operator or a CI job does: a service of its own process, and commands beside it. */

const folder = temporaryFolder();
const options = {
  cwd: folder.path,
  env: { ENVIRONMENT: 'staging', REHEARSAL: 'on', DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}` },
};
let service: ServiceProcess;
before(async () => {
  service = await serveProcess(['--grease', 'seed'], options);
});
after(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function follow(script: string): Promise<{ id: string; get(path?: string): Promise<Response> }> {
  const made = await run(['keys', 'create', '--name', 'ci', '--rehearse', script, '--json'], options);
  assert.equal(made.code, 0, made.stderr);
  const { id, key } = JSON.parse(made.stdout) as { id: string; key: string };
  const headers = { authorization: `Bearer ${key}` };
  return { id, get: (path = '/categories') => fetch(`${service.url}${path}`, { headers }) };
}

/** A request that is answered 400. */
const REFUSED = '/categories?limit=none';

/** The end of the login link that ends last, in Unix seconds. */
function lastLoginEnd(file: string): number {
  using database = new DatabaseSync(file, { readOnly: true });
  return Number(database.prepare('SELECT max(ends_at) AS ends FROM console_logins').get()?.ends ?? Number.NaN);
}

const report = (id: string, ...flags: string[]) => run(['rehearse', 'report', id, ...flags], options);

test('a report exits with 3 until every step was reached, then with 0, and with 1 once a rule is broken', async () => {
  assert.match((await run(['clock', 'show'], options)).stdout, /^20\S+Z, not turned\n$/);
  const { id, get } = await follow('ok*2');
  assert.equal((await get()).status, 200);
  const begun = await report(id);
  assert.equal(begun.code, 3);
  assert.match(begun.stdout, /^The rehearsal of key_\w+: ok\*2\n1 of 2 steps were reached, by one request\n/);
  assert.equal(begun.stderr, '');
  assert.equal((await get(REFUSED)).status, 400);
  assert.equal((await report(id)).code, 0);
  assert.equal((await get(REFUSED)).status, 400);
  const broken = await report(id, '--json');
  assert.equal(broken.code, 1);
  const { keyId, script, reached, steps, requests, rules } = JSON.parse(broken.stdout);
  assert.deepEqual([keyId, script, reached, steps, requests.length], [id, 'ok*2', 2, 2, 3]);
  assert.deepEqual(
    rules.filter(({ verdict }: { verdict: string }) => verdict !== 'not met'),
    [
      {
        rule: 'stops',
        verdict: 'broken',
        evidence: ['Request 3 (GET /v1/categories) repeats request 2 (GET /v1/categories), which was answered 400'],
      },
    ],
  );
});

test('time that is turned takes a limit to its end, and the client has waited', async () => {
  const { id, get } = await follow('limit:3600,ok');
  assert.equal((await get()).headers.get('retry-after'), '3600');
  const before = Date.now();
  assert.equal((await run(['clock', 'advance', '1h'], options)).code, 0);
  assert.match((await run(['clock', 'show'], options)).stdout, /^20\S+Z, turned by 3600 s\n$/);
  assert.equal(JSON.parse((await run(['clock', 'show', '--json'], options)).stdout).turnedBy, 3_600);
  const made = JSON.parse((await run(['keys', 'create', '--name', 'later', '--json'], options)).stdout);
  assert.ok(Date.parse(made.createdAt) >= before - 1_000 + 3_600_000, 'commands go by the turned time');
  const invocation = { input: async () => Buffer.from('name\nDog\n') };
  await run(['categories', 'import', '-', '--format', 'csv'], { ...options, invocation });
  const [imported] = JSON.parse((await run(['audit', '--json'], options)).stdout);
  assert.equal(imported.action, 'categories.import');
  assert.ok(Date.parse(imported.at) >= before - 1_000 + 3_600_000, 'and so does what they store');
  const operators = async (...args: string[]) => (await run(['operators', ...args], options)).stdout;
  const issued = await operators('create', '--name', 'ops', '--role', 'viewer', '--expires', '30m', '--json');
  const { id: token, createdAt, expiresAt } = JSON.parse(issued);
  assert.ok(Date.parse(createdAt) <= Date.now(), 'tokens keep the time of the machine');
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 1_800_000);
  assert.match(await operators('list'), new RegExp(`  active until ${expiresAt}\n$`));
  assert.ok(Date.parse(JSON.parse(await operators('revoke', token)).revokedAt) <= Date.now());
  await run(['console', 'login'], options);
  assert.ok(lastLoginEnd(join(folder.path, 'x.db')) <= Date.now() / 1_000 + 600, 'and so do login links');
  assert.equal((await get()).status, 200);
  const { code, stdout } = await report(id);
  assert.equal(code, 0);
  assert.match(stdout, /^ {2}waits +kept$/m);
  const set = await run(['clock', 'set', '2040-01-01T00:00:00Z', '--json'], options);
  const { now, turnedBy } = JSON.parse(set.stdout);
  assert.ok(Math.abs(Date.parse(now) - Date.UTC(2040, 0, 1)) <= 1_000, now);
  assert.ok(Math.abs(Date.parse(now) / 1_000 - Date.now() / 1_000 - turnedBy) <= 2, set.stdout);
});

test('as JUnit and TAP a broken rule is a failure, one that was not met is skipped, an unreached step is an error', async () => {
  const { id, get } = await follow('ok*2');
  await get(REFUSED);
  await get(REFUSED);
  const { stdout } = await report(id, '--junit');
  assert.match(stdout, /<testsuite name="rehearsal ok\*2" tests="8" failures="1" errors="0" skipped="6">/);
  assert.match(
    stdout,
    /name="stops"><failure message="Request 2 .* repeats request 1 .*">A request that cannot succeed/,
  );
  assert.match(stdout, /name="waits"><skipped message="The script never led there"\/>/);
  assert.match((await report(id, '--tap')).stdout, /^TAP version 14\n1\.\.8\n# rehearsal ok\*2\nok 1 - script\n/);
  const unreached = await follow('lost');
  const { stdout: none } = await report(unreached.id, '--junit');
  assert.match(none, /name="script"><error message="0 of 1 steps were reached">/);
});

test('every answer of a service with --grease is greased', async () => {
  const { get } = await follow('ok');
  const { headers } = await get();
  assert.equal(headers.get('etag'), null);
  assert.ok([...headers.keys()].some((name) => name.startsWith('grease-')));
});

test('what is wrong is said: a script, a key without one, rehearsal that is off, two formats', async () => {
  const create = (script: string, env = options.env) =>
    run(['keys', 'create', '--name', 'ci', '--rehearse', script], { ...options, env });
  const wrong = await create('ok,sleep:2');
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
  assert.match(wrong.stderr, /^pet-catalog: Step 2 of the script, "sleep:2", is none of the steps: ok, limit:S/);
  const off = await create('ok', { ...options.env, REHEARSAL: 'off' });
  assert.equal(off.code, 2);
  assert.match(off.stderr, /--rehearse needs ENVIRONMENT=staging and REHEARSAL=on/);
  const unknown = await report('key_none');
  assert.deepEqual(
    [unknown.code, unknown.stdout, unknown.stderr],
    [
      2,
      '',
      'pet-catalog: The key key_none follows no script; `pet-catalog keys create --rehearse SCRIPT` issues one that does\n',
    ],
  );
  const both = 'pet-catalog: --json, --junit and --tap cannot be combined\n';
  assert.deepEqual(await report('key_none', '--json', '--junit'), { code: 2, stdout: '', stderr: both });
  const greased = await run(['serve', '--grease', 'x', '--rehearsal', 'off'], options);
  assert.equal(greased.code, 2);
  assert.match(greased.stderr, /--grease needs REHEARSAL=on/);
});

test('a login link, a backup of a first start keep the time of the machine, its sample the one that is turned', async () => {
  const file = join(folder.path, 'turned.db');
  const backups = join(folder.path, 'backups');
  const turned = { ...options, env: { ...options.env, DATABASE_URL: `sqlite:${file}`, BACKUP_DIR: backups } };
  await run(['migrate'], turned);
  const { code, stderr } = await run(['clock', 'advance', '30d'], turned);
  assert.equal(code, 0, stderr);
  await using started = await serveProcess(['--bootstrap', '--demo'], turned);
  const headers = { authorization: `Bearer ${/petcat_test_\w+/.exec(started.output.stdout)?.[0]}` };
  const orders = (await (await fetch(`${started.url}/store/orders`, { headers })).json()) as { shipDate?: string }[];
  const shipped = orders.flatMap(({ shipDate = [] }) => shipDate);
  assert.ok(shipped.length > 0 && shipped.every((at) => Date.parse(at) > Date.now() + 29 * 86_400_000), `${shipped}`);
  assert.ok(lastLoginEnd(file) <= Date.now() / 1_000 + 600);
  let backup = '';
  await untilTrue(() => {
    [backup = ''] = existsSync(backups) ? readdirSync(backups).filter((name) => name.endsWith('Z.db')) : [];
    return backup !== '';
  });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  assert.ok(backup < `pet-catalog-${tomorrow.replaceAll(':', '')}`, backup);
});

test('the time of a service that is not in rehearsal cannot be turned', async () => {
  const env = { ENVIRONMENT: 'staging', DATABASE_URL: `sqlite:${join(folder.path, 'plain.db')}` };
  const plain = { cwd: folder.path, env };
  await using _ = await serveProcess([], plain);
  assert.match((await run(['clock', 'show'], plain)).stdout, /^20\S+Z, not turned\n$/);
  const advice = 'start it with ENVIRONMENT=staging and REHEARSAL=on, and give this command the same\n';
  for (const [rehearsal, reason] of [
    ['off', 'The service of this database is not in rehearsal'],
    ['on', 'The service that runs on this database is not in rehearsal'],
  ] as const) {
    const { code, stderr } = await run(['clock', 'advance', '1h'], { ...plain, env: { ...env, REHEARSAL: rehearsal } });
    assert.deepEqual([code, stderr], [1, `pet-catalog: ${reason}; ${advice}`]);
  }
});

test('a service that is killed goes on where the script was', async () => {
  const { id, get } = await follow('ok,error,unavailable:2,ok');
  assert.equal((await get()).status, 200);
  assert.equal((await get('/pets')).status, 500);
  await service.end('SIGKILL');
  assert.match((await report(id)).stdout, /^2 of 4 steps were reached, by 2 requests$/m);
  service = await serveProcess([], options);
  assert.equal((await get('/inventory')).status, 503);
  assert.match((await report(id)).stdout, /^3 of 4 steps were reached, by 3 requests$/m);
});
