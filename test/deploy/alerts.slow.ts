import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { COMMAND, run, type ServiceProcess, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { temporaryFolder } from '../kit/service.ts';

/** Real trouble, a real Prometheus: every alert fires while its trouble lasts, and ends after it. */

const RULES = readFileSync(fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url)), 'utf8');
/** The rules are so much faster here, and so is the scrape. */
const FASTER = 10;
const SCRAPE = '1s';
/** Ends a test that hangs, and times nothing. */
const PATIENCE_MS = 240_000;
/** Alerts whose trouble is not caused here, and the reason. */
const NOT_CAUSED: Readonly<Record<string, string>> = {
  PetCatalogWritesWaiting: 'it takes more than 5,000 creates that wait at once for a minute',
};
const JOBS = ['killed', 'restarted', 'postgres', 'redis', 'guessed', 'locked', 'stopped', 'disk', 'rows'] as const;
const MORE_JOBS = ['descriptors', 'backups', 'log', 'full'] as const;
type Job = (typeof JOBS)[number] | (typeof MORE_JOBS)[number];

const noPrograms = missingPrograms('prometheus', 'openssl');
/** One that only root may do. */
const cannotMount = process.getuid?.() === 0 ? false : 'only root mounts a small file system: the disk was not filled';

async function until(condition: () => Promise<boolean>, awaited: string): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition().catch(() => false))) {
    assert.ok(performance.now() - startedMs < PATIENCE_MS, `this did not come true in time: ${awaited}`);
    await delay(200);
  }
}

