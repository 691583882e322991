import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepText } from '../client/script.ts';
import { Follower, type Scope } from './follower.ts';

const at = (request: string, credentials = 'a') => {
  const [method = '', path = ''] = request.split(' ');
  return { method, path, ownPath: path.replace(/^\/api/, ''), credentials };
};

/** A follower by clocks that stand still until they are moved. */
function following(script: string, { scope = 'key' as Scope, unixMs = 0 } = {}) {
  const clock = { nowMs: 1_000, steadyMs: () => clock.nowMs, unixMs: () => clock.nowMs + unixMs };
  return { clock, follower: new Follower(script, { clock, scope }) };
}

/** The step that each request met; `early` where a limit was in force. */
function met(script: string, requests: readonly string[], options = {}): string[] {
  const { follower } = following(script, options);
  return requests.map((request) => {
    const [line = '', credentials] = request.split(' by ');
    const turn = follower.take(at(line, credentials));
    if (!turn) return '';
    return turn.isEarly ? 'early' : stepText(turn.step).replace(/@.*/, '');
  });
}

test('steps are met in order, and aimed ones by the requests that they wait for', () => {
  for (const [script, requests, steps] of [
    ['lost,cut', ['GET /a', 'POST /a', 'GET /b'], ['lost', 'cut', '']],
    ['lost@POST,cut', ['GET /a', 'GET /a', 'POST /a'], ['cut', '', 'lost']],
    ['cut@3.GET', ['GET /a', 'POST /a', 'GET /b', 'GET /c', 'GET /d'], ['', '', '', 'cut', '']],
    ['error*2@POST /a', ['POST /b', 'POST /a', 'GET /a', 'POST /a', 'POST /a'], ['', 'error', '', 'error', '']],
    ['lost@2.GET /a/*', ['GET /a/1', 'GET /a/1/2', 'GET /a/2'], ['', '', 'lost']],
    ['lost@GET /b', ['GET /api/b'], ['lost']],
    ['lost@GET,cut@GET', ['GET /a', 'GET /b'], ['lost', 'cut']],
    ['revoked@POST', ['GET /a', 'POST /a', 'GET /a'], ['', 'revoked', 'revoked']],
  ] as const) {
    assert.deepEqual(met(script, requests), steps, script);
  }
});

test('a limit in force refuses the requests of its scope', () => {
  const requests = ['GET /a by a', 'GET /a by b', 'POST /b by a', 'GET /a by a'];
  for (const [scope, steps] of [
    ['key', ['limit:1', '', 'early', 'early']],
    ['route', ['limit:1', 'early', '', 'early']],
    ['all', ['limit:1', 'early', 'early', 'early']],
  ] as const) {
    assert.deepEqual(met('limit:1', requests, { scope }), steps, scope);
  }
});

test('a limit holds for its time, and until the whole second that a date can name', () => {
  for (const [script, unixMs, heldMs] of [
    ['limit:2', 400, 2_000],
    ['limit-ms:250', 400, 250],
    ['limit-date:2', 400, 2_600],
    ['limit-date:2', 0, 2_000],
    ['limit-reset:2', 400, 2_600],
  ] as const) {
    const { clock, follower } = following(script, { unixMs });
    assert.equal((follower.take(at('GET /'))?.untilMs ?? 0) - clock.nowMs, heldMs, script);
    clock.nowMs += heldMs - 101;
    assert.equal(follower.take(at('GET /'))?.isEarly, true, script);
    clock.nowMs += 1;
    assert.equal(follower.take(at('GET /')), undefined, 'what is left is forgiven');
  }
});
