import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../../test/kit/clock.ts';
import { run } from '../../test/kit/process.ts';
import { temporaryFolder } from '../../test/kit/service.ts';

/** Runs `serve --bootstrap` in this process; `printed` is what it prints. */
function bootstrap(folder: string) {
  const stop = new AbortController();
  const { promise: printed, resolve: print } = Promise.withResolvers<string>();
  const invocation = {
    env: { DATABASE_URL: `sqlite:${join(folder, 'x.db')}`, PORT: '0', LOG_LEVEL: 'silent' },
    envFile: () => ({}),
    print,
    stop: stop.signal,
  };
  const ended = run(['serve', '--bootstrap'], { cwd: folder, invocation });
  return {
    printed,
    async end() {
      stop.abort(143);
      return (await ended).code;
    },
  };
}

test('the first start issues a key and a login, whose console has the checks of a thread of their own; the next issues none', async () => {
  using folder = temporaryFolder();
  let threads = 0;
  process.once('worker', () => {
    threads += 1;
  });
  const first = bootstrap(folder.path);
  try {
    const link = new URL(/http\S+token=\S+/.exec(await first.printed)?.[0] ?? '');
    const body = new URLSearchParams({ token: link.searchParams.get('token') ?? '' });
    const opened = await fetch(new URL('/console/login', link), { method: 'POST', body, redirect: 'manual' });
    const headers = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '', connection: 'close' };
    await untilTrue(async () =>
      /\d checks? (passed|complain)/.test(await (await fetch(new URL('/console', link), { headers })).text()),
    );
    assert.equal(threads, 1);
  } finally {
    assert.equal(await first.end(), 0);
  }
  const second = bootstrap(folder.path);
  assert.match(
    await second.printed,
    /^There is an API key already\. To issue another:\n\n {2}npx pet-catalog keys create/,
  );
  assert.equal(await second.end(), 0);
});
