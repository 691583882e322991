import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { readConfig } from '../src/config.ts';
import { systemTime } from '../src/stdx/time.ts';
import { openStorage } from '../src/storage/open.ts';
import { patientClock, untilEqual, untilTrue } from './kit/clock.ts';
import { OPERATOR } from './kit/operator.ts';
import { run, serveProcess } from './kit/process.ts';
import { type RedisServer, redisServerMissing, startRedis } from './kit/redis-server.ts';
import { temporaryFolder, testService } from './kit/service.ts';

/** Counts work instead of timing it, so that a regression shows on a busy machine too. */

const CONNECTIONS = 64;
const BATCH_REQUESTS = 1_600;
const BATCHES_MAX = 50;
/** Of a list of no categories, in a batch at best; Node's HTTP server with the least handler takes 5,300. */
const LIST_BYTES_MAX = 8_400;
/** Of a create that shares its transaction with those of the other connections. */
const CREATE_BYTES_MAX = 15_500;
/** Keep-alives of the service, and commands of the test itself. */
const NOT_COUNTED = /\{beat\}|"(ECHO|HELLO|CLIENT|INFO)"/i;
/** What there are, without the migrations, which a first start alone reads. */
const MODULES_MAX = 215;
/** Writes the addresses of all modules that a process read to a file, when it ends. */
const NOTING_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { writeFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const read = [];
  registerHooks({ load: (url, context, next) => (url.startsWith('file:') && read.push(url), next(url, context)) });
  process.on('exit', () => writeFileSync('modules.json', JSON.stringify(read)));
`)}`;

test('a start reads no more modules than it did', async () => {
  using folder = temporaryFolder();
  const env = { NODE_OPTIONS: `--import=${NOTING_MODULES}` };
  await using service = await serveProcess([], { cwd: folder.path, env });
  assert.equal((await fetch(`${service.url}/categories`)).status, 401);
  assert.equal(await service.end(), 0);
  const read: string[] = JSON.parse(readFileSync(join(folder.path, 'modules.json'), 'utf8'));
  const modules = read.filter((url) => !url.includes('/src/storage/migrations/'));
  assert.ok(modules.length >= 100, `only ${modules.length} modules were seen`);
  assert.deepEqual(
    modules.filter((url) =>
      /\/(http\/docs\/(reference|samples|guide\/markdown)|operator\/api\/(openapi|reference))\b/.test(url),
    ),
    [],
    'the documentation is rendered on its first request',
  );
  const byPackage = Map.groupBy(modules, (url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? 'ours');
  const counted = [...byPackage].map(([name, { length }]) => `${name} ${length}`).join(', ');
  assert.ok(modules.length <= MODULES_MAX, `${modules.length} modules: ${counted}`);
});

test('a list, whole or a page, runs no database statement', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  assert.equal((await service.call(secret, '/categories')).status, 200);
  using statements = countStatements();
  for (const path of ['/categories', '/categories?limit=10', '/categories?cursor=after_1']) {
    for (let i = 0; i < 20; i += 1) assert.equal((await service.call(secret, path)).status, 200);
  }
  // Excludes periodic work: polling for changes, saving counts and usage.
  const asked = statements.seen.filter((sql) =>
    /\b(categories|category_counter|api_keys|api_key_secrets|bans)\b/.test(sql),
  );
  assert.deepEqual(asked, []);
});

test('a rename or a deletion, also by another process, reads its own row and not the whole list', async (t) => {
  await using service = await testService();
  const { config, storage, clock } = service;
  if (config.database.engine !== 'sqlite') return t.skip('rows are counted in the embedded database');
  const { secret } = await service.issue({ plan: 'business' });
  const categories = Array.from({ length: 2_000 }, (_, index) => ({ name: `category ${index}` }));
  await storage.categories.import(categories, OPERATOR);
  const names = async () => {
    const list = (await (await service.call(secret, '/categories')).json()) as { name: string }[];
    return list.map(({ name }) => name);
  };
  assert.equal((await names()).length, 2_000);
  const { categoriesMax, categoriesBytesMax } = config;
  await using other = await openStorage(config.database, { time: clock, categoriesMax, categoriesBytesMax });
  using statements = countStatements();
  await storage.categories.rename(1, 'renamed here', OPERATOR);
  assert.equal((await names())[0], 'renamed here');
  await other.categories.rename(2, 'renamed elsewhere', OPERATOR);
  await other.categories.delete(3, OPERATOR);
  await untilEqual(async () => (await names())[2], 'category 3');
  assert.equal((await names())[1], 'renamed elsewhere');
  assert.ok(statements.rows > 5 && statements.rows < 500, `${statements.rows} rows were read`);
});

test('creates that arrive together take as many statements as one alone', async () => {
  using folder = temporaryFolder();
  const flags = { DATABASE_URL: `sqlite:${join(folder.path, 'x.db')}` };
  const { database } = readConfig({ flags, env: {}, file: {} });
  await using storage = await openStorage(database, {
    time: systemTime(),
    categoriesMax: 1_000,
    categoriesBytesMax: 1_000_000,
  });
  const statementsFor = async (creates: number) => {
    using statements = countStatements();
    const inserts = Array.from({ length: creates }, () => storage.categories.insert({ name: 'Dog' }, { keyId: 'key' }));
    assert.equal((await Promise.all(inserts)).length, creates);
    return statements.seen;
  };
  const alone = await statementsFor(1);
  assert.ok(alone.length >= 4, `only ${alone.length} statements were seen: ${alone}`);
  assert.equal((await statementsFor(64)).length, alone.length);
});

test('creates that arrive together on the embedded database are listed without reading them back', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const headers = { 'content-type': 'application/json' };
  const create = (name: string) =>
    service.call(secret, '/categories', { method: 'POST', headers, body: JSON.stringify({ name }) });
  using statements = countStatements();
  const created = await Promise.all(Array.from({ length: 64 }, (_, index) => create(`${index}`)));
  assert.ok(created.every(({ status }) => status === 201));
  assert.ok(statements.seen.some((sql) => /insert into categories/.test(sql)));
  assert.deepEqual(
    statements.seen.filter((sql) => /from categories/.test(sql)),
    [],
  );
});

