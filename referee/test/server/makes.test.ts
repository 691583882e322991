import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Client } from '../../src/server/client.ts';
import { shown } from '../../src/server/exchange.ts';
import { Trial } from '../../src/server/trial.ts';
import { missingPrograms, run, temporaryFolder } from '../kit/fixtures.ts';
import { listingAlso } from './bounds.ts';
import { HONEST } from './honest.ts';
import { judgeMake, LIMITED_KEY, MAIN_KEY, type Make, openMake } from './stranger.ts';
import { changing, header } from './wrong.ts';

describe('at the published level, on turned time, the referee acquits a server with', () => {
  for (const [name, make] of Object.entries(HONEST)) {
    test(name, async () => {
      const { report, failure } = await judgeMake(make);
      assert.equal(failure, undefined);
      assert.deepEqual(
        report.rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`),
        [],
      );
      assert.ok(report.passed > 20, `only ${report.passed} passed`);
    });
  }
});

test('a key is masked wherever it stands, and each command that sends a request again is one for a shell', async () => {
  const twice: Make = { knows: (sent) => sent?.includes(', ') || undefined };
  const { report } = await judgeMake(twice, { only: ['auth.bearer-only'] });
  const [exchange] = report.rules[0]?.exchanges ?? [];
  assert.match(exchange?.request ?? '', /^authorization: Bearer \*\*\*, Bearer \*\*\*$/m);
  assert.ok(!JSON.stringify(report).includes(MAIN_KEY));
  const sent = { method: 'POST', path: '/x', headers: { a: "it's" }, body: "'" };
  const { curl } = shown(sent, undefined, (path) => path);
  assert.equal(curl, `curl -sS -i -X POST '/x' -H 'a: it'\\''s' --data-raw ''\\'''`);
  const long = { status: 200, headers: new Map(), body: 'x'.repeat(9_000), isCut: false, list: undefined };
  assert.equal(shown(sent, long, (path) => path).response, `200\n${'x'.repeat(300)}… (9000)`);
});

test('no more than forty categories are created', async () => {
  await using server = await openMake({});
  using client = new Client(new URL(server.url));
  const keys = { key: MAIN_KEY, limitedKey: undefined, otherEnvironmentKey: undefined };
  const pace = { now: () => 0, wait: async () => {} };
  const trial = new Trial(client, { ...keys, pace, secondsMax: 26, isFull: true, concurrency: 1 });
  const creates = Array.from({ length: 41 }, () => trial.post({ name: trial.newName() }));
  const settled = await Promise.allSettled(creates);
  assert.deepEqual(
    settled.filter(({ status }) => status === 'rejected').map((each) => `${(each as PromiseRejectedResult).reason}`),
    ['Error: 40 categories were created'],
  );
});

test('a server that fails one in twenty gets one verdict in ten runs', async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    const { report, failure } = await judgeMake({ seed: seed * 7_919 });
    assert.equal(failure, undefined);
    assert.deepEqual(
      report.rules.filter(({ verdict }) => verdict !== 'passed').map(({ id }) => id),
      ['limits.headers-on-304', 'limits.headers-on-415', 'limits.retry-after-suffices'],
      `seed ${seed}: ${report.rules.map(({ id, seen, reason }) => ((seen ?? reason) ? `${id} ${seen ?? reason}` : '')).join(' ')}`,
    );
  }
});

test('a wrong limit of a plan is blamed, if the plan is known', async () => {
  const planLimits = [300, 10_000];
  const { report } = await judgeMake({}, { planLimits, only: ['limits.plan'] });
  assert.deepEqual(
    report.rules.map(({ id, seen }) => `${id}: ${seen}`),
    ['limits.plan: Limit is 60, not 300 or 10000'],
  );
  const right = await judgeMake({}, { planLimits: [60, 1_000], only: ['limits.plan'] });
  assert.equal(right.report.passed, 1);
});

describe('the command ends with', () => {
  const folder = temporaryFolder();
  const conformance = (url: string, ...args: string[]) => run(['server', url, '--key', MAIN_KEY, ...args]);

  test('2 and the verdicts so far, for a server that answers 429 to everything', async () => {
    await using server = await openMake({
      changes: (made) => Object.assign(made, { status: 429, headers: { 'retry-after': 3_600 }, body: '' }),
    });
    const { code, stdout, stderr } = await conformance(server.url);
    assert.equal(code, 2, stdout);
    assert.match(stderr, /nothing could be judged/);
    assert.match(stdout, /\n\n\d+ not judged of \d+ rules\n$/);
  });

  test('2 and the verdicts so far, for a server that goes away', async () => {
    let requests = 0;
    const instead: Make['instead'] = (_, response) => {
      requests += 1;
      if (requests > 20) response.socket?.destroy();
      return requests > 20;
    };
    await using server = await openMake({ instead });
    const { code, stdout, stderr } = await conformance(server.url, '--repeat', '3');
    assert.equal(code, 2, stdout);
    assert.equal(stderr, 'referee: the server no longer answers: no answer: socket hang up\n');
    assert.match(stdout, /\n\n\d+ passed, \d+ not judged of \d+ rules\n$/);
    requests = 0;
    await using wrong = await openMake({
      instead,
      changes: (made) => {
        if (made.status === 201) made.status = 200;
      },
    });
    const both = await conformance(wrong.url);
    assert.deepEqual([both.code, / failed/.test(both.stdout)], [2, true], both.stdout);
  });

  test('2 and one line for a redirect', async () => {
    await using server = await openMake({
      changes: (made) => Object.assign(made, { status: 308, headers: { location: 'https://else\u009b.example/v1' } }),
    });
    const { code, stdout, stderr } = await conformance(server.url);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /redirects to https:\/\/else\S* ?\.example\/v1; give the address that answers\n$/);
  });

  test('2 and one line for a certificate that cannot be verified', { skip: missingPrograms('openssl') }, async () => {
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=a',
      '-keyout',
      'a.key',
      '-out',
      'a.crt',
    ];
    execFileSync('openssl', made, { cwd: folder.path, stdio: 'ignore' });
    const [key, cert] = ['a.key', 'a.crt'].map((file) => readFileSync(join(folder.path, file)));
    const server = createServer({ key, cert }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const { code, stdout, stderr } = await conformance(url);
    server.close();
    assert.deepEqual([code, stdout], [2, '']);
    const why = `The certificate of ${url} cannot be verified (DEPTH_ZERO_SELF_SIGNED_CERT)`;
    assert.equal(stderr, `referee: ${why}; NODE_EXTRA_CA_CERTS=FILE names your own authority\n`);
  });

  test('3 with --strict, if a rule could not be judged; --skip leaves it out', async () => {
    await using server = await openMake({ isSerial: true });
    const lenient = await conformance(server.url);
    assert.deepEqual([lenient.code, /\d+ not judged of/.test(lenient.stdout)], [0, true]);
    const only = ['--only', 'list.200-array', '--only', 'limits.429-over-limit'];
    assert.equal((await conformance(server.url, '--strict', ...only)).code, 3);
    // What waits is judged with --full alone, and is missed with it alone.
    const waits = ['--strict', '--only', 'list.200-array', '--only', 'limits.retry-after-suffices'];
    assert.equal((await conformance(server.url, ...waits)).code, 0);
    assert.equal((await conformance(server.url, ...waits, '--full')).code, 3);
    const { code, stdout } = await conformance(server.url, '--strict', ...only, '--skip', 'limits.429-over-limit');
    assert.deepEqual([code, /\n1 passed of 1 rule\n$/.test(stdout)], [0, true], stdout);
  });

  test("1 for a limit that is neither the minute's nor the day's of the plan", async () => {
    for (const [limit, plan, seen] of [
      [60, 'free', undefined],
      [1_000, 'free', undefined],
      [10_000, 'pro', undefined],
      [100_000, 'business', undefined],
      [60, 'pro', 'Limit is 60, not 300 or 10000'],
      [60, 'business', 'Limit is 60, not 1000 or 100000'],
    ] as const) {
      await using server = await openMake({ limit });
      const options = ['--limited-key', LIMITED_KEY, '--plan', plan, '--only', 'limits.plan'];
      const { code, stdout } = await conformance(server.url, ...options);
      assert.deepEqual([code, /Limit is.*/.exec(stdout)?.[0]], [seen ? 1 : 0, seen], stdout);
    }
  });

  test('0 for a last token that goes to one of as many requests as --concurrency says', async () => {
    const sent = async (...options: string[]) => {
      let requests = 0;
      await using server = await openMake({
        limit: 10,
        changes: (_, { key }) => {
          if (key === LIMITED_KEY) requests += 1;
        },
      });
      const only = ['--limited-key', LIMITED_KEY, '--only', 'limits.last-token', ...options];
      assert.equal((await conformance(server.url, ...only)).code, 0);
      return requests;
    };
    assert.deepEqual([await sent('--concurrency', '3'), await sent('--concurrency', '5'), await sent()], [12, 14, 25]);
  });

  test('1 for the worst of several runs', async () => {
    let requests = 0;
    await using server = await openMake({
      changes: (made) => {
        requests += 1;
        if (requests > 4 && requests <= 8) made.body = 'no list';
      },
    });
    const { code, stdout } = await conformance(server.url, '--only', 'list.200-array', '--repeat', '3');
    assert.equal(code, 1);
    assert.match(stdout, /the body is no JSON array \(in 1 of 3 runs\)/);
    assert.equal(requests, 12);
  });

  test('1 and nothing unprintable, for a hostile answer', async () => {
    await using server = await openMake({
      changes: (made) => Object.assign(made, { body: '\x1b]0;\x07\u009b31m\u202e<b>', headers: { 'x-a': '\x9b1m' } }),
    });
    for (const form of ['--json', '--junit', '--tap', '--full']) {
      const { code, stdout } = await conformance(server.url, form, '--only', 'list.200-array');
      assert.equal(code, 1);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
    }
  });
});

test('a list of 100,000 is judged, and one that is not a list is not read to its end', async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({ id: index + 1_000_000, name: `Dog ${index}` }));
  const { report } = await judgeMake(
    { listed: (categories) => [...many, ...categories] },
    { only: ['list.200-array', 'create.ids-unique', 'list.every-category'] },
  );
  assert.equal(report.passed, 3, JSON.stringify(report.rules.filter(({ verdict }) => verdict !== 'passed')));
  // Of which only the beginning is kept, and moves.
  for (const count of [9_990, 10_000, 10_001]) {
    const { report: newestFirst } = await judgeMake(
      { listed: (categories) => [...categories.toReversed(), ...many.slice(0, count)] },
      { only: ['list.every-category'] },
    );
    assert.equal(newestFirst.passed, 1, `${count}`);
  }
  const losing: Make = {
    listed: (categories) => [...categories, ...many.slice(0, categories.length > 0 ? 10_000 : 10_001)],
  };
  const { report: lost } = await judgeMake(losing, { only: ['list.every-category'] });
  assert.deepEqual(
    lost.rules.map(({ seen }) => seen),
    ['1 categories are missing in the list or differ there, among them 1010000'],
  );
  let written = 0;
  const endless: Make = {
    instead: ({ method, path, key }, response) => {
      if (method !== 'GET' || path !== '/categories' || key !== MAIN_KEY) return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const write = () => {
        while (!response.destroyed && written < 200e6 && response.write('[]'.repeat(50_000))) written += 100_000;
      };
      response.on('drain', write);
      write();
      return true;
    },
  };
  const { report: hostile } = await judgeMake(endless, { only: ['list.200-array'] });
  assert.deepEqual(
    hostile.rules.map(({ seen }) => seen),
    ['something follows the array'],
  );
  assert.ok(written < 50e6, `${written} bytes were read`);
});

test('of an answer of 200 MB little more than 8 MiB is read, and 64 KiB are kept', async () => {
  let written = 0;
  await using server = await openMake({
    instead: (_, response) => {
      const write = () => {
        while (!response.destroyed && written < 200e6 && response.write('[]'.repeat(50_000))) written += 100_000;
      };
      response.on('drain', write);
      write();
      return true;
    },
  });
  using client = new Client(new URL(server.url));
  const sent = { method: 'POST', path: '/categories', headers: {}, body: '{}' };
  const { body, isCut } = await client.send(sent, { timeoutMs: 60_000 });
  assert.deepEqual([body.length, isCut], [65_536, true]);
  assert.ok(written < 50e6, `${written} bytes were read`);
});

test('what another rule judges, or no rule can, is skipped', async () => {
  const moving: Make = changing(({ headers }, { path }) => {
    if (path === '/rate_limit') headers['x-ratelimit-reset'] = Number(headers['x-ratelimit-reset']) + 60;
  });
  const over = header([429], 'x-ratelimit-reset', (_, { now }) => Math.floor(now));
  const silent: Make = {
    instead({ method, body }, response) {
      if (method !== 'GET' || body === '') return false;
      response.socket?.destroy();
      return true;
    },
  };
  const unread = header([201, 404], 'etag', () => '"1"');
  for (const [rule, make, reason, planLimits] of [
    ['limits.retry-after-reaches-reset', over, 'Reset is over, which limits.reset-unix-time judges', undefined],
    ['limits.free-plan', { limit: 300 }, 'limits.plan judges it', [300]],
    ['limits.every-operation', moving, 'the window ended meanwhile', undefined],
    ['http.one-answer', silent, 'there was no answer to a GET whose body is another request', undefined],
    ['http.etag-of-one', unread, 'the category cannot be read', undefined],
  ] as const) {
    const { report } = await judgeMake(make, { only: [rule], planLimits });
    assert.deepEqual(
      report.rules.map(({ verdict, reason }) => [verdict, reason]),
      [['skipped', reason]],
    );
  }
});

test('a limited key is spent anew if its window ends meanwhile, once', async () => {
  const began = 1_767_268_800;
  const ending = (ends: number, late: number): Make => {
    let [asked, window] = [0, 0];
    const limiter: Make['limiter'] = (key, limit) => {
      if (key !== MAIN_KEY) asked += 1;
      window = Math.min(Math.floor((asked - 1) / 30), ends);
      const left = limit - asked + 30 * window;
      const told = { limit, remaining: Math.max(0, left), reset: began + 60 * (window + 1) };
      return key !== MAIN_KEY && left < 0 ? { ...told, wait: 55 } : told;
    };
    const changes: Make['changes'] = ({ headers }, { key }) => {
      if (key !== MAIN_KEY) headers.date = new Date((began + 60 * window + late) * 1_000).toUTCString();
    };
    return { limiter, changes };
  };
  const twice = 'the window of the limited key ended twice meanwhile';
  for (const [ends, late, verdict] of [
    [0, 5, null],
    [1, 5, null],
    [2, 5, twice],
    // A Date has no fractions of a second.
    [2, -1, twice],
    [2, -2, null],
  ] as const) {
    const { report } = await judgeMake(ending(ends, late), { only: ['limits.429-over-limit'] });
    assert.deepEqual(
      report.rules.map(({ seen, reason }) => seen ?? reason),
      [verdict],
    );
  }
});

test('a list is filled to more than 20, by 8 creates at least', async () => {
  for (const [listed, creates] of [
    [0, 21],
    [12, 9],
    [13, 8],
    [30, 8],
  ] as const) {
    let created = 0;
    const make: Make = {
      ...listingAlso(...Array.from({ length: listed }, (_, index) => index + 900)),
      changes: ({ status }) => {
        created += status === 201 ? 1 : 0;
      },
    };
    const { report } = await judgeMake(make, { only: ['create.ids-unique'] });
    assert.deepEqual([report.passed, created], [1, creates]);
  }
});
