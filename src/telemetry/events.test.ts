import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { type AnsweredRequest, accessLine } from './events.ts';
import { API_SIDE } from './request-metrics.ts';

const LISTED: AnsweredRequest = {
  ...API_SIDE,
  requestId: 'a.b_c-1',
  keyId: 'key_0123456789abcdef',
  plan: 'free',
  method: 'GET',
  route: '/v1/categories/{categoryId}',
  status: 200,
  code: undefined,
  windows: undefined,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  durationMs: 1.25,
};
const REFUSED: AnsweredRequest = {
  ...LISTED,
  keyId: undefined,
  plan: undefined,
  status: 401,
  code: 'missing_api_key',
  traceId: undefined,
};

test('the log line of an answered request equals what pino would write', () => {
  for (const answered of [LISTED, REFUSED]) {
    let written = '';
    const write = (line: string) => {
      written += line;
    };
    const { listener: _, api: _api, ...logged } = answered;
    pino({ base: null }, { write }).info({ event: 'request', ...logged });
    const [own, reference] = [accessLine(answered), written].map((line) => line.replace(/"time":\d+/, '"time":0'));
    assert.equal(own, reference);
  }
});

test('a duration is logged to the microsecond', () => {
  assert.equal(JSON.parse(accessLine({ ...LISTED, durationMs: 0.123456789 })).durationMs, 0.123);
});
