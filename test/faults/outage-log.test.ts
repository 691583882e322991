import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { untilEqual } from '../kit/clock.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { temporaryFolder } from '../kit/service.ts';

const CREATES = 40;

interface Line {
  readonly event: string;
  readonly level: number;
  readonly requestId?: string;
  readonly count?: number;
  readonly firstRequestId?: string;
  readonly lastRequestId?: string;
  readonly [name: string]: unknown;
}

suite('the log of an outage', () => {
  for (const [accessLog, lines] of [
    ['errors', 0],
    ['all', CREATES],
  ] as const) {
    test(`an answer of 503 is an error line with its cause, and with ACCESS_LOG=${accessLog} in ${lines} more`, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, 'test.db');
      const DATABASE_URL = `sqlite:${file}`;
      await using service = await serveHere({ DATABASE_URL, ACCESS_LOG: accessLog });
      const secret = await issueKey(folder.path, { DATABASE_URL });
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const logged = (): Line[] =>
        service
          .log()
          .split('\n')
          .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
      const ofEvent = (event: string) => logged().filter((line) => line.event === event);

      const blocking = new DatabaseSync(file, { timeout: 10_000 });
      blocking.exec('begin immediate');
      const create = async () => {
        const answer = await fetch(`${service.url}/categories`, { method: 'POST', headers, body: '{"name":"Dog"}' });
        assert.equal(answer.status, 503);
        return answer.headers.get('x-request-id') ?? '';
      };
      const ids = await Promise.all(Array.from({ length: CREATES }, create));
      blocking.exec('rollback');
      blocking.close();

      const failed = () => ofEvent('request_failed');
      const repeated = () => ofEvent('requests_failed');
      const told = () => failed().length + repeated().reduce((sum, { count = 0 }) => sum + count, 0);
      await untilEqual(() => told(), CREATES);
      assert.ok(failed().length < CREATES, 'lines of one cause are joined');
      for (const line of failed()) {
        assert.deepEqual([line.level, line.status, line.code, line.route], [50, 503, 'unavailable', '/v1/categories']);
        assert.match(JSON.stringify(line.err), /lock/);
        assert.ok(ids.includes(line.requestId ?? ''));
      }
      for (const { level, firstRequestId = '', lastRequestId = '' } of repeated())
        assert.deepEqual([level, ids.includes(firstRequestId), ids.includes(lastRequestId)], [50, true, true]);
      assert.equal(ofEvent('request').filter(({ status }) => status === 503).length, lines);

      await untilEqual(() => ofEvent('operator_change').length, 1);
      const [change] = ofEvent('operator_change');
      assert.deepEqual([change?.via, change?.action], ['cli', 'key.create']);
      assert.ok(!service.log().includes(secret));
    });
  }
});
