import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { endProcess, type Machine, openMachine } from '../kit/deploy/host.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { anchorsOf, follow, sectionsOf } from '../kit/deploy/runbook.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { redisServerMissing } from '../kit/redis-server.ts';
import { buildExecutable, copyAsVersion } from './executable.ts';

/**
 * Runs the runbook. `test/kit/deploy/host.ts` says what stands in the place of root and systemd; the service, its
 * database, the servers and the tools are the real ones.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const sections = sectionsOf(page);
const noTools = missingPrograms('bash', 'curl', 'ps');
const noPostgresTools = noPostgresPrograms || missingPrograms('psql', 'pg_dump', 'pg_restore', 'pg_basebackup');
const noRedis = redisServerMissing() ?? missingPrograms('redis-cli');
const READY = 'curl -fs --retry 60 --retry-delay 1 --retry-all-errors';

test('the links of the page resolve, and the files that it names exist', () => {
  const anchors = anchorsOf(page);
  for (const [, anchor = ''] of page.matchAll(/\]\(#([\w-]+)\)/g)) assert.ok(anchors.includes(anchor), anchor);
  const files = [...page.matchAll(/\b(?:deploy|test)\/[\w./-]+\.[a-z]+\b/g)].map(([file]) => file);
  assert.ok(files.length >= 10);
  for (const file of files) assert.ok(existsSync(join(ROOT, file)), file);
});

test('the commands for root are valid shell', () => {
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)];
  assert.ok(blocks.length > 0);
  for (const [, block = ''] of blocks) assert.equal(spawnSync('sh', ['-n'], { input: block }).status, 0, block);
});

/** What each chapter starts from, on one machine on which all chapters before it were followed. */
const CHAPTERS: Record<string, (world: World) => Promise<unknown>> = {
  Install: async () => {},
  Upgrade: async () => {},
  'Roll back': async () => {},
  async 'Back up'({ machine, server }) {
    // The backups of every second have what the chapters show.
    await machine.prepare('echo BACKUP_EVERY=1s >> .env; systemctl restart pet-catalog');
    const headers = '-H "Authorization: Bearer $PET_CATALOG_KEY" -H "Content-Type: application/json"';
    await machine.prepare(`${READY} ${operator(machine)}/readyz`);
    await machine.prepare(`curl -fs ${headers} -d '{"name":"Dog"}' ${machine.url}/categories`);
    const newest = "backups/$(ls backups | grep 'Z.db$' | tail -n 1)";
    const usage = `pet-catalog usage --database-url sqlite:${newest} 2>&1`;
    await machine.prepare(`until ${usage} | grep -q shop; do sleep 0.2; done`);
    await server.query('create database petcatalog');
    const address = `postgres@127.0.0.1:${server.port}/petcatalog`;
    machine.names.set('petcatalog@db1.example.internal:5432/petcatalog', address);
    await machine.prepare(`pet-catalog migrate --database-url postgres://${address}`);
  },
  Restore: async () => {},
  'Rotate a leaked key': async () => {},
  async 'Lift a ban'({ machine }) {
    const id = "$(pet-catalog keys list --json | grep -o 'key_[^\"]*')";
    await machine.prepare('echo BAN_AFTER_REFUSALS=1 >> .env; systemctl restart pet-catalog');
    await machine.prepare(`${READY} ${operator(machine)}/readyz`);
    await machine.prepare(`pet-catalog keys set-plan ${id} enterprise --per-minute 3 --per-day 100000`);
    await machine.prepare(`until ${call(machine)} | grep -q key_banned; do sleep 0.1; done`);
  },
  async 'It does not answer'({ machine }) {
    // `doctor` expects a backup no older than two intervals, and may be slower than two of a second.
    await machine.prepare("sed -i '/^BACKUP_EVERY=/d' .env; systemctl restart pet-catalog");
    await machine.prepare(`${READY} ${operator(machine)}/readyz`);
  },
  'It is slow': async () => {},
  'It is nearly full': async () => {},
  'The disk is full': async () => {},
  async 'Move up to PostgreSQL'({ machine, server }) {
    await machine.prepare("pet-catalog keys set-plan $(pet-catalog keys list --json | grep -o 'key_[^\"]*') pro");
    // `transfer` fills empty tables.
    await server.query('drop database petcatalog');
    await server.query('create database petcatalog');
  },
  async 'PostgreSQL fails over'({ machine, server, standbys }) {
    // Of another address, as the runbook changes the name of the host alone.
    const host = '127.0.0.2';
    standbys.use(await server.startStandby({ host, port: server.port }));
    // An ordinary stop sends the standby all that there is.
    await server.stop('SIGINT');
    await machine.prepare(`until curl -s ${operator(machine)}/readyz | grep -q unavailable; do sleep 0.2; done`);
    machine.names.delete('petcatalog@db1.example.internal:5432/petcatalog');
    machine.names.set('petcatalog@db2.example.internal:5432', `postgres@${host}:${server.port}`);
    machine.names.set('db2.example.internal', host);
    machine.names.set('db1.example.internal', '127.0.0.1');
  },
  async 'Redis is down'({ machine, redisPort }) {
    await machine.prepare('systemctl start redis-server');
    const settings = `REDIS_URL=redis://127.0.0.1:${redisPort}\\nINSTANCES=2\\n`;
    await machine.prepare(`printf '${settings}' >> .env; systemctl restart pet-catalog`);
    await machine.prepare(`${READY} ${operator(machine)}/readyz`);
    await endProcess(join(machine.home, 'redis.pid'));
    await machine.prepare(
      `until ${call(machine)} >/dev/null; curl -s ${operator(machine)}/readyz | grep -q degraded; do sleep 0.2; done`,
    );
    machine.names.delete('db1.example.internal');
    machine.names.set('redis.example.internal:6379', `127.0.0.1:${redisPort}`);
  },
};

