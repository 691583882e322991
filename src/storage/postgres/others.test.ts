import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf } from './others.ts';

test('a server that lacks locks or notifications is refused by its name, and PostgreSQL is not', () => {
  const cockroach = 'CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15 20:36:51, go1.22.2)';
  assert.match(refusalOf({ server: cockroach, extensions: null }) ?? '', /^CockroachDB is not supported: .*; use /);
  const server = 'PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc, 64-bit';
  assert.match(refusalOf({ server, extensions: 'plpgsql citus' }) ?? '', /^Citus is not supported: .*; use /);
  for (const extensions of [null, 'plpgsql', 'plpgsql pg_stat_statements'])
    assert.equal(refusalOf({ server, extensions }), undefined);
});
