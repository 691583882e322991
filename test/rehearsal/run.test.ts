import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { untilTrue } from '../kit/clock.ts';
import { COMMAND, run, runProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

/** What a CI job of others runs: a client under scripts, with one line. */

const CLIENT = fileURLToPath(new URL('../kit/rehearsal/program.ts', import.meta.url));
const folder = temporaryFolder();
after(() => folder[Symbol.dispose]());

const node = process.execPath;
const rehearse = (args: readonly string[]) => run(['rehearse', 'run', ...args], { cwd: folder.path });
/** Our program as the command, with its habits. */
const client = (...habits: string[]) => ['--', node, CLIENT, ...habits];
const file = (name: string, text: string) => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};

const ERROR_BODY = file('sorry.txt', 'sorry');
const HALF_CERTIFICATE = file('half.pem', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
/** Succeeds if it is answered "sorry". */
const SORRY = `fetch(process.env.PET_CATALOG_URL).then((answer) => answer.text())
  .then((body) => process.exit(body === 'sorry' ? 0 : 1))`;

interface Rehearsed {
  readonly keyId: string;
  readonly script: string;
  readonly reached: number;
  readonly steps: number;
  readonly requests: readonly { readonly number: number; readonly step: string }[];
  readonly rules: readonly { readonly rule: string; readonly verdict: string; readonly evidence: readonly string[] }[];
  readonly command: { readonly exit: number | null; readonly timedOut: boolean };
}

test('without a script a set runs that a client of one call ends, each with a key of its own', async () => {
  const { code, stdout, stderr } = await rehearse(['--json', ...client()]);
  const reports = JSON.parse(stdout) as Rehearsed[];
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(
    reports.map(({ script, reached, command }) => [script, reached, command.exit]),
    [
      ['limit:1,ok', 2, 0],
      ['lost,ok', 2, 0],
      ['unavailable:1,ok', 2, 0],
      ['error*2,ok', 3, 0],
      ['cut,ok', 2, 0],
      ['grease,ok', 1, 0],
      ['limit-date:2,ok', 2, 0],
      ['error*12', 5, 1],
      ['ok,revoked', 1, 0],
    ],
  );
  assert.equal(new Set(reports.map(({ keyId }) => keyId)).size, 9);
  assert.deepEqual([reports[0]?.command, reports[0]?.requests.length], [{ exit: 0, timedOut: false }, 2]);
});

test('stdout has the verdict alone, with the reason of what is broken', async () => {
  const words = ['rehearse', 'run', 'lost,ok', 'error,ok', ...client('no-key')];
  const { code, stdout, stderr } = await runProcess(words, { cwd: folder.path });
  assert.equal(code, 1);
  assert.match(stdout, /^Rehearsed under 2 scripts\n\n {2}lost,ok {3}2 kept, 2 broken\n/);
  assert.match(
    stdout,
    /\n {2}BROKEN lost,ok\.once\n {4}One create makes one resource\n {4}Request 2 \(POST \/v1\/categories\) created/,
  );
  const noted = (script: string) => `pet-catalog: rehearsing ${script}\nto stdout\nto stderr\n`;
  assert.equal(stderr, noted('lost,ok') + noted('error,ok'), 'the service itself logs nothing');
});

for (const [what, args, exit, told] of [
  [
    'a script that is wrong',
    ['okk', '--', 'true'],
    2,
    /^pet-catalog: Step 1 of the script, "okk", is none of the steps/,
  ],
  ['no command', ['ok'], 2, /The command is missing; write it after --, such as -- npm test$/m],
  [
    'a command that is not there',
    ['ok', '--', 'no-such-command'],
    2,
    /The command no-such-command could not be started: /,
  ],
  [
    'a command below a file',
    ['ok', '--', `${ERROR_BODY}/run`],
    2,
    new RegExp(`^pet-catalog: The command ${ERROR_BODY}/run could not be started: spawn ENOTDIR$`, 'm'),
  ],
  ['a command without a name', ['ok', '--', ''], 2, /^pet-catalog: The command {2}could not be started: /m],
  ['a time-out that is none', ['--timeout', 'soon', '--', 'true'], 2, /--timeout is "soon"/],
  ...['0', '604801s', '30d'].map(
    (time) =>
      [
        `a time-out of ${time}`,
        ['ok', '--timeout', time, '--', 'true'],
        2,
        new RegExp(`^pet-catalog: --timeout is "${time}"; write a duration from 1s to 7d\n$`),
      ] as const,
  ),
  ...['1s', '7d'].map(
    (time) =>
      [
        `an output that cannot be written, after a time-out of ${time},`,
        ['ok', '--timeout', time, '--output', 'none/x', '--', 'true'],
        2,
        /--output cannot be written/,
      ] as const,
  ),
  [
    'an assignment that is none',
    ['--env', 'url', '--', 'true'],
    2,
    /--env is "url"; write NAME=VALUE, such as BASE_URL=\{url\}$/m,
  ],
  [
    'an empty catalog before an upstream',
    ['--empty', '--upstream', 'http://127.0.0.1:1', '--', 'true'],
    2,
    /--empty and --upstream cannot be combined/,
  ],
  ['a certificate before no upstream', ['--ca', 'x', '--', 'true'], 2, /--ca needs --upstream$/m],
  ['a body before no upstream', ['--error-body', 'x', '--', 'true'], 2, /--error-body needs --upstream$/m],
  ['a place elsewhere before no upstream', ['--remote', '--', 'true'], 2, /--remote needs --upstream$/m],
  [
    'a body that cannot be read',
    ['--error-body', 'none', '--upstream', 'http://127.0.0.1:1', '--', 'true'],
    2,
    /--error-body cannot be read: ENOENT/,
  ],
  ...[ERROR_BODY, HALF_CERTIFICATE].map(
    (ca) =>
      [
        `a certificate that is none (${basename(ca)})`,
        ['ok', '--ca', ca, '--upstream', 'http://127.0.0.1:1', '--', 'true'],
        2,
        new RegExp(`--ca is ${ca}, which is no certificate in PEM; name a file with BEGIN CERTIFICATE$`, 'm'),
      ] as const,
  ),
  [
    'an upstream elsewhere',
    ['ok', '--upstream', 'http://192.0.2.1', '--', 'true'],
    2,
    /^pet-catalog: The upstream is at 192\.0\.2\.1, which is no private address/m,
  ],
  [
    'a body for the errors of an upstream',
    ['error', '--error-body', ERROR_BODY, '--upstream', 'http://127.0.0.1:1', '--', node, '-e', SORRY],
    0,
    /./,
  ],
  ['two formats', ['--json', '--tap', '--', 'true'], 2, /cannot be combined/],
  ['two other formats', ['--junit', '--tap', '--', 'true'], 2, /cannot be combined/],
  ['an output that cannot be written', ['--output', 'none/x', '--', 'true'], 2, /--output cannot be written/],
  ['a command that fails', ['ok', '--', 'false'], 4, /./],
  ['a failure that is allowed', ['ok', '--allow-failure', '--', 'false'], 3, /./],
  ['a step that is not reached', ['ok', '--', 'true'], 3, /./],
  ['a step that need not be reached', ['ok', '--partial', '--', 'true'], 0, /./],
  ['two scripts, of which one is broken', ['error*9', 'lost,ok', ...client('no-key')], 1, /./],
] as const) {
  test(`${what} ends with ${exit}`, async () => {
    const { code, stdout, stderr } = await rehearse(args);
    assert.equal(code, exit, stdout + stderr);
    assert.match(stderr, told);
    if (exit === 2) assert.equal(stdout, '');
  });
}

test('a service that cannot start ends it with the reason', async () => {
  const env = { TMPDIR: join(folder.path, 'none') };
  const { code, stderr } = await runProcess(['rehearse', 'run', 'ok', '--', 'true'], { cwd: folder.path, env });
  assert.equal(code, 2);
  assert.match(stderr, /^pet-catalog: The service did not start: Cannot make a folder in /m);
});

test('a command that does not end is stopped with all that it started, and judged by what was seen', async () => {
  const hang = (habit: string) => [
    '--timeout',
    '8s',
    '--json',
    '--',
    'sh',
    '-c',
    `sleep 1000 & echo $! > ${habit}; '${node}' '${CLIENT}' ${habit}; wait`,
  ];
  // One as a process of its own, so that both wait at the same time.
  const [broken, kept] = await Promise.all([
    rehearse(['lost,ok', ...hang('no-key')]),
    runProcess(['rehearse', 'run', 'lost,ok', ...hang('careful')], { cwd: folder.path }),
  ]);
  assert.equal(broken.code, 1, broken.stdout);
  assert.equal(kept.code, 2, kept.stdout);
  assert.deepEqual((JSON.parse(kept.stdout) as Rehearsed[])[0]?.command, { exit: null, timedOut: true });
  for (const name of ['no-key', 'careful']) {
    await untilTrue(() => !isRunning(Number(readFileSync(join(folder.path, name), 'utf8'))), `${name} is stopped`);
  }
});

for (const [signal, exit, atEnd] of [
  ['SIGINT', 130, 'echo told >> $0; exit'],
  ['SIGTERM', 143, ''],
] as const) {
  test(`${signal} ends both, with ${atEnd ? 'time for the command to end' : 'a command that will not'}`, async () => {
    const pidFile = join(folder.path, `interrupted-${signal}`);
    const script = `trap '${atEnd}' TERM; echo $$ > $0.new; mv $0.new $0; sleep 1000 & wait; sleep 1000`;
    const words = ['rehearse', 'run', 'ok', '--', 'sh', '-c', script, pidFile];
    const child = spawn(node, [COMMAND, ...words], { cwd: folder.path, stdio: 'ignore' });
    using _ended = { [Symbol.dispose]: () => endWithGroup(child, pidFile) };
    const ended = once(child, 'exit');
    await untilTrue(() => existsSync(pidFile));
    child.kill(signal);
    assert.deepEqual(await ended, [exit, null]);
    const [pid, told] = readFileSync(pidFile, 'utf8').split('\n');
    assert.equal(told, atEnd && 'told');
    await untilTrue(() => !isRunning(Number(pid)));
  });
}

test('a second signal ends both at once', async () => {
  const pidFile = join(folder.path, 'interrupted-twice');
  const script = `trap 'echo >> $0' TERM; echo $$ > $0.new; mv $0.new $0; while :; do sleep 1000 & wait; done`;
  const words = ['rehearse', 'run', 'ok', '--', 'sh', '-c', script, pidFile];
  const child = spawn(node, [COMMAND, ...words], { cwd: folder.path, stdio: 'ignore' });
  using _ended = { [Symbol.dispose]: () => endWithGroup(child, pidFile) };
  const ended = once(child, 'exit');
  const told = () => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8').split('\n') : []);
  await untilTrue(() => told().length === 2);
  child.kill('SIGINT');
  await untilTrue(() => told().length === 3);
  child.kill('SIGINT');
  assert.deepEqual(await ended, [130, null]);
  await untilTrue(() => !isRunning(Number(told()[0])));
});

test('of a command that ends, nothing is left that it started', async () => {
  const left = join(folder.path, 'left');
  assert.equal((await rehearse(['ok', '--partial', '--', 'sh', '-c', 'sleep 1000 & echo $! > $0', left])).code, 0);
  await untilTrue(() => !isRunning(Number(readFileSync(left, 'utf8'))));
});

/** Ends a run that did not end by itself, and the process group of its command. */
function endWithGroup(child: ChildProcess, pidFile: string): void {
  child.kill('SIGKILL');
  try {
    process.kill(-Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('address and key are put where they are asked for', async () => {
  const script =
    'echo "$1 $2 $BASE $TOKEN $API_URL $(printenv PET_CATALOG_URL || echo none) $PET_CATALOG_KEY $(printenv EMPTY > /dev/null && echo empty) $OURS" > variables';
  const words = [
    'ok',
    '--env',
    'EMPTY=',
    '--partial',
    '--env',
    'BASE={url}/',
    '--env',
    'TOKEN=Bearer {key}+{key} {url}+{url}',
    '--env',
    'PET_CATALOG_URL=API_URL',
    '--',
    'sh',
    '-c',
    script,
    'sh',
    '{url}',
    '{key}',
  ];
  const { code } = await run(['rehearse', 'run', ...words], { cwd: folder.path, env: { OURS: 'kept' } });
  assert.equal(code, 0);
  assert.match(
    readFileSync(join(folder.path, 'variables'), 'utf8'),
    /^(http:\/\/127\.0\.0\.1:\d+\/v1) (petcat_test_\w+) \1\/ Bearer \2\+\2 \1\+\1 \1 none \2 empty kept\n$/,
  );
});

test('a command has nothing to read from stdin', () => {
  const words = ['rehearse', 'run', 'ok', '--partial', '--', 'sh', '-c', '! read line'];
  const { status, stderr } = spawnSync(node, [COMMAND, ...words], { cwd: folder.path, input: 'a line\n' });
  assert.equal(status, 0, `${stderr}`);
});

test('before an upstream there is an address alone, and no key', async () => {
  const shown = 'echo "$PET_CATALOG_URL $(printenv PET_CATALOG_KEY || echo none) $TOKEN" > bare';
  const flags = ['--partial', '--upstream', 'http://127.0.0.1:1', '--env', 'TOKEN=({key})'];
  assert.equal((await rehearse(['ok', ...flags, '--', 'sh', '-c', shown])).code, 0);
  assert.match(readFileSync(join(folder.path, 'bare'), 'utf8'), /^http:\/\/127\.0\.0\.1:\d+ none \(\)\n$/);
  const renamed = ['--env', 'PET_CATALOG_URL=HERE', '--env', 'PET_CATALOG_KEY=OWN'];
  const words = ['ok', ...flags, ...renamed, '--', 'sh', '-c', 'echo "$HERE $OWN" > own'];
  assert.equal((await run(['rehearse', 'run', ...words], { cwd: folder.path, env: { OWN: 'callers' } })).code, 0);
  assert.match(readFileSync(join(folder.path, 'own'), 'utf8'), /^http:\S+ callers\n$/);
});

test('a run that is interrupted says so, and ends with the code of the signal', async () => {
  const invocation = { stop: AbortSignal.abort(143) };
  const interrupted = await run(['rehearse', 'run', 'ok', '--', 'true'], { cwd: folder.path, invocation });
  assert.deepEqual(interrupted, {
    code: 143,
    stdout: '',
    stderr: 'pet-catalog: rehearsing ok\npet-catalog: Interrupted\n',
  });
});

test('a usual variable is renamed by a name, and takes any other value', async () => {
  const variables = '$(printenv PET_CATALOG_URL || echo none) $PET_CATALOG_KEY $MINE';
  const assignments = ['--env', 'PET_CATALOG_URL={url}/deeper', '--env', 'PET_CATALOG_KEY=MINE'];
  const words = ['ok', '--partial', ...assignments, '--', 'sh', '-c', `echo "${variables}" > given`];
  assert.equal((await rehearse(words)).code, 0);
  assert.match(readFileSync(join(folder.path, 'given'), 'utf8'), /^http:\S+\/v1\/deeper {2}petcat_test_\w+\n$/);
});

test('the help of --env has no default, since there is none to write', async () => {
  const { stdout } = await run(['rehearse', 'run', '--help'], { cwd: folder.path });
  assert.match(stdout.replaceAll(/\s+/g, ' '), /PET_CATALOG_URL=NAME renames one --expected <file>/);
});

test('the catalog has the sample, unless it is to be empty', async () => {
  const count = ['--', node, '-e', COUNT];
  assert.equal((await rehearse(['ok', ...count])).code, 0);
  assert.equal((await rehearse(['ok', '--empty', ...count])).code, 4);
});

/** Succeeds if there are categories. */
const COUNT = `fetch(process.env.PET_CATALOG_URL + '/categories', {
  headers: { authorization: 'Bearer ' + process.env.PET_CATALOG_KEY },
}).then((answer) => (answer.headers.get('x-ratelimit-limit') === '1000' ? answer : process.exit(9)))
  .then((answer) => answer.json()).then((all) => process.exit(all.length > 0 ? 0 : 1))`;

test('failures that are known pass, and a line that is stale fails', async () => {
  const known = file('known.txt', '# the SDK forgets its key\nlost, retries-safely\n');
  assert.match(
    (await rehearse(['--expected', known, ...client('no-key')])).stderr,
    /known\.txt:2: "lost, retries-safely"|Step 2 of the script/,
  );
  const both = file('both.txt', 'lost,ok*1 retries-safely # twice\nlost,ok once\n\nlimit:2,ok waits\n');
  const passed = await rehearse(['lost,ok', '--expected', both, ...client('no-key')]);
  assert.equal(passed.code, 0, passed.stdout + passed.stderr);
  assert.match(passed.stdout, /known: lost,ok\.retries-safely\n {4}Known to be broken: Request 2/);
  const stale = await rehearse(['lost,ok', '--expected', both, ...client()]);
  assert.equal(stale.code, 1);
  assert.match(stale.stderr, /both\.txt:2: "lost,ok once" is stale: once was not broken; remove the line$/m);
  const one = await rehearse(['ok', '--partial', '--expected', file('one.txt', 'ok once'), '--', 'true']);
  assert.equal(one.code, 1, one.stderr);
  assert.deepEqual(await rehearse(['ok', '--expected', 'none.txt', '--', 'true']), {
    code: 2,
    stdout: '',
    stderr: "pet-catalog: --expected cannot be read: ENOENT: no such file or directory, open 'none.txt'\n",
  });
  assert.match(
    (await rehearse(['ok', '--expected', file('wrong.txt', 'lost wait'), '--', 'true'])).stderr,
    /wrong\.txt:1: "lost wait" is no script and rule/,
  );
});

test('a file that takes no more costs no verdict', { skip: !existsSync('/dev/full') }, async () => {
  const { code, stdout, stderr } = await rehearse(['ok', '--json', '--output', '/dev/full', ...client()]);
  assert.match(stdout, /^Rehearsed under one script\n/);
  assert.match(stderr, /^pet-catalog: --output cannot be written: ENOSPC: .*\n$/m);
  assert.equal(code, 2);
});

test('the format goes to a file, and the text to stdout', async () => {
  file('junit.xml', 'what an earlier run wrote');
  const { stdout } = await rehearse(['ok', '--junit', '--output', 'junit.xml', ...client()]);
  assert.match(stdout, /^Rehearsed under one script\n/);
  const junit = readFileSync(join(folder.path, 'junit.xml'), 'utf8');
  assert.match(junit, /^<\?xml /);
  assert.match(junit, /<testsuite name="rehearsal ok" tests="9" failures="0" errors="0" skipped="7">/);
  assert.match(junit, /name="command"\/>/);
  assert.match(junit, />\n$/);
  const invocation = { hasColours: (stream: string) => stream === 'stdout' };
  const shown = (...args: string[]) => run(['rehearse', 'run', ...args], { cwd: folder.path, invocation });
  const text = await shown('ok', '--partial', '--output', 'plain.txt', '--', 'true');
  const plain = readFileSync(join(folder.path, 'plain.txt'), 'utf8');
  assert.match(plain, /^Rehearsed under one script\n\n {2}ok {2}.*\n\n\d .* of \d rules?\n$/);
  assert.notEqual(text.stdout, plain);
  assert.equal(stripVTControlCharacters(text.stdout), plain);
  const both = await shown('ok', 'ok*2', '--partial', '--json', '--output', 'both.json', '--', 'true');
  assert.match(stripVTControlCharacters(both.stdout), /^Rehearsed under 2 scripts\n/);
  assert.deepEqual(
    JSON.parse(readFileSync(join(folder.path, 'both.json'), 'utf8')).map(({ script }: Rehearsed) => script),
    ['ok', 'ok*2'],
  );
});