test('a request is one round trip to Redis, and one over its limit none', { skip: redisServerMissing() }, async () => {
  await using redis = await startRedis();
  // A call that missed its deadline would be answered without Redis.
  await using service = await testService({ REDIS_URL: redis.url, INSTANCES: '1' }, patientClock());
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 21, day: 1_000 } });
  using monitor = await watchRedis(redis);
  const commandsFor = async (requests: number, status: number) => {
    await monitor.commands();
    for (let i = 0; i < requests; i += 1) assert.equal((await service.call(secret, '/categories')).status, status);
    return monitor.commands();
  };
  await commandsFor(1, 200);
  const counting = await commandsFor(20, 200);
  assert.equal(counting.length, 20, counting.join('\n'));
  assert.ok(counting.every((command) => command.includes('"EVALSHA"')));
  await commandsFor(1, 429);
  assert.deepEqual(await commandsFor(20, 429), []);
  service.clock.advance(2);
  assert.deepEqual(await commandsFor(100, 429), [], 'nor does one that is banned for going on');
  assert.equal(service.events.bans.length, 1);
});

/** Prints on SIGUSR2 how many bytes V8 has allocated, those of garbage too, and has V8 optimise code after less use. */
const COUNTING_BYTES = `data:text/javascript,${encodeURIComponent(`
  import { getHeapStatistics, setFlagsFromString } from 'node:v8';
  setFlagsFromString('--invocation-count-for-turbofan=300 --minimum-invocations-after-ic-update=50');
  process.on('SIGUSR2', () => process.stderr.write('allocated ' + getHeapStatistics().total_allocated_bytes + '\\n'));
`)}`;

