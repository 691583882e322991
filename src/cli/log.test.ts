import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readable } from './log.ts';

const AT = Date.UTC(2026, 0, 1, 12, 30, 5);

test('on a terminal a line has time, level, event, and the other members by name', () => {
  const request = { level: 30, time: AT, event: 'request', method: 'GET', status: 200, durationMs: 1.2345, key: 'a b' };
  assert.equal(
    readable(JSON.stringify(request)),
    '12:30:05 INFO  request method=GET status=200 durationMs=1.2 key="a b"\n',
  );
});

test('an error has its stack, and hostile text stays on its line', () => {
  const line = {
    level: 50,
    time: AT,
    event: 'request_failed',
    name: 'a\u001b[2J\n',
    err: { stack: 'Error: no\n    at x' },
  };
  assert.equal(
    readable(JSON.stringify(line)),
    '12:30:05 ERROR request_failed name="a\\u001b[2J\\n"\n  Error: no\n      at x\n',
  );
});
