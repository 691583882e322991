import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { judged } from '../../test/liar/judged.ts';
import { fail, say } from '../../test/liar/lie.ts';
import { LIMITED_KEY, type Way } from '../../test/liar/server.ts';
import { Mistake } from '../mistake.ts';
import { unknownKeyLike } from './probes.ts';
import { type RefereeOptions, selected } from './server.ts';

/** The verdicts, each with what was seen or why it was not judged. */
async function verdictsOf(way: Way, options: Partial<RefereeOptions>): Promise<readonly string[]> {
  const { report, failure } = await judged([way], { level: 'published', isFull: false, ...options });
  const verdicts = report.rules.map(({ id, verdict, seen, reason }) => `${id} ${verdict}: ${seen ?? reason}`);
  return failure === undefined ? verdicts : [...verdicts, failure];
}

test('every key is masked wherever it stands, and a command names the one that was sent', async () => {
  // Each contains the next, and must not be masked in part.
  const keys = { key: 'aaaaaaaa', limitedKey: 'aaaaaaaa-b', otherEnvironmentKey: 'aaaaaaaa-c' };
  const all = Object.values(keys).join('|');
  const way: Way = {
    knows: () => true,
    ...say({}, (answer) => Object.assign(answer, { status: 201, body: all, headers: { 'x-keys': all } })),
  };
  const only = ['list.200-array', 'limits.429-over-limit', 'auth.other-environment'];
  const { report } = await judged([way], { ...keys, only });
  assert.deepEqual(
    report.rules.map(({ id, exchanges }) => [id, exchanges.at(-1)?.curl.match(/Bearer (\S+)/)?.[1]]),
    [
      ['list.200-array', `'"$KEY"''`],
      ['auth.other-environment', `'"$OTHER_ENVIRONMENT_KEY"''`],
      ['limits.429-over-limit', `'"$LIMITED_KEY"''`],
    ],
  );
  for (const { exchanges } of report.rules) {
    const { request, response } = exchanges.at(-1) ?? {};
    assert.equal(request, 'GET /categories\nauthorization: Bearer ***');
    assert.match(`${response}`, /\nx-keys: (\*{3}\|){2}\*{3}\n(.*\n)*"(\*{3}\|){2}\*{3}"$/);
  }
  assert.ok(!JSON.stringify(report).includes('aaaaaaaa'));
});

test('a rule that an answer has broken sends nothing more, as that could create', async () => {
  for (const [rule, first] of [
    ['create.400-empty-name', ''],
    ['create.400-control-characters', 'Conformance-\u0000'],
  ] as const) {
    const names: unknown[] = [];
    const takes = (body: unknown) => {
      names.push((body as { name: unknown }).name);
      return { name: 'a' };
    };
    const [verdict] = await verdictsOf({ takes }, { only: [rule] });
    assert.deepEqual([verdict, names], [`${rule} failed: the status is 201, not 400`, [first]]);
  }
});

test('a key that is nearly right is masked, and one that is like it has its prefix only', async () => {
  const key = 'petcat_live_ABCDEF_GHIJ_K';
  for (const [near, word] of [
    [key.slice(0, -1), `\${KEY%?}`],
    [key.slice(0, 12), `\${KEY:0:12}`],
    ['PETCAT_LIVE_abcdef_ghij_k', `\${KEY~~}`],
    ['petcat_live_xBCDEF_GHIJ_K', `\${KEY:0:12}x\${KEY:13}`],
  ] as const) {
    const knows = (sent: string | undefined) => sent === `Bearer ${key}` || sent === `Bearer ${near}`;
    const { report } = await judged([{ knows }], { key, only: ['auth.401-invalid'] });
    const [exchange] = report.rules[0]?.exchanges ?? [];
    assert.match(exchange?.request ?? '', /^authorization: Bearer \*{3}$/m);
    const command = exchange?.curl ?? '';
    assert.ok(command.includes(`-H 'authorization: Bearer '"${word}"''`), command);
    const repeated = execFileSync('bash', ['-c', command.replace('curl', 'echo')], {
      env: { ...process.env, KEY: key },
    });
    assert.match(`${repeated}`, new RegExp(`authorization: Bearer ${near} `));
  }
  assert.equal(unknownKeyLike(key), 'petcat_live_unknownunknow');
});

test('rules are selected by level, by name even of another level, and never against --skip', () => {
  const ids = (options: Parameters<typeof selected>[0]) => selected(options).map(({ id }) => id);
  const [plan, own] = ['limits.plan', 'errors.404'];
  assert.deepEqual(ids({ level: 'published', only: [own, plan, 'list.200-array'], skip: ['list.200-array'] }), [
    own,
    plan,
  ]);
  const [published, ours] = [ids({ level: 'published' }), ids({ level: 'ours' })];
  assert.deepEqual([published.includes(own), ours.includes(own)], [false, true]);
  assert.deepEqual([published.includes(plan), ours.includes(plan)], [false, false]);
  assert.deepEqual(ids({ level: 'published', planLimits: [1] }).length, published.length + 1);
  assert.deepEqual(
    ids({ level: 'ours', planLimits: [1] }).filter((id) => !ours.includes(id) || id === 'limits.free-plan'),
    [plan],
    'one of the two rules on the plan, neither of which is left open then',
  );
  assert.equal(ids({ level: 'ours', planLimits: [] }).length, ours.length + 1);
  assert.deepEqual(ids({ level: 'published', skip: ['list.200-array'] }), published.slice(1));
});

