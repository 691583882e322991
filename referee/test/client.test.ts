import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { untilTrue } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import type { Cell, ClientReport } from '../src/client/report.ts';
import { things } from './kit/api.ts';
import { COMMAND, ENV, isAlive, run, runReferee } from './kit/fixtures.ts';
import { standing, upstreamOf } from './kit/upstream.ts';

/** `referee client` as a person runs it, in a folder of a project. */

const PROGRAM = fileURLToPath(new URL('./kit/program.ts', import.meta.url));
const API = fileURLToPath(new URL('./kit/api.ts', import.meta.url));
const START = `'${process.execPath}' '${API}'`;
const SCHEMA = JSON.parse(readFileSync(new URL('../client-report.schema.json', import.meta.url), 'utf8'));
const isReport = new Ajv2020({ strict: false }).compile(SCHEMA);

const folder = temporaryFolder();
// The commands run in this process, and each looks for a referee.json where it is.
before(() => process.chdir(folder.path));
after(() => {
  process.chdir(tmpdir());
  folder[Symbol.dispose]();
});
const inFolder = (name: string) => join(folder.path, name);
const client = (...args: string[]) => run(['client', ...args]);
const program = (...words: string[]) => ['--', process.execPath, PROGRAM, ...words];

test('a suite of three calls is learned, and judged before an API that is started for each play', async () => {
  const words = ['--start', START, '--jobs', '5', '--plays', '5', '--json', ...program()];
  const { code, stdout, stderr } = await runReferee(['client', ...words], { cwd: folder.path });
  assert.equal(code, 0, stdout + stderr);
  assert.match(
    stderr,
    /^api-referee: learning from 2 runs .*\napi-referee: 5 of 28 plays, each runs the command once\n$/,
  );
  const report: ClientReport = JSON.parse(stdout);
  assert.ok(isReport(report as unknown), JSON.stringify(isReport.errors));
  assert.deepEqual(report.calls, [
    { kind: 'GET /api/things', count: 1, hasJson: true },
    { kind: 'POST /api/things', count: 1, hasJson: true },
    { kind: 'GET /api/things/{}', count: 1, hasJson: true },
  ]);
  const verdictOn = (rule: string) =>
    report.rules.find((cell: Cell) => cell.rule === rule && /POST/.test(cell.kind))?.verdict;
  assert.deepEqual([verdictOn('once'), verdictOn('stops')], ['kept', 'kept']);
  assert.deepEqual([report.planned, report.played, report.exit.code], [28, 5, 0]);
});

describe('before an API that is there', () => {
  for (const [what, code, said, args, words = []] of [
    ['one script', 0, /\n1 of 1 play, \d+ s\. Exit 0: no rule is broken\.\n$/, ['lost@POST,ok']],
    [
      'a create that is doubled',
      1,
      /\n {2}BROKEN once for POST \/things\n {4}One create .*\n {4}lost@POST: Request 3 .* repeats request 2 .* without an idempotency key, after no answer\n {4}fix: make one /,
      ['lost@POST'],
      ['no-key'],
    ],
    ['a write that is not told', 1, /BROKEN tells for POST \/things/, ['error@POST'], ['silent']],
    ['an impatient client', 1, /BROKEN waits for GET \/things\n/, ['limit:1@GET'], ['impatient']],
    [
      'a client that never stops',
      1,
      /BROKEN gives-up for POST \/things\n.*\n.*was waited for without end/,
      ['stall@POST', '--timeout', '2s'],
      ['endless', 'create'],
    ],
    [
      'a command that failed without need',
      4,
      /Exit 4: the command failed under error@POST/,
      ['error@POST'],
      ['no-retries'],
    ],
    ['the same, forgiven', 0, /Exit 0/, ['error@POST', '--allow-failure'], ['no-retries']],
    ['a command that failed once of itself', 0, /Exit 0/, ['grease@GET'], ['fails-third']],
    ['a retry that is required', 1, /BROKEN recovers/, ['error@POST', '--require', 'recovers'], ['no-retries']],
    ['a step that is not reached', 3, /Exit 3: 3 of 4 steps of ok\*3,lost were reached/, ['ok*3,lost']],
    ['the same, forgiven', 0, /Exit 0/, ['ok*3,lost', '--partial']],
    ['a rule that is left out', 0, /Exit 0/, ['lost@POST', '--skip', 'once'], ['no-key']],
    ['another rule alone', 0, /Exit 0/, ['lost@POST', '--only', 'waits'], ['no-key']],
  ] as [string, number, RegExp, string[], string[]?][]) {
    test(`${what} ends with ${code}`, async () => {
      await using upstream = await upstreamOf(things());
      const ran = await client('--upstream', upstream.url, ...args, ...program(...words));
      assert.deepEqual([ran.code, said.test(ran.stdout)], [code, true], ran.stdout + ran.stderr);
    });
  }
});

