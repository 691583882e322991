import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Category } from '../../../src/catalog/category.ts';
import { untilTrue } from '../clock.ts';
import { temporaryFolder } from '../folder.ts';
import { run, serveProcess } from '../process.ts';
import { keepCreating, send } from './creating.ts';
import { serveHere } from './serve-here.ts';

const CONNECTIONS = 16;
/** The options of a key with limits too high to matter. */
export const UNLIMITED_OPTIONS = ['--plan', 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000'];

export interface KillFigures {
  readonly kills: number;
  readonly acknowledged: number;
  readonly lost: number;
  readonly reusedIds: number;
  readonly unexplained: number;
}

/**
 * Kills the service in the middle of concurrent creates, again and again, on one database, and compares what was
 * acknowledged with what is there after each restart.
 */
export async function killDuringCreates(kills: number, randomMs: () => number): Promise<KillFigures> {
  using folder = temporaryFolder();
  const options = optionsIn(folder.path);
  const secret = await issueKey(folder.path);
  const acknowledged = new Map<number, Category>();
  let [lost, reusedIds, unexplained] = [0, 0, 0];

  for (let kill = 0; kill <= kills; kill += 1) {
    await using service = kill === kills ? await serveHere(options.env) : await serveProcess([], options);
    const agent = new Agent();
    const { body } = await send(agent, `${service.url}/categories`, secret);
    const present = new Map((JSON.parse(body) as Category[]).map((category) => [category.id, category]));
    for (const [id, category] of acknowledged) {
      if (present.get(id)?.name !== category.name) lost += 1;
    }
    if (!('end' in service)) break;
    const creating = keepCreating(service.url, secret, { connections: CONNECTIONS, pauseMs: 0 });
    await untilTrue(() => creating.acknowledged.length > 0, 'a create before the kill');
    await wait(randomMs());
    await service.end('SIGKILL');
    await creating.stop();
    for (const category of creating.acknowledged) {
      if (acknowledged.has(category.id) || present.has(category.id)) reusedIds += 1;
      acknowledged.set(category.id, category);
    }
    unexplained += creating.unexpected.length;
  }
  return { kills, acknowledged: acknowledged.size, lost, reusedIds, unexplained };
}

function optionsIn(folder: string) {
  const bounds = { CATEGORIES_MAX: '1000000', CATEGORIES_BYTES_MAX: '1073741824' };
  return { cwd: folder, env: { DATABASE_URL: `sqlite:${join(folder, 'data/pet-catalog.db')}`, ...bounds } };
}

export interface RestartFigures {
  readonly restarts: number;
  readonly answered: number;
  readonly dropped: number;
  readonly unexplained: number;
  readonly lost: number;
}

/**
 * Stops the service by SIGTERM under load, again and again. A request counts as dropped if it was sent on a connection
 * that was accepted and got no answer; refused connections between two runs do not count.
 */
export async function restartUnderLoad(restarts: number): Promise<RestartFigures> {
  using folder = temporaryFolder();
  const options = optionsIn(folder.path);
  const secret = await issueKey(folder.path);
  let [answered, dropped, unexplained] = [0, 0, 0];
  const acknowledged: Category[] = [];
  for (let restart = 0; restart < restarts; restart += 1) {
    await using service = await serveProcess([], options);
    const load = loadUntilRefused(service.url, secret);
    await untilTrue(() => load.acknowledged.length >= CONNECTIONS, 'creates before the stop');
    assert.equal(await service.end('SIGTERM'), 0);
    const figures = await load.done;
    acknowledged.push(...load.acknowledged);
    answered += figures.answered;
    dropped += figures.dropped;
    unexplained += figures.unexplained;
  }
  await using service = await serveHere(options.env);
  const { body } = await send(new Agent(), `${service.url}/categories`, secret);
  const present = new Set((JSON.parse(body) as Category[]).map(({ id }) => id));
  return { restarts, answered, dropped, unexplained, lost: acknowledged.filter(({ id }) => !present.has(id)).length };
}

function loadUntilRefused(url: string, secret: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const acknowledged: Category[] = [];
  let [answered, dropped, unexplained] = [0, 0, 0];
  const work = async (worker: number) => {
    for (;;) {
      try {
        const body = worker % 2 === 0 ? { name: `worker ${worker}` } : undefined;
        const reply = await send(agent, `${url}/categories`, secret, body);
        answered += 1;
        if (reply.status === 201) acknowledged.push(JSON.parse(reply.body));
        if (reply.status >= 400) unexplained += 1;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') dropped += 1;
        return;
      }
    }
  };
  const workers = Promise.all(Array.from({ length: CONNECTIONS }, (_, worker) => work(worker)));
  const done = workers.then(() => {
    agent.destroy();
    return { answered, dropped, unexplained };
  });
  return { acknowledged, done };
}

/** Issues a key with limits too high to matter, by the command line. */
export async function issueKey(cwd: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await run(['keys', 'create', '--name', 'load', ...UNLIMITED_OPTIONS], { cwd, env });
  assert.equal(code, 0, stderr);
  return stdout.trim();
}
