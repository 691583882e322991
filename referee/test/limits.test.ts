import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { run } from './kit/fixtures.ts';
import { json, standing, upstreamOf } from './kit/upstream.ts';
import { FAMILIES, RETRY_AFTER_ALONE } from './liar/families.ts';
import { HONEST } from './liar/honest.ts';
import { failuresOf, judgedLimit, LIMIT, SECOND, wayOf } from './liar/judged.ts';
import { head, isLimited, REFUSED, say } from './liar/lie.ts';
import { bucket, type Limiter, minuteFromFirst } from './liar/limiter.ts';
import { LIMITED_KEY, serve } from './liar/server.ts';

const DELTA = FAMILIES[2]?.[1] ?? {};

describe('a family of headers is found by itself, and a limit that is kept passes:', () => {
  for (const [name, way] of FAMILIES) {
    test(name, async () => {
      const { report, failure } = await judgedLimit([way]);
      assert.deepEqual([report.family, report.limit, failure], [name, LIMIT, undefined]);
      const others = report.rules.filter(({ id, verdict }) => verdict !== 'passed' && id !== 'limits.families-agree');
      const hasReset = /Reset|^RateLimit/.test(name);
      const unjudged = hasReset ? [] : ['retry-after-within-reset', 'window-as-told', 'reset-ahead'];
      const said = others.map(({ id, message }) => `${id}: ${message}`);
      const expected = unjudged.map((rule) => `limits.${rule}: no header tells of the reset`);
      assert.deepEqual(said, expected);
    });
  }

  test('Retry-After alone', async () => {
    const { report } = await judgedLimit([RETRY_AFTER_ALONE]);
    assert.deepEqual([report.family, report.limit], ['no headers but Retry-After', null]);
    const passed = report.rules.filter(({ verdict }) => verdict === 'passed').map(({ id }) => id);
    for (const rule of ['is-a-wait', 'suffices']) assert.ok(passed.includes(`limits.retry-after-${rule}`));
    assert.deepEqual(failuresOf(await judgedLimit([RETRY_AFTER_ALONE])), []);
  });

  test('names that are given', async () => {
    const renamed = say({}, (answer) => {
      for (const [index, name] of ['limit', 'remaining', 'reset'].entries()) {
        answer.headers[`x-own-${index}`] = answer.headers[`x-ratelimit-${name}`];
        delete answer.headers[`x-ratelimit-${name}`];
      }
    });
    const { report } = await judgedLimit([renamed], { headers: ['X-Own-0', 'X-Own-1', 'X-Own-2'] });
    assert.deepEqual([report.family, report.failed], ['X-Own-0, X-Own-1, X-Own-2 in Unix seconds', 0]);
  });
});

describe('no rule accuses a limiter that is right in another way:', () => {
  for (const [name, way] of Object.entries(HONEST)) {
    test(name, async () => {
      for (const [index, isFull] of [
        [2, false],
        [7, true],
      ] as const) {
        const family = FAMILIES[index]?.[1] ?? {};
        assert.deepEqual(failuresOf(await judgedLimit([wayOf(way), family], { isFull })), []);
      }
    });
  }

  test('a refusal with 403 or 503 and nothing left', async () => {
    for (const status of [403, 503]) {
      const refusing = say({ ...REFUSED, when: isLimited }, (answer) => void Object.assign(answer, { status }));
      assert.deepEqual(failuresOf(await judgedLimit([refusing])), []);
    }
  });

  test('a caller that is not fresh', async () => {
    const used: Limiter = (key, counters, now) => {
      if (key.isLimited && counters.more.length === 0) {
        counters.more.push(1);
        for (let i = 0; i < 20; i += 1) minuteFromFirst(key, counters, now);
      }
      return minuteFromFirst(key, counters, now);
    };
    for (const second of [SECOND, undefined]) {
      const judged = await judgedLimit([{ limiter: used }], { second });
      assert.deepEqual(failuresOf(judged), []);
      const [{ message } = assert.fail()] = judged.report.rules.filter(({ id }) => id === 'limits.429-over-limit');
      assert.equal(message, '40 of 60 requests were left to a caller that may have been used');
    }
  });
});

test('the rate of a bucket is taken from its answers where no window is told', async () => {
  const silent = say({}, ({ headers }) => void delete headers['retry-after']);
  const moving = bucket(undefined, (now) => Math.floor(now) + 60);
  const untilFull: Limiter = (key, counters, now) => {
    const told = bucket()(key, counters, now);
    return { ...told, reset: Math.ceil(now + 60 - (told.remaining * 60) / told.limit) };
  };
  for (const way of [
    [{ latencySeconds: 0.1, limiter: bucket(15) }, DELTA],
    [{ latencySeconds: 0.25, limiter: bucket(15) }, DELTA],
    [{ latencySeconds: 0.1, limiter: moving }, silent, DELTA],
    [{ limiter: untilFull }, silent, FAMILIES[7]?.[1] ?? {}],
  ])
    assert.deepEqual(failuresOf(await judgedLimit(way, { isFull: true })), []);
});