test('a list and a create allocate no more than they may', async (t) => {
  if (getHeapStatistics().total_allocated_bytes === undefined) return t.skip('this Node.js counts no allocated bytes');
  using folder = temporaryFolder();
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
  const { stdout } = await run(['keys', 'create', '--name', 'counted', ...limits], { cwd: folder.path });
  const env = { NODE_OPTIONS: `--import=${COUNTING_BYTES}` };
  await using service = await serveProcess([], { cwd: folder.path, env });
  const { hostname, port, pathname } = new URL(`${service.url}/categories`);
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(Number(port), hostname).setEncoding('latin1'));
  const head = `${pathname} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${stdout.trim()}\r\n`;
  const body = JSON.stringify({ name: 'Dog', description: 'Loyal, social, needs walks' });
  const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  let told = 0;
  const allocated = async () => {
    told += 1;
    process.kill(service.pid, 'SIGUSR2');
    const lines = () => [...service.output.stderr.matchAll(/^allocated (\d+)$/gm)];
    await untilTrue(() => lines().length === told, 'the bytes allocated');
    return Number(lines().at(-1)?.[1]);
  };
  const perRequest = async (request: string, bytesMax: number) => {
    // Falls as V8 optimises the code, which takes some hundred requests.
    let least = Number.POSITIVE_INFINITY;
    for (let batch = 0; batch < BATCHES_MAX && least > bytesMax; batch += 1) {
      const before = await allocated();
      await Promise.all(sockets.map((socket) => sendInTurn(socket, request, BATCH_REQUESTS / CONNECTIONS)));
      least = Math.min(least, Math.round(((await allocated()) - before) / BATCH_REQUESTS));
    }
    assert.ok(least > 1_000 && least <= bytesMax, `${least} bytes for each ${request.split(' ')[0]}`);
  };
  await perRequest(`GET ${head}\r\n`, LIST_BYTES_MAX);
  await perRequest(`POST ${head}${type}\r\n${body}`, CREATE_BYTES_MAX);
  for (const socket of sockets) socket.destroy();
});

/** Sends a request so many times over a connection, each after the answer to the one before, which is 200 or 201. */
async function sendInTurn(socket: Socket, request: string, times: number): Promise<void> {
  for (let sent = 0; sent < times; sent += 1) {
    socket.write(request);
    let answer = '';
    while (!/\r\n\r\n.*[\]}]$/s.test(answer)) answer += (await once(socket, 'data'))[0];
    assert.match(answer, /^HTTP\/1\.1 20[01] /);
  }
}

/** Watches what a Redis is asked; `commands` gives what came since it was last called, in the words of MONITOR. */
async function watchRedis(server: RedisServer): Promise<Disposable & { commands(): Promise<string[]> }> {
  const socket = connect(server.port, '127.0.0.1');
  let told = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    told += text;
  });
  socket.write('MONITOR\r\n');
  let marks = 0;
  const commands = async () => {
    marks += 1;
    const mark = `mark-${marks}-end`;
    await server.command('ECHO', mark);
    while (!told.includes(mark)) await once(socket, 'data');
    const lines = told.split('\n');
    told = '';
    // Excludes calls made by scripts, periodic keep-alives and connections of this test.
    return lines.filter((line) => /^\+[\d.]+ \[\d+ [^l]/.test(line) && !NOT_COUNTED.test(line));
  };
  await commands();
  return { commands, [Symbol.dispose]: () => socket.destroy() };
}

/** Collects the statements that run in this process, and counts the rows that they return, until disposed of. */
function countStatements(): Disposable & { readonly seen: string[]; readonly rows: number } {
  const seen: string[] = [];
  let rows = 0;
  const { prototype } = StatementSync;
  const { all, get, run: execute, iterate } = prototype;
  const counting = <F extends (...parameters: never[]) => unknown>(method: F) =>
    function (this: StatementSync, ...parameters: Parameters<F>) {
      seen.push(this.sourceSQL);
      const result = method.apply(this, parameters);
      if (Array.isArray(result)) rows += result.length;
      return result;
    };
  Object.assign(prototype, {
    all: counting(all),
    get: counting(get),
    run: counting(execute),
    iterate: counting(iterate),
  });
  return {
    seen,
    get rows() {
      return rows;
    },
    [Symbol.dispose]: () => Object.assign(prototype, { all, get, run: execute, iterate }),
  };
}