describe('what cannot be tried ends with 2 and one line that says why:', () => {
  const started = ['--start', START];
  for (const [what, said, args, words = program()] of [
    ['no API', '--upstream URL or --start COMMAND is missing; one of them says where the API is\n', []],
    ['no command', 'The command is missing; write it after --, such as -- npm test\n', started, []],
    [
      'a client that fails by itself',
      'The command fails (exit 1) without a fault, so that it cannot be judged:\n',
      started,
      program('fails'),
    ],
    [
      'a client that fails without a word',
      'The command fails (exit 1) without a fault, so that it cannot be judged; it wrote nothing\n',
      started,
      ['--', 'false'],
    ],
    ['a client that asks nothing', 'No request came: does the command use REFEREE_URL?\n', started, program('nothing')],
    [
      'a reset that fails',
      'The command of --before failed (exit 3):\nlocked\n',
      [...started, '--before', 'echo locked; exit 3'],
    ],
    [
      'plays side by side before one API',
      '--jobs needs --start, which gives each play its own API\n',
      ['--upstream', 'http://127.0.0.1:1', '--jobs', '2'],
    ],
    ['a rule that is none', '--skip is "all"; the rules are waits, backs-off', [...started, '--skip', 'all']],
    ['a page that cannot be written', '--html cannot be written: ', [...started, '--html', '/no/such']],
    ['two formats', '--json and --junit cannot be combined\n', [...started, '--json', '--junit']],
    ['a wrong script', 'The step "lots" is none of these: ', ['lots', ...started]],
    ['an unknown option', "unknown option '--grease'", ['--grease']],
  ] as [string, string, string[], string[]?][]) {
    test(what, async () => {
      const { code, stdout, stderr } = await client(...args, ...words);
      const last = stderr.replace(/^api-referee: learning.*\n/, '');
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.ok(last.startsWith(`api-referee: ${said}`), stderr);
    });
  }
});

test('an API that speaks HTTP/2 only ends with 2 and says so', async () => {
  await using api = await standing(createHttp2Server() as unknown as Server);
  const { code, stderr } = await client('ok', '--upstream', api.url, ...program('no-retries', 'create'));
  assert.deepEqual([code, /does not speak HTTP\/1\.1 \(HPE_\w+\): HTTP\/2 only/.test(stderr)], [2, true], stderr);
});

test('the command gets the addresses of the proxy, and its options from referee.json', async () => {
  await using upstream = await upstreamOf(things());
  const file = inFolder('referee.json');
  const told = inFolder('told.txt');
  const env = { OWN: '{origin} {port} {url}' };
  writeFileSync(file, JSON.stringify({ upstream: `${upstream.url}/api`, env, scripts: ['ok'], allowFailure: true }));
  try {
    const { code, stdout, stderr } = await client('--', 'sh', '-c', `echo $REFEREE_URL $OWN > ${told}; exit 3`);
    // It asked for nothing.
    assert.deepEqual(
      [code, stderr.split('\n').at(-2)],
      [2, 'api-referee: No request came: does the command use REFEREE_URL?'],
      stdout,
    );
    const [url = '', origin, port, again] = readFileSync(told, 'utf8').trim().split(' ');
    assert.deepEqual([`${origin}/api`, new URL(url).port, again], [url, port, url]);
    for (const [json, said] of [
      ['{"upstrem":"x"}', 'there is no option "upstrem"; '],
      ['{"safe":"POST /things"}', 'safe is "POST /things"; write a list\n'],
      ['{"strict":"no"}', 'strict is "no"; write true or false\n'],
      ['{"thresholds":null}', 'thresholds is null; write an object\n'],
    ] as const) {
      writeFileSync(file, json);
      const { stderr } = await client('--', 'true');
      assert.ok(stderr.startsWith(`api-referee: referee.json: ${said}`), stderr);
    }
  } finally {
    writeFileSync(file, '{}');
  }
});