test('a bucket that gives back more than it tells, or holds more, is caught', async () => {
  const quicker: Limiter = ({ minute: limit, ...key }, counters, now) => {
    return { ...bucket()({ ...key, minute: limit * 2 }, counters, now), limit };
  };
  const deeper: Limiter = (key, counters, now) => {
    const told = bucket(2 * key.minute)(key, counters, now);
    return { ...told, limit: key.minute, remaining: Math.max(0, told.remaining - key.minute) };
  };
  for (const limiter of [quicker, deeper]) {
    const failures = failuresOf(await judgedLimit([{ latencySeconds: 0.1, limiter }, DELTA]));
    assert.match(failures.join('\n'), /^limits\.429-over-limit: /m);
  }
});

describe('referee limits', () => {
  const limits = (url: string, ...args: string[]) => run(['limits', url, ...args]);
  const HEADER = ['--header', `Authorization: Bearer ${LIMITED_KEY}`] as const;

  test('prints what it found, the keys masked, and ends with 1 for a failure', async () => {
    await using server = await serve(head(REFUSED, 'retry-after', () => 'soon'));
    const { code, stdout } = await limits(`${server.url}/things`, ...HEADER, '--max', '200');
    assert.equal(code, 1, stdout);
    const found = 'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset in Unix seconds: 60 requests';
    assert.ok(stdout.startsWith(`${server.url}/things, ${found}\n`), stdout);
    assert.match(stdout, / {2}FAILED limits\.retry-after-is-a-wait\n/);
    assert.match(stdout, /\n {6}authorization: \*\*\*\n/);
    assert.ok(!stdout.includes(LIMITED_KEY));
    const { stdout: text } = await limits(`${server.url}/things`, ...HEADER, '--json');
    const { url, family, rules } = JSON.parse(text);
    assert.deepEqual([url, family, rules.length], [`${server.url}/things`, found.split(':')[0], 14]);
  });

  test('masks a header of one letter only where it stands as a key', async () => {
    await using api = await upstreamOf((incoming, response) => {
      const { 'x-api-key': key } = incoming.headers;
      json(response, { a: key }, 200, { 'x-ratelimit-limit': 3, 'x-ratelimit-remaining': 2 });
    });
    const { stdout } = await limits(api.url, '--header', 'X-Api-Key: a', '--json');
    const failed = JSON.parse(stdout).rules.find(({ verdict }: { verdict: string }) => verdict === 'failed');
    assert.match(failed.details.join('\n'), /\nGET \/\nx-api-key: \*\*\*\n/);
    assert.match(failed.details.join('\n'), /\nx-ratelimit-limit: 3\n/);
  });

  test('ends with 2 for an API without a limit, and sends no more than --max', async () => {
    let requests = 0;
    await using api = await upstreamOf((_, response) => {
      requests += 1;
      json(response, {});
    });
    const { code, stdout, stderr } = await limits(api.url, '--max', '40');
    assert.deepEqual([code, stdout, stderr, requests], [2, '', 'api-referee: no limit found in 40 requests\n', 40]);
  });

  test('never sends more than --max to an API that has a larger limit', async () => {
    let requests = 0;
    await using api = await upstreamOf((_, response) => {
      requests += 1;
      json(response, {}, 200, { 'ratelimit-limit': 5_000, 'ratelimit-remaining': 5_000 - requests });
    });
    const { stdout } = await limits(api.url, '--max', '100');
    assert.match(stdout, /the caller has 5000 requests; --max 5076 spends them/);
    assert.ok(requests <= 100, `${requests} requests`);
  });

  test('accuses no API that refuses with 503 and says nothing else', async () => {
    let requests = 0;
    await using api = await upstreamOf((_, response) => {
      requests += 1;
      json(response, {}, requests > 12 ? 503 : 200);
    });
    const { code, stdout, stderr } = await limits(api.url);
    assert.deepEqual([code, stderr], [2, 'api-referee: nothing could be judged\n']);
    assert.match(stdout, /\n14 not judged of 14 rules\n$/);
  });

  test('ends with 2 and one line where it cannot judge, and for a wrong command line', async () => {
    // The frame with which a server of HTTP/2 begins.
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    await using http2 = await standing(
      createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(settings))),
    );
    await using other = await upstreamOf((_, response) => json(response, {}, 404));
    for (const [args, said] of [
      [[http2.url], `${http2.url}/ does not speak HTTP/1.1 (HPE_INVALID_CONSTANT): HTTP/2 only, or no HTTP`],
      [[other.url], 'the caller is answered with 404'],
      [['http://127.0.0.1:1'], 'Nothing that speaks HTTP answers at http://127.0.0.1:1/: '],
      [['nowhere'], 'The address is "nowhere"; write one such as http://127.0.0.1:3000/api'],
      [['http://203.0.113.1/'], 'The API is at 203.0.113.1, which is no private address; --remote allows that: '],
      [[other.url, '--request', 'search'], '--request is "search"; write a method and a path, such as '],
      [[other.url, '--header', 'a'], '--header is no header of ASCII characters; write one such as '],
      [[other.url, '--headers', 'a,b'], '--headers are not three names, of limit, remaining and reset'],
      [[other.url, '--refused', '200'], '--refused is "200"; write a number from 400 to 599'],
      [[other.url, '--max', '9'], '--max is "9"; write a number from 10 to 100000'],
    ] as const) {
      const { code, stdout, stderr } = await limits(...(args as unknown as [string, ...string[]]));
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.ok(stderr.startsWith(`api-referee: ${said}`) && stderr.indexOf('\n') === stderr.length - 1, stderr);
    }
  });
});
