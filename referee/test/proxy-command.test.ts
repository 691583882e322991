import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../../test/kit/clock.ts';
import { things } from './kit/api.ts';
import { run } from './kit/fixtures.ts';
import { upstreamOf } from './kit/upstream.ts';

/** `referee proxy`: a staging that judges each of its clients. */

async function startProxy(...args: string[]) {
  const stopping = new AbortController();
  let output = '';
  const print = (text: string) => {
    output += `${text}\n`;
  };
  const ended = run(['proxy', ...args], { print, tell: print, stop: stopping.signal });
  await untilTrue(() => /listening on \S+;/.test(output));
  const stop = async () => {
    stopping.abort();
    const { code } = await ended;
    return { code, output };
  };
  const url = /listening on (\S+);/.exec(output)?.[1] ?? '';
  return { url, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

test('each caller follows the script by itself, and sees its own verdict', async () => {
  await using upstream = await upstreamOf(things());
  await using proxy = await startProxy('limit:1,ok', '--upstream', upstream.url);
  const as = (key: string, headers = {}) => ({ headers: { 'x-api-key': key, ...headers } });
  const get = async (key: string) => (await fetch(`${proxy.url}/things`, as(key))).status;
  assert.deepEqual([await get('a'), await get('a'), await get('b')], [429, 429, 429]);
  const page = new URL('/.referee', proxy.url);
  const callersSeen = async (init: RequestInit) => {
    const { callers } = (await (await fetch(page, init)).json()) as { callers: { rules: { verdict: string }[] }[] };
    return callers.map(({ rules }) => rules.some(({ verdict }) => verdict === 'broken'));
  };
  assert.deepEqual(await callersSeen(as('a')), [true], 'its own');
  assert.deepEqual(await callersSeen(as('b')), [false], 'its own');
  assert.deepEqual(await callersSeen({}), [true, false], 'all on loopback');
  assert.deepEqual(await callersSeen({ headers: { 'x-forwarded-for': '192.0.2.1' } }), [], 'not for others');
  const { code, output } = await proxy.stop();
  assert.equal(code, 1);
  assert.equal(output.match(/^The client, by kind/gm)?.length, 2);
  assert.doesNotMatch(output, /x-api-key/);
});

test('a thousand callers are followed, and the others pass', async () => {
  await using upstream = await upstreamOf(things());
  await using proxy = await startProxy('error', '--upstream', upstream.url);
  const statusOf = async (key: number) => {
    const answer = await fetch(`${proxy.url}/things`, { headers: { authorization: `Bearer ${key}` } });
    await answer.arrayBuffer();
    return answer.status;
  };
  for (let from = 0; from < 1_000; from += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => statusOf(from + index)));
  }
  assert.deepEqual([await statusOf(5_000), await statusOf(1)], [200, 200]);
});

test('an address to listen on that is none, or taken, is refused in one line', async () => {
  await using upstream = await upstreamOf(things());
  const taken = new URL(upstream.url).host;
  const busy = await run(['proxy', '--upstream', upstream.url, '--listen', taken]);
  assert.deepEqual(
    [busy.code, busy.stderr],
    [2, `api-referee: --listen ${taken}: listen EADDRINUSE: address already in use ${taken}\n`],
  );
  const { code, stderr } = await run(['proxy', '--upstream', 'http://127.0.0.1:1', '--listen', '8090']);
  assert.equal(stderr, 'api-referee: --listen is "8090"; write HOST:PORT, such as 127.0.0.1:8090\n');
  assert.equal(code, 2);
});