test('published rules are judged first, then what a limited key shows, then ours, waits and what looks back', async () => {
  const done: string[] = [];
  const order = ['list.200-array', 'limits.429-over-limit', 'limits.free-plan', 'errors.404'];
  order.push('limits.retry-after-suffices', 'limits.window-opens-again', 'limits.reset-unix-time');
  const { report } = await judged([{}], { only: order.toReversed(), onVerdict: ({ id }) => done.push(id) });
  assert.deepEqual(done, order);
  assert.notDeepEqual(
    report.rules.map(({ id }) => id),
    order,
  );
  assert.deepEqual([report.passed, report.durationMs], [7, 60_000]);
});

describe('no server can be judged that', () => {
  const first = (answer: (requests: number) => [status: number, location?: string | undefined] | undefined): Way => ({
    instead({ state: { requests }, response }) {
      const made = answer(requests);
      if (!made) response.socket?.destroy();
      else response.writeHead(made[0], made[1] ? { location: made[1] } : {}).end();
      return true;
    },
  });
  const said = (way: Way) =>
    verdictsOf(way, { only: ['list.200-array'] }).catch((error: Error) => {
      assert.ok(error instanceof Mistake, `${error}`);
      return error.message.replaceAll(/http:\S+\/v1\/categories/g, 'URL');
    });

  test('redirects, whichever way', async () => {
    for (const status of [301, 302, 303, 305, 307, 308]) {
      const line = await said(first(() => [status, '/else\u009b']));
      assert.equal(line, 'URL redirects to /else ; give the address that answers', `${status}`);
    }
    for (const [status, location] of [
      [300, '/else'],
      [304, '/else'],
      [309, '/else'],
      [201, '/else'],
      [302, undefined],
    ] as const) {
      const seen = [`list.200-array failed: the status is ${status}, not 200`];
      assert.deepEqual(await said(first(() => [status, location])), seen);
    }
  });

  test('hangs up five times in a row', async () => {
    const seen = ['list.200-array failed: the status is 404, not 200'];
    assert.deepEqual(await said(first((requests) => (requests < 5 ? undefined : [404]))), seen);
    assert.equal(
      await said(first((requests) => (requests < 6 ? undefined : [404]))),
      'Nothing that speaks HTTP answers at URL: no answer: socket hang up',
    );
  });
});

test('a fault of the transport fails one rule, and is the reason why others are not judged', async () => {
  const silent: Way = {
    instead({ text: body, response }) {
      if (!body.startsWith('{"name":null')) return false;
      response.socket?.destroy();
      return true;
    },
  };
  const fault = 'no answer: socket hang up, to POST /categories';
  assert.deepEqual(
    await verdictsOf(silent, { only: ['create.400-invalid-values', 'errors.shape', 'auth.401-missing'] }),
    [
      `create.400-invalid-values failed: ${fault}`,
      'auth.401-missing passed: null',
      `errors.shape skipped: ${fault}; it is the failure of create.400-invalid-values`,
    ],
  );
});

test('after a server went away, only what looks back is judged', async () => {
  let last = 0;
  const leaving: Way = {
    instead({ state: { requests }, response }) {
      last = requests;
      if (requests < 5) return false;
      response.socket?.destroy();
      return true;
    },
  };
  const gone = 'the server no longer answers: no answer: socket hang up';
  assert.deepEqual(
    await verdictsOf(leaving, { only: ['list.200-array', 'auth.401-missing', 'limits.reset-unix-time'] }),
    ['list.200-array passed: null', `auth.401-missing skipped: ${gone}`, 'limits.reset-unix-time passed: null', gone],
  );
  // Four answers, five tries and one on another connection, and five to see whether it is still there.
  assert.equal(last, 15);
});

test('a failure of the referee itself names the rule, and the others are judged', async () => {
  const pace = { now: () => 0, wait: () => Promise.reject(new Error('no\x07 clock')) };
  const failure = 'the referee failed at limits.429-error: Error: no  clock';
  assert.deepEqual(await verdictsOf({}, { pace, only: ['limits.429-error', 'list.200-array'] }), [
    'list.200-array passed: null',
    `limits.429-error skipped: ${failure}`,
    failure,
  ]);
});

test('a limited key that cannot be used is a reason to skip', async () => {
  const only = ['limits.429-over-limit'];
  const when = ({ key }: { key?: { secret: string } }) => key?.secret === LIMITED_KEY;
  const spent = say({ when }, (answer) => Object.assign(answer, { status: 429 }));
  for (const [way, why] of [
    [fail({ when }, 403, 'forbidden'), 'the limited key is answered with 403'],
    [spent, 'the limited key is spent; give a fresh one'],
    [fail({ when }, 503, 'unavailable'), 'the server fails again and again'],
  ] as const) {
    assert.equal((await verdictsOf(way, { only }))[0], `limits.429-over-limit skipped: ${why}`);
  }
});
