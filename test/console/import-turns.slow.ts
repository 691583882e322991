import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { send, signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

/** Nearly the most that an upload may have. */
const FILE_BYTES = 8 * 1024 * 1024 - 64 * 1024;
/** Of the processor, so that other work on the machine does not count. At most 80 ms were measured. */
const TURN_MS_MAX = 250;
/** A full memory bus makes a turn of 50 ms one of 300; a turn that is too long is so each time. */
const TRIES = 3;
const LARGE = { CATEGORIES_MAX: '100000', CATEGORIES_BYTES_MAX: '100000000' };

for (const [what, content, imported] of [
  ['valid records', filled('[', `{"name":"Dog","description":"${'d'.repeat(2_000)}"},`, '{"name":"Cat"}]'), true],
  ['records without a name', filled('[', '{},', '{}]'), false],
  ['brackets alone', filled('', '[', '['), false],
] as const) {
  test(`no turn of the event loop takes long while a file of ${what} is imported`, async () => {
    const longest: number[] = [];
    for (let tries = 0; tries < TRIES && Math.min(...longest) >= TURN_MS_MAX; tries++) {
      longest.push(await longestTurnMs(content, imported));
    }
    assert.ok(Math.min(...longest) > 0, 'the event loop turned');
    assert.ok(Math.min(...longest) < TURN_MS_MAX, `a turn took ${longest.join(', ')} ms of the processor`);
  });
}

/** How long the longest turn takes while a service of its own imports a file. */
async function longestTurnMs(content: string, imported: boolean): Promise<number> {
  await using service = await testService(LARGE);
  const { cookie, csrf, page } = await signIn(service);
  const form = await encodedForm(csrf, content);
  const headers = { cookie, 'content-type': form.type };
  using turns = watchTurns();
  const answer = await send(service, '/categories/import', { body: form.bytes, headers });
  assert.equal(answer.status, imported ? 303 : 400);
  if (imported) {
    const job = (answer.headers.get('location') ?? '').replace('/console', '');
    await untilTrue(async () => /categories were imported\./.test(await page(job)));
  }
  return turns.longestMs;
}

/** A text of the size of an upload. */
function filled(before: string, repeated: string, after: string): string {
  return before + repeated.repeat(Math.floor(FILE_BYTES / repeated.length)) + after;
}

/** Measures how long each turn of the event loop keeps this thread busy, from now on. */
function watchTurns() {
  let longestMs = 0;
  let isWatching = true;
  let before = threadMs();
  const turn = () => {
    const now = threadMs();
    longestMs = Math.max(longestMs, now - before);
    before = now;
    if (isWatching) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    get longestMs() {
      return longestMs;
    },
    [Symbol.dispose]() {
      isWatching = false;
    },
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Encoded before it is sent: that alone keeps this thread busy for some 90 ms. */
async function encodedForm(csrf: string, content: string): Promise<{ bytes: Uint8Array<ArrayBuffer>; type: string }> {
  const form = new FormData();
  form.set('csrf', csrf);
  form.set('format', 'json');
  form.set('file', new File([content], 'many.json'));
  const encoded = new Response(form);
  return { bytes: new Uint8Array(await encoded.arrayBuffer()), type: encoded.headers.get('content-type') ?? '' };
}
