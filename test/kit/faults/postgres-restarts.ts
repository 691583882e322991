import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Category } from '../../../src/catalog/category.ts';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { startPostgres } from '../postgres-server.ts';
import { serveProcess } from '../process.ts';
import { openCommitProxy } from './commit-proxy.ts';
import { type Reply, send } from './creating.ts';
import { issueKey } from './kills.ts';

const WORKERS = 8;
const RETRY_MS = 50;
const ENDINGS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const;

export interface PostgresRestartFigures {
  readonly restarts: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly doubled: number;
  /** Answers that were neither a 201 nor a 503. */
  readonly unexplained: readonly Reply[];
  readonly unknownOutcomes: number;
  /** Commits whose answer was lost on purpose: without its key each would be doubled by its retry. */
  readonly lostAnswers: number;
  /** From the moment that the server answers again to the next create, at worst. */
  readonly slowestRecoveryMs: number;
}

/**
 * Restarts PostgreSQL under creates that carry an Idempotency-Key and are retried until they are acknowledged: in
 * turn by an orderly stop, a quick one and a crash; before each the answer to a commit is lost. Compares what was
 * acknowledged with what is there.
 */
export async function restartPostgresUnderCreates(
  restarts: number,
  randomMs: () => number,
): Promise<PostgresRestartFigures> {
  using folder = temporaryFolder();
  await using postgres = await startPostgres();
  await using proxy = await openCommitProxy(postgres.port);
  const url = postgres.url.replace(`:${postgres.port}/`, `:${proxy.port}/`);
  const options = {
    cwd: folder.path,
    env: { DATABASE_URL: url, CATEGORIES_MAX: '1000000', CATEGORIES_BYTES_MAX: '1073741824' },
  };
  const secret = await issueKey(folder.path, options.env);
  await using service = await serveProcess([], options);

  const load = createUntilAcknowledged(`${service.url}/categories`, secret);
  let slowestRecoveryMs = 0;
  for (let restart = 0; restart < restarts; restart += 1) {
    const running = load.acknowledged.size;
    await untilTrue(() => load.acknowledged.size > running, 'a create before the stop');
    proxy.breakNext();
    await untilTrue(() => proxy.hasBroken, 'an answer that is lost');
    await wait(randomMs());
    await postgres.stop(ENDINGS[restart % ENDINGS.length]);
    await wait(randomMs());
    await postgres.start();
    const before = load.acknowledged.size;
    const startedMs = performance.now();
    await untilTrue(() => load.acknowledged.size > before, `a create after ${service.output.stderr}`);
    slowestRecoveryMs = Math.max(slowestRecoveryMs, performance.now() - startedMs);
  }
  await load.stop();

  const { body } = await send(new Agent(), `${service.url}/categories`, secret);
  const stored = await postgres.query('select id, name from categories order by id');
  const present = new Map(stored.map(({ id, name }) => [name, Number(id)]));
  const lost = [...load.acknowledged].filter(([name, id]) => present.get(name) !== id).length;
  assert.deepEqual(
    (JSON.parse(body) as Category[]).map(({ id, name }) => [id, name]),
    stored.map(({ id, name }) => [Number(id), name]),
    'the list is what is stored',
  );
  return {
    restarts,
    acknowledged: load.acknowledged.size,
    lost,
    doubled: stored.length - present.size,
    unexplained: load.unexplained,
    unknownOutcomes: load.count('outcome_unknown'),
    lostAnswers: restarts,
    slowestRecoveryMs,
  };
}

function createUntilAcknowledged(url: string, secret: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS });
  const acknowledged = new Map<unknown, number>();
  const unexplained: Reply[] = [];
  const codes = new Map<string, number>();
  let stopped = false;
  const create = async (name: string) => {
    for (;;) {
      const reply = await send(agent, url, secret, { name }, { 'idempotency-key': name });
      if (reply.status === 201) return acknowledged.set(name, JSON.parse(reply.body).id);
      const { code } = JSON.parse(reply.body);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (reply.status !== 503) unexplained.push(reply);
      await wait(RETRY_MS);
    }
  };
  const work = async (worker: number) => {
    for (let round = 0; !stopped; round += 1) await create(`worker ${worker} round ${round}`);
  };
  const done = Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
  return {
    acknowledged,
    unexplained,
    count: (code: string) => codes.get(code) ?? 0,
    async stop() {
      stopped = true;
      await done;
      agent.destroy();
    },
  };
}
