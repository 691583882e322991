import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { RULES } from '../src/server/server.ts';
import { missingPrograms, run, temporaryFolder } from './kit/fixtures.ts';
import { standing } from './kit/upstream.ts';
import { judged } from './liar/judged.ts';
import { say } from './liar/lie.ts';
import { type Asked, type Category, LIMITED_KEY, MAIN_KEY, serve, type Way } from './liar/server.ts';

const LIST = { status: 200, method: 'GET', path: '/categories' };
const server = (url: string, ...args: string[]) => run(['server', url, '--key', MAIN_KEY, ...args]);
const isOfLimited = ({ headers }: Asked) => headers.authorization === `Bearer ${LIMITED_KEY}`;

describe('referee server', () => {
  let service: Awaited<ReturnType<typeof serve>>;

  before(async () => {
    service = await serve();
  });
  after(() => service[Symbol.asyncDispose]());

  test('judges a service: a line for each group, and a summary', async () => {
    const { code, stdout } = await server(`${service.url}/`);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^http:\S+\/v1, by the published interface\n\n {2}list +3 passed\n/);
    assert.match(stdout, /\n {2}not judged: limits\.headers-on-429, .*\n {4}no --limited-key\n/);
    assert.match(stdout, /\n\n\d+ passed, \d+ not judged of \d+ rules\n$/);
    assert.ok(!stdout.includes('\x1b'), 'no colours where there is no terminal');
  });

  test('shows a failure with its exchange and the sentence that it breaks, keys masked, in three forms', async () => {
    await using other = await serve({ knows: () => false });
    const args = [other.url, '--only', 'list.200-array'] as const;
    const text = await server(...args);
    assert.equal(text.code, 1);
    assert.match(
      text.stdout,
      /\n {2}FAILED list\.200-array\n {4}When the caller is authenticated, .* \(List categories, rule 1\)\n {4}the status is 401, not 200\n {6}expected: 200/,
    );
    assert.match(
      text.stdout,
      /\n {6}GET \/categories\n {6}authorization: Bearer \*\*\*\n {6}→ 401\n( {6}.*\n)* {6}curl -sS -i -X GET /,
    );
    assert.match(text.stdout, /\n\n1 failed of 1 rule\n$/);
    const [json, junit] = [await server(...args, '--json'), await server(...args, '--junit')];
    const { url, level, rules } = JSON.parse(json.stdout);
    assert.deepEqual([url, level, rules.length, json.code], [other.url, 'published', 1, 1]);
    const members = 'id level sentence source verdict expected seen reason exchanges'.split(' ');
    assert.deepEqual(Object.keys(rules[0]).toSorted(), members.toSorted());
    assert.match(
      junit.stdout,
      /<testsuite name="http:.*" tests="1" failures="1" errors="0" skipped="0">\n {2}<testcase .*<failure /,
    );
    for (const { stdout, stderr } of [text, json, junit]) assert.ok(!(stdout + stderr).includes(MAIN_KEY));
  });

  test('takes each option to its bounds, and shows on a terminal how far it is', async () => {
    const shown: unknown[][] = [];
    const invocation = { hasColours: () => true, progress: (...one: unknown[]) => void shown.push(one) };
    const judge = (...more: string[]) =>
      run(['server', service.url, '--key', MAIN_KEY, '--only', 'list.200-array', ...more], invocation);
    const { code, stdout, stderr } = await judge('--repeat', '2', '--concurrency', '200', '--level', 'ours');
    const name = `${service.url}, by the published interface and our decisions`;
    assert.deepEqual(
      [code, stderr, stdout],
      [0, '', `${name}\n\n  list  passed\n\n\x1b[32m1 passed of 1 rule\x1b[39m\n`],
    );
    assert.deepEqual(
      shown,
      [0, 1, 2].map((count) => ['Judging', count, 2]),
    );
    assert.equal((await judge('--repeat', '100', '--concurrency', '2')).code, 0);
    assert.deepEqual(shown.at(-1), ['Judging', 100, 100]);
  });

  test('says what a rule that is not judged needs', async () => {
    const [other, waits, plan] = ['auth.other-environment', 'limits.window-opens-again', 'limits.key-plan'];
    const limited = ['--limited-key', 'x'];
    for (const [rule, more, said] of [
      [other, [], 'no --other-environment-key'],
      [other, ['--other-environment-key', 'x'], 'passed'],
      [plan, [], 'no --key-plan'],
      [plan, ['--key-plan', 'business'], 'passed'],
      [plan, ['--key-plan', 'pro'], 'failed'],
      [waits, [], 'no --limited-key'],
      ['limits.plan', limited, 'no --plan'],
      [waits, limited, 'it waits for a window; --full judges it'],
      [waits, [...limited, '--full'], 'the limited key is answered with 401'],
    ] as const) {
      const { stdout } = await server(service.url, '--json', '--only', rule, ...more);
      const [{ verdict, reason }] = JSON.parse(stdout).rules;
      assert.equal(reason ?? verdict, said, rule);
    }
  });

  test('lists the rules, each with the sentence that it comes from', async () => {
    const ids = RULES.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const all = await run(['server', '--list', '--level', 'ours']);
    assert.equal(all.stdout.trim().split('\n').length, RULES.length);
    const published = JSON.parse((await run(['server', '--list', '--json', '--level', 'published'])).stdout);
    assert.ok(published.length > 25 && published.length < RULES.length);
    assert.deepEqual(
      published.map(({ id }: { id: string }) => id),
      RULES.filter(({ level }) => level === 'published').map(({ id }) => id),
    );
    for (const rule of RULES) assert.ok(rule.sentence && rule.source && rule.expected, rule.id);
  });

  test('ends with 2 and one line where no server is, where none speaks HTTP, and for a wrong command line', async () => {
    const nothing = 'http://127.0.0.1:1/v1';
    const mail = createServer((socket) => {
      socket.on('error', () => {}).resume();
      socket.end('220 mail.example ESMTP\r\n');
    });
    await using other = await standing(mail);
    const versioned = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', (head) => socket.end(`HTTP/1.1 ${`${head}`.startsWith('GET /v1/') ? 401 : 404} No\r\n\r\n`));
    });
    await using deeper = await standing(versioned);
    const address = (text: string) => `The address is "${text}"; write a base address such as http://127.0.0.1:8080/v1`;
    const given = (...more: string[]) => [service.url, '--key', 'x', ...more];
    const unfit = 'is empty, or has a space, a line break or a letter beyond ASCII; give a key alone';
    const addresses = ['nowhere', 'ftp://127.0.0.1/v1', 'http://me@127.0.0.1/v1', 'http://127.0.0.1/v1?a'];
    for (const [args, said] of [
      [[nothing, '--key', 'x'], `Nothing that speaks HTTP answers at ${nothing}/categories: `],
      [[other.url, '--key', 'x'], `Nothing that speaks HTTP answers at ${other.url}/categories: `],
      [[deeper.url, '--key', 'x'], `${deeper.url}/categories is not there; did you mean ${deeper.url}/v1?\n`],
      [[service.url], '--key is missing; give a key of the server\n'],
      [['--key', 'x'], `${address('')}\n`],
      ...addresses.map((text) => [[text, '--key', 'x'], `${address(text)}\n`] as const),
      [given('--key', 'a\r'), `--key ${unfit}\n`],
      [given('--limited-key', ''), `--limited-key ${unfit}\n`],
      [given('--other-environment-key', 'ключ'), `--other-environment-key ${unfit}\n`],
      [given('--only', 'none'), '--only is "none"; --list names the rules\n'],
      [given('--skip', 'none'), '--skip is "none"; --list names the rules\n'],
      [given('--only', 'list.200-array', '--skip', 'list.200-array'), '--skip and --only leave no rule\n'],
      [given('--level', 'all'), '--level is "all"; write published or ours\n'],
      [given('--concurrency', '1'), '--concurrency is "1"; write a number from 2 to 200\n'],
      [given('--concurrency', '201'), '--concurrency is "201"; write a number from 2 to 200\n'],
      [given('--repeat', '0'), '--repeat is "0"; write a number from 1 to 100\n'],
      [given('--repeat', '101'), '--repeat is "101"; write a number from 1 to 100\n'],
      [given('--plan', 'huge'), '--plan is "huge"; write free, pro, business\n'],
      [given('--key-plan', 'huge'), '--key-plan is "huge"; write free, pro, business\n'],
      [given('--json', '--tap'), '--json, --junit and --tap cannot be combined\n'],
    ] as const) {
      const { code, stdout, stderr } = await run(['server', ...args]);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.ok(stderr.startsWith(`referee: ${said}`) && stderr.indexOf('\n') === stderr.length - 1, stderr);
    }
  });
});

