import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import { systemTime } from '../stdx/time.ts';
import { runCommand } from './program.ts';

test('the checks of the console run in a thread of their own', async () => {
  using folder = temporaryFolder();
  const stop = new AbortController();
  const { promise: printed, resolve: print } = Promise.withResolvers<string>();
  const invocation = {
    time: systemTime(),
    env: { DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}`, PORT: '0', LOG_LEVEL: 'silent' },
    envFile: () => ({}),
    input: async () => new Uint8Array(),
    print,
    tell: () => {},
    hasColours: () => false,
    progress: () => {},
    stop: stop.signal,
    stopsGracefully: false,
  };
  let threads = 0;
  process.once('worker', () => {
    threads += 1;
  });
  const ended = runCommand(invocation, ['serve', '--bootstrap']);
  try {
    const link = new URL(/http\S+token=\S+/.exec(await printed)?.[0] ?? '');
    const body = new URLSearchParams({ token: link.searchParams.get('token') ?? '' });
    const opened = await fetch(new URL('/console/login', link), { method: 'POST', body, redirect: 'manual' });
    const headers = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '', connection: 'close' };
    await untilTrue(async () =>
      /\d checks? (passed|complain)/.test(await (await fetch(new URL('/console', link), { headers })).text()),
    );
    assert.equal(threads, 1);
  } finally {
    stop.abort(143);
    assert.equal(await ended, 0);
  }
});
