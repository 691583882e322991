import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { type SignedIn, send, signIn } from '../kit/console/visitor.ts';
import { type TestService, testService } from '../kit/service.ts';

const FILE_BYTES = 31 * 1024 * 1024;
/** Of the processor, so that other work on the machine does not count. About 90 ms were measured. */
const TURN_MS_MAX = 250;
const LARGE = { CATEGORIES_MAX: '100000', CATEGORIES_BYTES_MAX: '100000000' };

for (const [what, content, imported] of [
  ['valid records', filled('[', `{"name":"Dog","description":"${'d'.repeat(2_000)}"},`, '{"name":"Cat"}]'), true],
  ['records without a name', filled('[', '{},', '{}]'), false],
  ['brackets alone', filled('', '[', '['), false],
] as const) {
  test(`no turn of the event loop takes long while a file of ${what} is imported`, async () => {
    await using service = await testService(LARGE);
    const operator = await signIn(service);
    const turns = watchTurns();
    const answer = await upload(service, operator, content);
    assert.equal(answer.status, imported ? 303 : 400);
    if (imported) {
      const job = (answer.headers.get('location') ?? '').replace('/console', '');
      await untilTrue(async () => /categories were imported\./.test(await operator.page(job)));
    }
    const longestMs = turns.end();
    assert.ok(longestMs > 0, 'the event loop turned');
    assert.ok(longestMs < TURN_MS_MAX, `a turn took ${longestMs} ms of the processor`);
  });
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
    end() {
      isWatching = false;
      return longestMs;
    },
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function upload(service: TestService, { cookie, csrf }: SignedIn, content: string): Promise<Response> {
  const body = new FormData();
  body.set('csrf', csrf);
  body.set('format', 'json');
  body.set('file', new File([content], 'many.json'));
  return send(service, '/categories/import', { body, headers: { cookie } });
}
