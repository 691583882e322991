import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { contextFiles, linkInstalled } from '../kit/deploy/containerfile.ts';
import { endProcess, type Machine, openMachine } from '../kit/deploy/host.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms, noRegistry } from '../kit/deploy/programs.ts';
import { anchorsOf, follow, sectionsOf } from '../kit/deploy/runbook.ts';
import { startStandby } from '../kit/deploy/standby.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { redisServerMissing } from '../kit/redis-server.ts';

/**
 * Runs the runbook. `test/kit/deploy/host.ts` says what stands in the place of root and systemd; the service, its
 * database, the servers and the tools are the real ones.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const sections = sectionsOf(page);
const covered = new Set<string>();
const noTools = missingPrograms('bash', 'curl');
const noPostgresTools = noPostgresPrograms || missingPrograms('psql', 'pg_dump', 'pg_restore', 'pg_basebackup');
const noRedis = redisServerMissing() ?? missingPrograms('redis-cli');
const READY = 'curl -fs --retry 60 --retry-delay 1 --retry-all-errors';
const KEY = 'npx pet-catalog keys create --name shop --plan';

test('the links of the page resolve, and the files that it names exist', () => {
  const anchors = anchorsOf(page);
  for (const [, anchor = ''] of page.matchAll(/\]\(#([\w-]+)\)/g)) assert.ok(anchors.includes(anchor), anchor);
  const files = [...page.matchAll(/\b(?:deploy|test)\/[\w./-]+\.[a-z]+\b/g)].map(([file]) => file);
  assert.ok(files.length >= 10);
  for (const file of files) assert.ok(existsSync(join(ROOT, file)), file);
});

test('the commands for root are valid shell', () => {
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)];
  assert.equal(blocks.length, 1);
  for (const [, block = ''] of blocks) assert.equal(spawnSync('sh', ['-n'], { input: block }).status, 0, block);
});

walk('Install, Upgrade, Roll back', { unless: noTools || noRegistry }, async () => {
  await using machine = await openMachine({ installed: true });
  const checkout = join(dirname(machine.home), 'pet-catalog');
  mkdirSync(checkout);
  for (const file of contextFiles(ROOT, readFileSync(join(ROOT, 'deploy/Containerfile.dockerignore'), 'utf8'))) {
    mkdirSync(join(checkout, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(checkout, file));
  }
  linkInstalled(ROOT, checkout);
  machine.names.set('~/pet-catalog', checkout);
  // The page is about the way from 0.1.0 to 0.2.0, whatever the version of the checkout.
  const setVersion = (version: string) => {
    const manifest = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
    writeFileSync(join(checkout, 'package.json'), JSON.stringify({ ...manifest, version }));
  };
  setVersion('0.1.0');
  await section(machine, 'Install');

  setVersion('0.2.0');
  await machine.prepare(`(cd ${checkout} && npm pack --silent --ignore-scripts)`);
  await section(machine, 'Upgrade');
  await section(machine, 'Roll back');
});

walk('Back up, Restore', { unless: noTools || noPostgresTools }, async () => {
  await using server = await startPostgres();
  await using machine = await openMachine({ settings: { BACKUP_DIR: 'backups', BACKUP_EVERY: '1s' } });
  await serving(machine);
  const newest = "backups/$(ls backups | grep 'Z.db$' | tail -n 1)";
  const list = `npx pet-catalog categories list --database-url sqlite:${newest} 2>&1`;
  await machine.prepare(`until ${list} | grep -q Dog; do sleep 0.2; done`);
  machine.names.set('petcatalog@db1.example.internal:5432/petcatalog', `postgres@127.0.0.1:${server.port}/postgres`);
  await machine.prepare(`npx pet-catalog migrate --database-url ${server.url}`);
  await section(machine, 'Back up');
  await section(machine, 'Restore');
});

walk('Rotate a leaked key', { unless: noTools }, async () => {
  await using machine = await openMachine();
  await serving(machine);
  await machine.prepare('until npx pet-catalog usage 2>&1 | grep -q shop; do sleep 0.2; done');
  await section(machine, 'Rotate a leaked key');
});

walk('Lift a ban', { unless: noTools }, async () => {
  await using machine = await openMachine({ settings: { BAN_AFTER_REFUSALS: '1' } });
  await serving(machine, 'enterprise --per-minute 3 --per-day 100000');
  const call = `curl -s -H "Authorization: Bearer $PET_CATALOG_KEY" ${machine.url}/categories`;
  await machine.prepare(`until ${call} | grep -q key_banned; do sleep 0.1; done`);
  await section(machine, 'Lift a ban');
});

for (const heading of ['It does not answer', 'It is slow', 'The disk is full'])
  walk(heading, { unless: noTools }, async () => {
    await using machine = await openMachine();
    await serving(machine);
    await section(machine, heading);
  });

walk('Redis is down', { unless: noTools || noRedis }, async () => {
  const port = await freePort();
  const serve = `redis-server --port ${port} --bind 127.0.0.1 --save '' --daemonize yes --pidfile $PWD/redis.pid >/dev/null`;
  // As systemd's unit, which returns once the server has notified that it is ready.
  const start = `${serve}; until redis-cli -p ${port} ping >/dev/null 2>&1; do sleep 0.1; done`;
  await using machine = await openMachine({
    settings: { REDIS_URL: `redis://127.0.0.1:${port}`, INSTANCES: '2' },
    units: { 'redis-server': start },
  });
  const pidFile = join(machine.home, 'redis.pid');
  try {
    await machine.prepare('systemctl start redis-server');
    await serving(machine);
    await endProcess(pidFile);
    const call = `curl -s -H "Authorization: Bearer $PET_CATALOG_KEY" ${machine.url}/categories >/dev/null`;
    await machine.prepare(`until ${call}; curl -s ${operator(machine)}/readyz | grep -q degraded; do sleep 0.2; done`);
    machine.names.set('redis.example.internal:6379', `127.0.0.1:${port}`);
    await section(machine, 'Redis is down');
  } finally {
    await endProcess(pidFile);
  }
});

walk('PostgreSQL fails over', { unless: noTools || noPostgresTools }, async () => {
  await using server = await startPostgres();
  await server.query('create database petcatalog');
  await using standby = await startStandby(server.port);
  const url = `postgres://postgres@127.0.0.1:${server.port}/petcatalog`;
  await using machine = await openMachine({ settings: { DATABASE_URL: url } });
  await serving(machine);
  // An ordinary stop sends the standby all that there is.
  await server.stop('SIGINT');
  await machine.prepare(`until curl -s ${operator(machine)}/readyz | grep -q unavailable; do sleep 0.2; done`);
  machine.names.set('petcatalog@db2.example.internal:5432', `postgres@${standby.host}:${server.port}`);
  machine.names.set('db2.example.internal', standby.host);
  machine.names.set('db1.example.internal', '127.0.0.1');
  await section(machine, 'PostgreSQL fails over');
  assert.match(await machine.prepare('npx pet-catalog keys list'), /shop/);
});

walk('Move up to PostgreSQL', { unless: noTools || noPostgresTools }, async () => {
  await using server = await startPostgres();
  await using machine = await openMachine();
  await serving(machine);
  machine.names.set('petcatalog@db1.example.internal:5432/petcatalog', `postgres@127.0.0.1:${server.port}/postgres`);
  await section(machine, 'Move up to PostgreSQL');
});

test('every section that has commands is walked through', () => {
  const withCommands = [...sections].filter(([, steps]) => steps.length > 0).map(([heading]) => heading);
  assert.ok(withCommands.length >= 10);
  assert.deepEqual(withCommands.toSorted(), [...covered].sort());
});

/** A test of one or more sections, left out if something is missing. */
function walk(
  headings: string,
  { unless }: { unless: string | false | (() => string | false) },
  work: () => Promise<void>,
): void {
  for (const heading of headings.split(', ')) covered.add(heading);
  test(`the runbook does what it says: ${headings}`, async (t) => {
    const why = typeof unless === 'function' ? unless() : unless;
    if (why) t.skip(why);
    else await work();
  });
}

async function section(machine: Machine, heading: string): Promise<void> {
  await follow(sections.get(heading) ?? [], machine.shell, machine.names);
}

/** Starts the service, with a key in the shell’s PET_CATALOG_KEY and a category. */
async function serving(machine: Machine, plan = 'pro'): Promise<void> {
  await machine.prepare('systemctl start pet-catalog');
  await machine.prepare(`${READY} ${operator(machine)}/readyz`);
  await machine.prepare(`PET_CATALOG_KEY=$(${KEY} ${plan})`);
  const headers = '-H "Authorization: Bearer $PET_CATALOG_KEY" -H "Content-Type: application/json"';
  await machine.prepare(`curl -fs ${headers} -d '{"name":"Dog"}' ${machine.url}/categories`);
}

function operator({ names }: Machine): string {
  return `http://${names.get('127.0.0.1:8081')}`;
}
