import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testService } from '../test/kit/service.ts';

test('requests in flight get what a stop leaves of the grace, and those of the operator half a second', async (t) => {
  for (const [grace, ofRequestsMs] of [
    ['8s', 6_500],
    ['2s', 500],
    ['1s', 0],
  ] as const) {
    const service = await testService({ SHUTDOWN_GRACE: grace });
    const timeout = t.mock.method(AbortSignal, 'timeout');
    await service[Symbol.asyncDispose]();
    assert.deepEqual(
      timeout.mock.calls.map((call) => call.arguments),
      [[ofRequestsMs], [500]],
      grace,
    );
    timeout.mock.restore();
  }
});
