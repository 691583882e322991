import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { RULES } from '../../src/server/referee.ts';
import { run } from '../kit/fixtures.ts';
import { MAIN_KEY, openMake } from './stranger.ts';

describe('referee server', () => {
  const secret = MAIN_KEY;
  let service: Awaited<ReturnType<typeof openMake>>;
  const server = (...args: string[]) => run(['server', ...args]);

  before(async () => {
    service = await openMake({});
  });
  after(() => service[Symbol.asyncDispose]());

  test('judges a service: a line for each group, and a summary', async () => {
    const { code, stdout } = await server(`${service.url}/`, '--key', secret);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^http:\S+\/v1, by the published interface\n\n {2}list +2 passed\n/);
    assert.match(stdout, /\n {2}not judged: limits\.headers-on-429, .*\n {4}no --limited-key\n/);
    assert.match(stdout, /\n\n\d+ passed, \d+ not judged of \d+ rules\n$/);
    assert.ok(!stdout.includes('\x1b'), 'no colours where there is no terminal');
  });

  test('shows a failure with its exchange and the sentence that it breaks, keys masked, in three forms', async () => {
    await using other = await openMake({ knows: () => false });
    const args = [other.url, '--key', secret, '--only', 'list.200-array'];
    const text = await server(...args);
    assert.equal(text.code, 1);
    assert.match(
      text.stdout,
      /\n {2}FAILED list\.200-array\n {4}When the caller is authenticated, .*\n {4}the status is 401, not 200\n {6}expected: 200/,
    );
    assert.match(text.stdout, /\n {6}GET \/categories\n {6}authorization: Bearer \*\*\*\n/);
    assert.match(text.stdout, /\n\n1 failed of 1 rule\n$/);
    const [json, junit] = [await server(...args, '--json'), await server(...args, '--junit')];
    const { url, level, rules } = JSON.parse(json.stdout);
    assert.deepEqual([url, level, rules.length, json.code], [other.url, 'published', 1, 1]);
    const members = 'id level sentence source verdict expected seen reason exchanges'.split(' ');
    assert.deepEqual(Object.keys(rules[0]).toSorted(), members.toSorted());
    assert.equal(
      rules[0].exchanges[0].curl,
      `curl -sS -i -X GET '${other.url}/categories' -H 'authorization: Bearer '"$KEY"'' -H 'accept-encoding: identity'`,
    );
    assert.match(
      junit.stdout,
      /<testsuite name="http:.*" tests="1" failures="1" errors="0" skipped="0">\n {2}<testcase .*<failure /,
    );
    for (const { stdout, stderr } of [text, json, junit]) assert.ok(!(stdout + stderr).includes(secret));
  });

  test('takes each option to its bounds, and shows on a terminal how far it is', async () => {
    const shown: unknown[][] = [];
    const invocation = {
      hasColours: () => true,
      progress: (...one: unknown[]) => void shown.push(one),
    };
    const once = (...more: string[]) =>
      run(['server', service.url, '--key', secret, '--only', 'list.200-array', ...more], invocation);
    const { code, stdout, stderr } = await once('--repeat', '2', '--concurrency', '200', '--level', 'ours');
    const name = `${service.url}, by the published interface and our decisions`;
    assert.deepEqual(
      [code, stderr, stdout],
      [0, '', `${name}\n\n  list  passed\n\n\x1b[32m1 passed of 1 rule\x1b[39m\n`],
    );
    assert.deepEqual(
      shown,
      [0, 1, 2].map((judged) => ['Judging', judged, 2]),
    );
    assert.equal((await once('--repeat', '100', '--concurrency', '2')).code, 0);
    assert.deepEqual(shown.at(-1), ['Judging', 100, 100]);
    const judged = async (rule: string, ...more: string[]) => {
      const ran = await server(service.url, '--key', secret, '--json', '--only', rule, ...more);
      const [{ verdict, reason }] = JSON.parse(ran.stdout).rules;
      return reason ?? verdict;
    };
    const [other, waits] = ['auth.other-environment', 'limits.window-opens-again'];
    assert.deepEqual(
      [
        await judged(other),
        await judged(other, '--other-environment-key', 'x'),
        await judged(waits),
        await judged(waits, '--limited-key', 'x'),
        await judged(waits, '--limited-key', 'x', '--full'),
      ],
      [
        'no --other-environment-key',
        'passed',
        'no --limited-key',
        'it waits for a window; --full judges it',
        'the limited key is answered with 401',
      ],
    );
  });

  test('lists the rules, each with the sentence that it comes from', async () => {
    const ids = RULES.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const all = await server('--list', '--level', 'ours');
    assert.equal(all.stdout.trim().split('\n').length, RULES.length);
    const published = JSON.parse((await server('--list', '--json', '--level', 'published')).stdout);
    assert.ok(published.length > 25 && published.length < RULES.length);
    assert.deepEqual(
      published.map(({ id }: { id: string }) => id),
      RULES.filter(({ level }) => level === 'published').map(({ id }) => id),
    );
    for (const rule of RULES) assert.ok(rule.sentence && rule.source && rule.expected, rule.id);
  });

  test('ends with 2 and one line where no server is, where none speaks HTTP, and for a wrong command line', async () => {
    const nothing = `http://127.0.0.1:1/v1`;
    await using other = await openOther();
    const address = (text: string) => `The address is "${text}"; write a base address such as http://127.0.0.1:8080/v1`;
    const given = (...more: string[]) => [service.url, '--key', 'x', ...more];
    for (const [args, said] of [
      [[nothing, '--key', 'x'], `Nothing that speaks HTTP answers at ${nothing}: `],
      [[other.url, '--key', 'x'], `Nothing that speaks HTTP answers at ${other.url}: `],
      [[service.url], '--key is missing; give a key of the server\n'],
      [['--key', 'x'], `${address('')}\n`],
      ...[
        'nowhere',
        'ftp://127.0.0.1/v1',
        'http://me@127.0.0.1/v1',
        'http://127.0.0.1/v1?a',
        'http://127.0.0.1/v1#a',
      ].map((text) => [[text, '--key', 'x'], `${address(text)}\n`] as const),
      ...[
        ['--key', 'a\r'],
        ['--limited-key', ''],
        ['--other-environment-key', 'ключ'],
      ].map(
        ([option = '', key = '']) =>
          [
            given(option, key),
            `${option} is empty, or has a space, a line break or a letter beyond ASCII; give a key alone\n`,
          ] as const,
      ),
      [given('--only', 'none'), '--only is "none"; --list names the rules\n'],
      [given('--skip', 'none'), '--skip is "none"; --list names the rules\n'],
      [given('--only', 'list.200-array', '--skip', 'list.200-array'), '--skip and --only leave no rule\n'],
      [given('--level', 'all'), '--level is "all"; write published or ours\n'],
      [given('--concurrency', '1'), '--concurrency is "1"; write a number from 2 to 200\n'],
      [given('--concurrency', '201'), '--concurrency is "201"; write a number from 2 to 200\n'],
      [given('--repeat', '0'), '--repeat is "0"; write a number from 1 to 100\n'],
      [given('--repeat', '101'), '--repeat is "101"; write a number from 1 to 100\n'],
      [given('--plan', 'huge'), '--plan is "huge"; write free, pro, business\n'],
      [given('--json', '--tap'), '--json, --junit and --tap cannot be combined\n'],
    ] as const) {
      const shown: unknown[] = [];
      const invocation = { progress: (...one: unknown[]) => void shown.push(one) };
      const { code, stdout, stderr } = await run(['server', ...args], invocation);
      assert.equal(shown.length, said.startsWith('Nothing') ? 1 : 0, said);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.ok(stderr.startsWith(`referee: ${said}`) && stderr.indexOf('\n') === stderr.length - 1, stderr);
    }
  });
});

/** A server of another protocol. */
async function openOther(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('220 mail.example ESMTP\r\n'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