interface World {
  readonly machine: Machine;
  readonly server: Awaited<ReturnType<typeof startPostgres>>;
  readonly standbys: AsyncDisposableStack;
  readonly redisPort: number;
}

test('every chapter does what it says, one after the other on one machine', async (t) => {
  const missing = noTools || noPostgresTools || noRedis;
  if (missing) return t.skip(missing);
  await using server = await startPostgres();
  await using standbys = new AsyncDisposableStack();
  const redisPort = await freePort();
  const serve = `redis-server --port ${redisPort} --bind 127.0.0.1 --save '' --daemonize yes --pidfile $PWD/redis.pid >/dev/null`;
  // As systemd's unit, which returns once the server has notified that it is ready.
  const start = `${serve}; until redis-cli -p ${redisPort} ping >/dev/null 2>&1; do sleep 0.1; done`;
  await using machine = await openMachine({
    settings: { BACKUP_DIR: 'backups' },
    units: { 'redis-server': start },
    installed: true,
  });
  await using _redis = { [Symbol.asyncDispose]: () => endProcess(join(machine.home, 'redis.pid')) };
  const downloads = join(dirname(machine.home), 'pet-catalog');
  mkdirSync(downloads);
  machine.names.set('~/pet-catalog', downloads);
  const built = join(downloads, 'pet-catalog');
  buildExecutable(built);
  // The page is about the way from 0.4.0 to 0.4.1, whatever the version of the checkout.
  for (const version of ['0.4.0', '0.4.1'])
    copyAsVersion(built, join(downloads, `pet-catalog-${version}-linux-x64`), version);
  const world = { machine, server, standbys, redisPort };
  for (const [heading, steps] of sections) {
    if (steps.length === 0) continue;
    const prepare = CHAPTERS[heading] ?? assert.fail(`nothing prepares the chapter ${heading}`);
    await t.test(heading, async () => {
      await prepare(world);
      await follow(steps, machine.shell, machine.names);
    });
  }
  assert.ok([...sections.keys()].filter((heading) => heading in CHAPTERS).length === Object.keys(CHAPTERS).length);
});

function call({ url }: Machine): string {
  return `curl -s -H "Authorization: Bearer $PET_CATALOG_KEY" ${url}/categories`;
}

function operator({ names }: Machine): string {
  return `http://${names.get('127.0.0.1:8081')}`;
}