describe('the command ends with', () => {
  test('2 and the verdicts so far, for a server that answers 429 to everything', async () => {
    await using other = await serve(
      say({}, (answer) => Object.assign(answer, { status: 429, headers: { 'retry-after': 3_600 }, body: '' })),
    );
    const { code, stdout, stderr } = await server(other.url);
    assert.equal(code, 2, stdout);
    assert.match(stderr, /nothing could be judged/);
    assert.match(stdout, /\n\n\d+ not judged of \d+ rules\n$/);
  });

  test('2 and the verdicts so far, for a server that goes away', async () => {
    const leaving = (): Way => ({
      instead({ state: { requests }, response }) {
        if (requests > 20) response.socket?.destroy();
        return requests > 20;
      },
    });
    await using other = await serve(leaving());
    const { code, stdout, stderr } = await server(other.url, '--repeat', '3');
    assert.equal(code, 2, stdout);
    assert.equal(stderr, 'referee: the server no longer answers: no answer: socket hang up\n');
    assert.match(stdout, /\n\n\d+ passed, \d+ not judged of \d+ rules\n$/);
    await using wrong = await serve(
      leaving(),
      say({ status: 201 }, (answer) => Object.assign(answer, { status: 200 })),
    );
    const both = await server(wrong.url);
    assert.deepEqual([both.code, / failed/.test(both.stdout)], [2, true], both.stdout);
  });

  test('2 and one line for TLS that cannot be verified, or by which only HTTP/2 is spoken', async (t) => {
    const skip = missingPrograms('openssl');
    if (skip) return t.skip(skip);
    using folder = temporaryFolder();
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=a', '-keyout', 'a.key'];
    execFileSync('openssl', [...request, '-out', 'a.crt'], { cwd: folder.path, stdio: 'ignore' });
    const [key, cert] = ['a.key', 'a.crt'].map((file) => readFileSync(join(folder.path, file)));
    await using plain = await standing(createHttpsServer({ key, cert }), 'https');
    const unverified = await server(plain.url);
    assert.deepEqual([unverified.code, unverified.stdout], [2, '']);
    const why = `The certificate of ${plain.url}/categories cannot be verified (DEPTH_ZERO_SELF_SIGNED_CERT)`;
    assert.equal(unverified.stderr, `referee: ${why}; NODE_EXTRA_CA_CERTS=FILE names your own authority\n`);
    // Node.js answers a client of HTTP/1.1 with 403, and others end the handshake.
    await using only = await standing(
      createSecureServer({ key, cert, unknownProtocolTimeout: 10 }) as unknown as Server,
      'https',
    );
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    t.after(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    const http2 = await server(only.url);
    const said = `${only.url}/categories speaks HTTP/2 only; give an address that speaks HTTP/1.1`;
    assert.deepEqual([http2.code, http2.stdout, http2.stderr], [2, '', `referee: ${said}\n`]);
  });

  test('3 with --strict, if a rule could not be judged; --skip leaves it out', async () => {
    await using other = await serve({ isSerial: true });
    const lenient = await server(other.url);
    assert.deepEqual([lenient.code, /\d+ not judged of/.test(lenient.stdout)], [0, true]);
    const only = ['--only', 'list.200-array', '--only', 'limits.429-over-limit'];
    assert.equal((await server(other.url, '--strict', ...only)).code, 3);
    // What waits is judged with --full alone, and is missed with it alone.
    const waits = ['--strict', '--only', 'list.200-array', '--only', 'limits.retry-after-suffices'];
    assert.equal((await server(other.url, ...waits)).code, 0);
    assert.equal((await server(other.url, ...waits, '--full')).code, 3);
    const { code, stdout } = await server(other.url, '--strict', ...only, '--skip', 'limits.429-over-limit');
    assert.deepEqual([code, /\n1 passed of 1 rule\n$/.test(stdout)], [0, true], stdout);
  });

  test('0 for a last token that goes to one of as many requests as --concurrency says', async () => {
    for (const [count, options] of [
      [12, ['--concurrency', '3']],
      [14, ['--concurrency', '5']],
      [25, []],
    ] as const) {
      let requests = 0;
      await using other = await serve({
        limit: 10,
        asked(asked) {
          if (isOfLimited(asked)) requests += 1;
        },
      });
      const only = ['--limited-key', LIMITED_KEY, '--only', 'limits.last-token', ...options];
      assert.equal((await server(other.url, ...only)).code, 0);
      assert.equal(requests, count);
    }
  });

  test('1 for the worst of several runs', async () => {
    await using other = await serve(
      say({ when: ({ state: { requests } }) => requests > 4 && requests <= 8 }, (answer) => {
        answer.body = 'no list';
      }),
    );
    const { code, stdout } = await server(other.url, '--only', 'list.200-array', '--repeat', '3');
    assert.equal(code, 1);
    assert.match(stdout, /the body is no JSON array \(in 1 of 3 runs\)/);
    assert.equal(other.state.requests, 12);
  });

  test('1 and nothing unprintable, for a hostile answer', async () => {
    const body = Buffer.from('\x1b]0;\x07\u009b31m\u202e<b>');
    await using other = await serve(say({}, (answer) => Object.assign(answer, { body, headers: { 'x-a': '\x9b1m' } })));
    for (const form of ['--json', '--junit', '--tap', '--full']) {
      const { code, stdout } = await server(other.url, form, '--only', 'list.200-array');
      assert.equal(code, 1);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    }
  });
});

test('a list of 30,000 is judged, and one that is not a list is not read to its end', async () => {
  const many = Array.from({ length: 30_000 }, (_, index) => ({ id: index + 1_000_000, name: `Dog ${index}` }));
  const listing = (change: (all: readonly Category[]) => readonly unknown[]) =>
    say(LIST, (answer) => {
      answer.body = change(answer.body as readonly Category[]);
    });
  const only = ['list.200-array', 'create.ids-unique', 'list.every-category'];
  const { report } = await judged([listing((all) => [...many, ...all])], { only });
  assert.equal(report.passed, 3, JSON.stringify(report.rules.filter(({ verdict }) => verdict !== 'passed')));
  const losing = listing((all) => [...all, ...many.slice(0, all.length > 0 ? 10_000 : 10_001)]);
  const { report: lost } = await judged([losing], { only: ['list.every-category'] });
  assert.equal(lost.rules[0]?.seen, '1 categories are missing in the list or differ there, among them 1010000');
  let written = 0;
  const endless: Way = {
    instead({ method, headers, response }) {
      if (method !== 'GET' || headers.authorization === undefined) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const write = () => {
        while (!response.destroyed && written < 200e6 && response.write('[]'.repeat(50_000))) written += 100_000;
      };
      response.on('drain', write);
      write();
      return true;
    },
  };
  const { report: hostile } = await judged([endless], { only: ['list.200-array'] });
  assert.equal(hostile.rules[0]?.seen, 'something follows the array');
  assert.ok(written < 50e6, `${written} bytes were read`);
});

test('at most 40 categories are created, and without --full it ends within 30 s of a slow server', async () => {
  for (const latencySeconds of [0, 0.3, 2]) {
    let startedAt = 0;
    let endedAt = 0;
    const counting: Way = {
      ...(latencySeconds > 0 && { latencySeconds }),
      asked({ now }) {
        startedAt ||= now;
        endedAt = now;
      },
    };
    let creates = 0;
    const created = say({ status: 201 }, () => {
      creates += 1;
    });
    await judged([counting, created], { level: 'ours', isFull: false });
    assert.ok(creates <= 40, `${creates} creates`);
    assert.ok(endedAt - startedAt <= 30, `${endedAt - startedAt} s`);
  }
});
