import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { codeIn } from '../kit/client/project.ts';

/** The retries of the guide, by what the table above them promises. Waits are over at once. */

const text = readFileSync(new URL('../../src/http/docs/pages/retries.md', import.meta.url), 'utf8');
const [sample = ''] = codeIn(text, 'When to retry', 'js');

const lost = new TypeError('fetch failed');
const answer = (status: number, retryAfter?: number) =>
  new Response(null, { status, ...(retryAfter !== undefined && { headers: { 'Retry-After': `${retryAfter}` } }) });

/** Calls with these answers one after the other; the last one stays. */
async function calling(...answers: (Response | Error)[]) {
  const waits: number[] = [];
  let sent = 0;
  const send = async () => {
    const next = answers[Math.min(sent, answers.length - 1)];
    sent += 1;
    if (next instanceof Error) throw next;
    return next;
  };
  const setTimeout = (wake: () => void, ms: number) => {
    waits.push(ms);
    wake();
  };
  const call = new Function('fetch', 'setTimeout', `${sample}; return call;`)(send, setTimeout);
  const end: Response | Error = await call('http://service.example/v1/pets', {}).catch((error: Error) => error);
  return { waits, sent, end };
}

test('the sample retries what the table says, and a lost answer too', async () => {
  for (const first of [answer(429, 7), answer(503, 7), answer(408), answer(500), lost]) {
    const { end, waits, sent } = await calling(first, answer(200));
    assert.deepEqual([(end as Response).status, sent, waits.length], [200, 2, 1]);
    const asked = first instanceof Response ? Number(first.headers.get('Retry-After') ?? 0) * 1_000 : 0;
    assert.ok(waits[0] !== undefined && waits[0] >= asked + 250 && waits[0] <= asked + 500, `${waits}`);
  }
  for (const status of [200, 201, 304, 400, 401, 404, 409, 412, 422, 501]) {
    assert.deepEqual((await calling(answer(status))).sent, 1, `${status}`);
  }
});

test('the sample gives up after five attempts without another wait, and says how long a long wait is', async () => {
  const busy = await calling(answer(503, 1));
  assert.deepEqual([(busy.end as Response).status, busy.sent, busy.waits.length], [503, 5, 4]);
  assert.ok(busy.waits.every((wait, index) => index === 0 || wait > 1_000 + 250 * 2 ** index));
  const unreachable = await calling(lost);
  assert.deepEqual([unreachable.end, unreachable.sent, unreachable.waits.length], [lost, 5, 4]);
  const spent = await calling(answer(429, 3_600));
  assert.equal(spent.sent, 1);
  assert.match((spent.end as Error).message, /^Try again at 20\d\d-.*Z$/);
});
