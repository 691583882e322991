import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { untilEqual } from '../../../test/kit/clock.ts';
import { noPostgres, reusedDatabase } from '../../../test/kit/postgres.ts';
import { query } from '../../../test/kit/postgres-server.ts';
import { insert, issue, openSome } from '../../../test/kit/storage/bench.ts';
import { openEngine } from '../open.ts';

const options = { skip: noPostgres };
const FEEDS = `from pg_stat_activity where datname = current_database() and application_name = 'pet-catalog feed'`;

/** Watches a database; `tick` lets the interval pass, which does not by itself. */
async function watched(t: TestContext) {
  const database = await reusedDatabase();
  const engine = await openEngine({ engine: 'postgres', url: database.url });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const seen = { looks: 0, failure: undefined as Error | undefined };
  const stop = engine.watch(async () => {
    seen.looks += 1;
    if (seen.failure) throw seen.failure;
  });
  const run = (sql: string) => query(database.url, sql);
  return {
    seen,
    stop,
    run,
    url: database.url,
    announce: () => engine.db.transaction(async (trx) => engine.announce?.(trx)),
    notify: () => run(`notify pet_catalog, 'other'`),
    feeds: async () => (await run(`select pid ${FEEDS}`)).length,
    tick: (ms: number) => t.mock.timers.tick(ms),
    async [Symbol.asyncDispose]() {
      await engine.db.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

test(
  'a notification of another process, and each second, is a reason to look, and an own one is not',
  options,
  async (t) => {
    await using feed = await watched(t);
    const { seen } = feed;
    await untilEqual(() => seen.looks, 1);
    await feed.announce();
    await feed.notify();
    await untilEqual(() => seen.looks, 2);
    seen.failure = new Error('no');
    feed.tick(999);
    assert.equal(seen.looks, 2);
    feed.tick(1);
    assert.equal(seen.looks, 3);
    feed.tick(1_000);
    assert.equal(seen.looks, 4, 'a look that failed is followed by the next');
    await feed.stop();
    feed.tick(1_000);
    assert.equal(seen.looks, 4);
    await untilEqual(feed.feeds, 0);
  },
);

test('a change and a create of another process are notified: the interval does not pass', options, async (t) => {
  await using feed = await watched(t);
  await untilEqual(() => feed.seen.looks, 1);
  await using other = await openSome({ engine: 'postgres', url: feed.url });
  await issue(other);
  await untilEqual(() => feed.seen.looks, 2);
  await insert(other, { name: 'Dog' });
  await untilEqual(() => feed.seen.looks, 3);
  await feed.stop();
});

test('a connection that was lost is replaced, and what it missed is looked for', options, async (t) => {
  await using feed = await watched(t);
  await untilEqual(() => feed.seen.looks, 1);
  await feed.run(`select pg_terminate_backend(pid) ${FEEDS}`);
  await untilEqual(() => feed.seen.looks, 2);
  await feed.notify();
  await untilEqual(() => feed.seen.looks, 3);
  assert.equal(await feed.feeds(), 1);
  await feed.stop();
});

test('a feed that is stopped while it connects leaves no connection, and looks at nothing', options, async (t) => {
  await using feed = await watched(t);
  await feed.stop();
  // Each takes as long as the connection of the feed, which began before.
  for (let connections = 0; connections < 3; connections += 1) await feed.feeds();
  await untilEqual(feed.feeds, 0);
  assert.equal(feed.seen.looks, 0);
});
