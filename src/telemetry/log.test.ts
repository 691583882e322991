import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { readable } from './log.ts';

const AT = Date.UTC(2026, 0, 1, 12, 30, 5);

test('on a terminal a line has time, level, event, the other members by name, and its error; hostile text stays on it', () => {
  const failed = { level: 50, event: 'request_failed' };
  for (const [line, shown] of [
    [
      { level: 30, event: 'request', method: 'GET', status: 200, durationMs: 1.2345, key: 'a b' },
      'INFO  request method=GET status=200 durationMs=1.2 key="a b"',
    ],
    [
      { ...failed, name: 'a\u001b[2J\n', err: { stack: 'Error: no\n    at x\n    at y' } },
      'ERROR request_failed name="a\\u001b[2J\\n"\n  Error: no\n      at x\n      at y',
    ],
    [{ ...failed, status: 503, err: 'unavailable' }, 'ERROR request_failed status=503\n  unavailable'],
  ] as const)
    assert.equal(readable(JSON.stringify({ time: AT, ...line })), `12:30:05 ${shown}\n`);
});

test('keys of both environments are redacted, wherever they are in a line', () => {
  const keys = ['live', 'test'].map((kind) => `petcat_${kind}_${'a1'.repeat(18)}`);
  const script = `
    import { openLog } from '${new URL('./log.ts', import.meta.url)}';
    import { setImmediate as nextTurn } from 'node:timers/promises';
    const { log, write, close } = openLog('info');
    for (const key of ${JSON.stringify(keys)}) {
      log.error({ event: 'a', text: 'x' + key + 'y', err: new Error(key) }, key);
      write(JSON.stringify({ level: 30, time: 0, event: 'b', [key]: key }) + '\\n');
      // The lines of one turn share a write.
      await nextTurn();
    }
    await close();
    process.exit();`;
  const { stderr, status } = runScript(script);
  assert.equal(status, 0, stderr);
  assert.equal(stderr.trim().split('\n').length, 4);
  for (const [index, kind] of ['live', 'test'].entries()) {
    assert.ok(!stderr.includes(keys[index] ?? ''), stderr);
    assert.ok(stderr.split(`petcat_${kind}_[redacted]`).length > 5, stderr);
  }
});

test('lines of the level and above are written, with nothing of the process, also into a file', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'log');
  const script = `
    import { openLog } from '${new URL('./log.ts', import.meta.url)}';
    const { log, close } = openLog('warn');
    for (const level of ['info', 'warn', 'error']) log[level]({ time: 0, event: level });
    await close();`;
  const into = openSync(file, 'w');
  spawnSync(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'ignore', into] });
  closeSync(into);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 40, time: 0, event: 'warn' },
      { level: 50, time: 0, event: 'error' },
    ],
  );
});

test('the end waits for a slow reader, and half a second for one that stalls', async () => {
  // Each reading of the clock is so many milliseconds after the last.
  const start = (stepMs: number) => {
    const script = `
      import { openLog } from '${new URL('./log.ts', import.meta.url)}';
      let nowMs = 0;
      performance.now = () => (nowMs += ${stepMs});
      const { write, close } = openLog('info');
      write('x'.repeat(999_999) + '\\n');
      await close();
      process.stdout.write(String(nowMs), () => process.exit());`;
    return spawn(process.execPath, ['--input-type=module', '--eval', script]);
  };
  const slow = start(0);
  const [text] = await Promise.all([readText(slow.stderr), once(slow, 'close')]);
  assert.equal(text.length, 1_000_000);
  const stalled = start(100);
  assert.equal(await readText(stalled.stdout), '600', 'once at the beginning, and then until 500 have passed');
  stalled.stderr.resume();
  await once(stalled, 'close');
});

for (const kind of ['socket', 'pipe'] as const) {
  test(`for a reader of a ${kind} that stalls a mebibyte is kept, and no more; what is lost is counted`, {
    timeout: 60_000,
  }, async () => {
    using folder = temporaryFolder();
    const script = `
      import { setImmediate as nextTurn } from 'node:timers/promises';
      import { openLog } from '${new URL('./log.ts', import.meta.url)}';
      const { write, onLoss } = openLog('info');
      let lost = 0;
      onLoss((lines) => (lost += lines));
      for (let lines = 0; lines < 64; lines += 1) {
        write('x'.repeat(65_535) + '\\n');
        await nextTurn();
      }
      process.stdout.write(\`\${process.stderr.writableLength} \${lost}\`, () => process.exit());`;
    const unread = kind === 'pipe' ? openPipe(join(folder.path, 'pipe')) : 'pipe';
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      stdio: ['ignore', 'pipe', unread],
    });
    try {
      const [printed] = await once(child.stdout?.setEncoding('utf8') ?? assert.fail(), 'data');
      // Nothing was read of stderr until here.
      child.stderr?.resume();
      await once(child, 'close');
      const [kept = 0, lost = 0] = printed.split(' ').map(Number);
      assert.ok(kept >= 1_048_576 && kept <= 1_048_576 + 65_536, printed);
      assert.ok(lost > 0 && lost <= 64 - 16, printed);
    } finally {
      child.kill('SIGKILL');
      if (typeof unread === 'number') closeSync(unread);
    }
  });
}

/** Opens a pipe for writing and reading, so that it has a reader. */
function openPipe(file: string): number {
  assert.equal(spawnSync('mkfifo', [file]).status, 0);
  return openSync(file, 'r+');
}

function runScript(script: string) {
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
}