suite('alerts of a real Prometheus', { skip: noPrograms, concurrency: 4 }, () => {
  const folder = temporaryFolder();
  const ports = new Map<Job, number>();
  const caused = new Set<string>();
  let prometheus: ChildProcess;
  let address = '';

  before(async () => {
    for (const job of [...JOBS, ...MORE_JOBS]) ports.set(job, await freePort());
    const faster = (_: string, head: string, minutes: string, tail: string) =>
      `${head}${(Number(minutes) * 60) / FASTER}s${tail}`;
    const rules = RULES.replaceAll(/(for: )(\d+)m()/g, faster).replaceAll(/(\[)(\d+)m(\])/g, faster);
    writeFileSync(join(folder.path, 'alerts.yaml'), rules);
    const scrapes = [...ports].map(([job, port]) => ({
      job_name: job,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    }));
    const config = {
      global: { scrape_interval: SCRAPE, evaluation_interval: SCRAPE, external_labels: { pet_catalog_runbook: 'x' } },
      rule_files: ['alerts.yaml'],
      scrape_configs: scrapes,
    };
    writeFileSync(join(folder.path, 'prometheus.yaml'), JSON.stringify(config));
    address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${join(folder.path, 'prometheus.yaml')}`, `--web.listen-address=${address}`];
    prometheus = spawn('prometheus', [...args, `--storage.tsdb.path=${join(folder.path, 'series')}`], {
      stdio: 'ignore',
    });
    await until(async () => (await fetch(`http://${address}/-/ready`)).ok, 'Prometheus');
  });
  after(async () => {
    prometheus?.kill('SIGTERM');
    if (prometheus) await once(prometheus, 'exit');
    folder[Symbol.dispose]();
    const named = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    assert.deepEqual([...caused, ...Object.keys(NOT_CAUSED)].sort(), named.sort(), 'every alert is caused, or named');
  });

  const isFiring = async (alert: string, job: Job) => {
    const { data } = (await (await fetch(`http://${address}/api/v1/alerts`)).json()) as {
      data: { alerts: { state: string; labels: Record<string, string> }[] };
    };
    return data.alerts.some(
      ({ state, labels }) => state === 'firing' && labels.alertname === `PetCatalog${alert}` && labels.job === job,
    );
  };
  const fires = async (job: Job, ...alerts: string[]) => {
    for (const alert of alerts) {
      await until(() => isFiring(alert, job), `${alert} fires`);
      caused.add(`PetCatalog${alert}`);
    }
  };
  const ends = async (job: Job, ...alerts: string[]) => {
    for (const alert of alerts) await until(async () => !(await isFiring(alert, job)), `${alert} ends`);
  };
  /** Waits until a query finds something. */
  const finds = (query: string) =>
    until(async () => {
      const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
      return ((await answer.json()) as { data: { result: unknown[] } }).data.result.length > 0;
    }, query);
  const isSeen = (job: Job) => finds(`up{job="${job}"} == 1`);
  const optionsOf = (job: Job, cwd: string, settings: Record<string, string> = {}) => {
    const env: Record<string, string> = { OPERATOR_PORT: `${ports.get(job)}`, BAN_AFTER_REFUSALS: '0', ...settings };
    return { cwd, env };
  };

  /** Repeats work until disposed of, whatever comes of it. */
  const repeating = (work: () => Promise<unknown>, everyMs: number): AsyncDisposable => {
    let isOver = false;
    const running = (async () => {
      while (!isOver) {
        await work().catch(() => {});
        await delay(everyMs);
      }
    })();
    return {
      async [Symbol.asyncDispose]() {
        isOver = true;
        await running;
      },
    };
  };
  const callerOf = (service: ServiceProcess, secret: string) => (path: string, body?: object) =>
    fetch(`${service.url}${path}`, {
      method: body ? 'POST' : 'GET',
      ...(body && { body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', connection: 'close' },
    }).then((response) => response.arrayBuffer());

  test('Down: a process that was killed', async () => {
    using own = temporaryFolder();
    const options = optionsOf('killed', own.path);
    {
      await using service = await serveProcess([], options);
      await isSeen('killed');
      await service.end('SIGKILL');
      await fires('killed', 'Down');
    }
    await using _again = await serveProcess([], options);
    await ends('killed', 'Down');
  });

  test('Restarting: a process that is started again and again', async () => {
    using own = temporaryFolder();
    const options = optionsOf('restarted', own.path);
    for (let round = 0; round < 8 && !(await isFiring('Restarting', 'restarted')); round += 1) {
      await using service = await serveProcess([], options);
      const metrics = await (await fetch(`http://127.0.0.1:${ports.get('restarted')}/metrics`)).text();
      const [, startedAt = ''] = /^process_start_time_seconds (\S+)$/m.exec(metrics) ?? [];
      await finds(`process_start_time_seconds{job="restarted"} == ${startedAt}`);
      await service.end('SIGTERM');
    }
    await using _again = await serveProcess([], options);
    await fires('restarted', 'Restarting');
    await ends('restarted', 'Restarting');
  });

  test('Errors, StorageFailing, CountsNotSaved: PostgreSQL is stopped', { skip: noPostgresPrograms }, async () => {
    using own = temporaryFolder();
    await using postgres = await startPostgres();
    const options = optionsOf('postgres', own.path, { DATABASE_URL: postgres.url });
    const secret = await issueKey(own.path, options.env);
    await using service = await serveProcess([], options);
    const call = callerOf(service, secret);
    await using _load = repeating(() => Promise.all([call('/pets'), call('/categories')]), 100);
    await isSeen('postgres');
    await postgres.stop();
    await fires('postgres', 'StorageFailing', 'Errors', 'CountsNotSaved');
    await postgres.start();
    await ends('postgres', 'StorageFailing', 'Errors', 'CountsNotSaved');
  });

  test('RedisDown, RedisLate: Redis is killed, and is suspended again and again', {
    skip: redisServerMissing(),
  }, async () => {
    using own = temporaryFolder();
    await using redis = await startRedis();
    const options = optionsOf('redis', own.path, {
      DATABASE_URL: `sqlite:${join(own.path, 'pets.db')}`,
      REDIS_URL: redis.url,
      INSTANCES: '1',
    });
    const secret = await issueKey(own.path, options.env);
    await using service = await serveProcess([], options);
    const call = callerOf(service, secret);
    await using _load = repeating(() => call('/categories'), 20);
    await isSeen('redis');
    await redis.kill();
    await fires('redis', 'RedisDown');
    await redis.start();
    await ends('redis', 'RedisDown');
    {
      await using _late = repeating(async () => {
        redis.freeze();
        await delay(300);
        redis.thaw();
      }, 1_200);
      await fires('redis', 'RedisLate');
    }
    redis.thaw();
    await ends('redis', 'RedisLate');
  });

  test('Guessing, Bans: wrong keys, and a key that goes on after a refusal', async () => {
    using own = temporaryFolder();
    const options = optionsOf('guessed', own.path, { BAN_AFTER_REFUSALS: '1' });
    const plan = ['--plan', 'enterprise', '--per-minute', '1', '--per-day', '1000000'];
    const { stdout } = await run(['keys', 'create', '--name', 'hasty', ...plan], options);
    await using service = await serveProcess([], options);
    await isSeen('guessed');
    const [hasty, guess] = [callerOf(service, stdout.trim()), callerOf(service, 'petcat_live_guess')];
    {
      await using _guessing = repeating(() => Promise.all(Array.from({ length: 5 }, () => guess('/pets'))), 100);
      await using _hasty = repeating(() => hasty('/pets'), 300);
      await fires('guessed', 'Bans', 'Guessing');
    }
    await ends('guessed', 'Bans', 'Guessing');
  });

  test('Slow: another process locks the database again and again', async () => {
    using own = temporaryFolder();
    const options = optionsOf('locked', own.path);
    const secret = await issueKey(own.path);
    await using service = await serveProcess([], options);
    await isSeen('locked');
    const call = callerOf(service, secret);
    let number = 0;
    await using _load = repeating(() => {
      number += 1;
      return call('/categories', { name: `category ${number}` });
    }, 50);
    {
      using other = new DatabaseSync(join(own.path, 'data/pet-catalog.db'), { timeout: 5_000 });
      await using _locking = repeating(async () => {
        other.exec('BEGIN IMMEDIATE');
        await delay(700);
        other.exec('ROLLBACK');
      }, 20);
      await fires('locked', 'Slow');
    }
    await ends('locked', 'Slow');
  });

  test('Busy: the process does not get the processor', async () => {
    using own = temporaryFolder();
    await using service = await serveProcess([], optionsOf('stopped', own.path));
    await isSeen('stopped');
    {
      await using _stopping = repeating(async () => {
        process.kill(service.pid, 'SIGSTOP');
        await delay(450);
        process.kill(service.pid, 'SIGCONT');
      }, 250);
      await fires('stopped', 'Busy');
    }
    await ends('stopped', 'Busy');
  });

  test('DiskLow: less than a gibibyte is free', { skip: cannotMount }, async () => {
    using own = temporaryFolder();
    const data = join(own.path, 'data');
    using _disk = mounted(data, '1200m');
    await using _service = await serveProcess([], optionsOf('disk', own.path));
    await isSeen('disk');
    const filler = join(data, 'filler');
    writeFileSync(filler, Buffer.alloc(300 * 1024 ** 2));
    await fires('disk', 'DiskLow');
    rmSync(filler);
    await ends('disk', 'DiskLow');
  });

  test('BackupOld: the disk of the backups is full', { skip: cannotMount }, async () => {
    using own = temporaryFolder();
    const backups = join(own.path, 'backups');
    // No backup is begun that would leave less than 64 MiB.
    using _disk = mounted(backups, '80m');
    const settings = { BACKUP_DIR: backups, BACKUP_EVERY: '10s', BACKUP_KEEP: '2' };
    await using _service = await serveProcess([], optionsOf('backups', own.path, settings));
    await isSeen('backups');
    const filler = join(backups, 'filler');
    const room = spawnSync('sh', ['-c', `cat /dev/zero > '${filler}'`]);
    assert.notEqual(room.status, 0, 'the disk is full');
    await fires('backups', 'BackupOld');
    rmSync(filler);
    await ends('backups', 'BackupOld');
  });

  test('Connections: connections take most of the descriptors', async () => {
    using own = temporaryFolder();
    const { env } = optionsOf('descriptors', own.path, { PORT: `${await freePort()}` });
    const child = spawn('sh', ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, COMMAND, 'serve'], {
      cwd: own.path,
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    try {
      await isSeen('descriptors');
      const held = new Set<Socket>();
      const hold = (connections: number) => {
        while (held.size < connections) {
          const socket = connect(Number(env.PORT), '127.0.0.1');
          held.add(socket);
          socket.on('error', () => {});
          socket.on('close', () => held.delete(socket));
          socket.resume();
        }
      };
      {
        await using _holding = repeating(async () => hold(55), 100);
        await fires('descriptors', 'Connections');
      }
      for (const socket of held) socket.destroy();
      await ends('descriptors', 'Connections');
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  });

  test('LogLarge: a forgotten reader keeps the log from being moved into the file', async () => {
    using own = temporaryFolder();
    const secret = await issueKey(own.path);
    await using service = await serveProcess([], optionsOf('log', own.path));
    const call = callerOf(service, secret);
    let number = 0;
    await using _load = repeating(() => {
      number += 1;
      return call('/categories', { name: `category ${number}` });
    }, 200);
    await isSeen('log');
    const file = join(own.path, 'data/pet-catalog.db');
    {
      using reader = new DatabaseSync(file, { readOnly: true });
      reader.exec('BEGIN');
      reader.prepare('select count(*) from api_keys').all();
      using writer = new DatabaseSync(file, { timeout: 5_000 });
      writer.exec('create table scratch (bytes blob); insert into scratch values (zeroblob(270 * 1024 * 1024))');
      await fires('log', 'LogLarge');
      reader.exec('ROLLBACK');
      writer.exec('drop table scratch');
    }
    await ends('log', 'LogLarge');
  });

  test('NearlyFull: the catalog has as many categories as it may', async () => {
    using own = temporaryFolder();
    const options = optionsOf('full', own.path, { CATEGORIES_MAX: '10' });
    const secret = await issueKey(own.path);
    await using service = await serveProcess([], options);
    await isSeen('full');
    const call = callerOf(service, secret);
    for (let number = 0; number < 10; number += 1) await call('/categories', { name: `${number}` });
    await fires('full', 'NearlyFull');
    assert.equal((await run(['categories', 'delete', '1'], options)).code, 0);
    await ends('full', 'NearlyFull');
  });
});

/** A file system of a size in memory, until disposed of. */
function mounted(path: string, size: string): Disposable {
  mkdirSync(path);
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return { [Symbol.dispose]: () => spawnSync('umount', ['-l', path]) };
}
