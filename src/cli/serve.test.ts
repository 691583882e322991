import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { run } from '../../test/kit/process.ts';

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
  const end = async () => {
    stop.abort(143);
    assert.equal((await ended).code, 0);
  };
  return { printed, [Symbol.asyncDispose]: end };
}

test('the first start issues a key and a login, whose console has the checks of a thread of their own; the next issues none', async () => {
  using folder = temporaryFolder();
  let threads = 0;
  process.once('worker', () => {
    threads += 1;
  });
  {
    await using first = bootstrap(folder.path);
    const link = new URL(/http\S+token=\S+/.exec(await first.printed)?.[0] ?? '');
    const body = new URLSearchParams({ token: link.searchParams.get('token') ?? '' });
    const opened = await fetch(new URL('/console/login', link), { method: 'POST', body, redirect: 'manual' });
    const headers = { cookie: opened.headers.get('set-cookie')?.split(';')[0] ?? '', connection: 'close' };
    await untilTrue(async () =>
      /\d checks? (passed|complain)/.test(await (await fetch(new URL('/console', link), { headers })).text()),
    );
    assert.equal(threads, 1);
  }
  await using second = bootstrap(folder.path);
  assert.match(
    await second.printed,
    /^There is an API key already\. To issue another:\n\n {2}npx pet-catalog keys create/,
  );
});