test('a verdict is written in every form, a known failure does not count, and one that is mended does', async () => {
  await using upstream = await upstreamOf(things());
  const known = inFolder('known.txt');
  writeFileSync(known, 'POST /things once\n');
  const [html, junit, summary] = ['v.html', 'v.xml', 's.md'].map(inFolder) as [string, string, string];
  const badge = inFolder('badge.svg');
  const forms = ['--html', html, '--badge', badge, '--junit', '--output', junit, '--github'];
  const args = ['lost@POST', '--upstream', upstream.url, '--header', 'X-Api-Key=secret', ...forms];
  const { code, stdout } = await run(['client', ...args, ...program('no-key')], {
    env: { ...ENV, GITHUB_STEP_SUMMARY: summary },
  });
  assert.equal(code, 1);
  assert.match(
    stdout,
    /^The client, by kind of request and rule\n.*\n::error title=once for POST \/things::lost@POST/s,
  );
  const read = (file: string) => readFileSync(file, 'utf8');
  assert.match(read(junit), /<testcase classname="The client.*" name="once for POST \/things"><failure /);
  assert.match(read(html), /<h2 class="failed">once for POST \/things<\/h2>.*<td class="">lost@POST<\/td>/s);
  assert.match(read(badge), /^<svg .*aria-label="api-referee: \d broken".*>\d broken<\/text><\/svg>\n$/);
  assert.match(read(summary), /^### The client.*\| broken \|/s);
  const expected = (...words: string[]) =>
    client('lost@POST', 'reset@POST', '--upstream', upstream.url, '--expected', known, ...program(...words));
  const accepted = await expected('no-key');
  const isKnown = /\n {2}never tested: .*once.*\n.*known to be broken/s.test(accepted.stdout);
  assert.deepEqual([accepted.code, isKnown], [0, true]);
  const mended = await expected();
  const isStale = /Exit 1: .*known\.txt:1: "POST \/things once" is stale/.test(mended.stdout);
  assert.deepEqual([mended.code, isStale], [1, true]);
});

test('--fast makes the six most telling plays, and says which were not made', async () => {
  const args = ['--start', START, '--fast', '--jobs', '3', '--json'];
  const report: ClientReport = JSON.parse((await client(...args, ...program())).stdout);
  const faults = report.plays.map(({ script }) => script.split('@')[0]);
  assert.deepEqual(faults, ['lost', 'limit:1', 'error*2', 'error*12', 'revoked', 'cut']);
  assert.ok(report.planned > 20);
});

test('a report is written again in another form, and --strict asks for what was not tested', async () => {
  await using upstream = await upstreamOf(things());
  const file = inFolder('report.json');
  const args = ['--upstream', upstream.url, '--plays', '1', '--strict', '--json', '--output', file];
  const { code, stdout } = await client(...args, ...program());
  assert.deepEqual([code, /Exit 3: \S+ was not tested for GET \/things\./.test(stdout)], [3, true], stdout);
  assert.match(stdout, /; 27 that were planned were not made, /);
  const again = await run(['report', file]);
  assert.equal(again.stdout, stdout);
  assert.match((await run(['report', file, '--junit'])).stdout, /^<\?xml version/);
  writeFileSync(file, '[]');
  assert.match((await run(['report', file])).stderr, /is no report; give what api-referee client --json/);
});

test('a signal ends the command and the API with all that they started', async () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const pids = inFolder(signal);
    const start = `sleep 1000 & echo $! >> ${pids}; ${START}`;
    const command = ['--', 'sh', '-c', `sleep 1000 & echo $! >> ${pids}; wait`];
    const child = spawn(process.execPath, [COMMAND, 'client', 'ok', '--start', start, ...command], { stdio: 'ignore' });
    await untilTrue(() => existsSync(pids) && readFileSync(pids, 'utf8').trim().split('\n').length === 2);
    child.kill(signal);
    assert.deepEqual(await once(child, 'exit'), [code, null]);
    for (const pid of readFileSync(pids, 'utf8').trim().split('\n')) await untilTrue(() => !isAlive(Number(pid)));
  }
});
