import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange, Serve } from '../../src/http/transport/exchange.ts';
import { type Holding, Ledger } from '../../src/http/transport/ledger.ts';
import { openListener } from '../../src/http/transport/listener.ts';
import { ParserFeed } from '../../src/http/transport/parser-feed.ts';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { AUTHORIZATION, assertAnswer, get, HOST, request } from '../kit/edge/corpus.ts';
import { openRaw, type RawConnection } from '../kit/edge/raw.ts';
import { recordedEvents, type TestService, testService } from '../kit/service.ts';

/** Answers that peers do not read, in bytes: what the service holds of them is bounded. */

const MEBIBYTE = 1024 * 1024;
const PIPELINED = 60;
/** Far more than an answer needs. */
const QUIET_TURNS = 200;

describe('a connection that is not read from', () => {
  const ANSWER_BYTES = 600_000;

  for (const [manner, pause] of [
    ['at once', undefined],
    ['later', () => nextTurn()],
  ] as const) {
    test(`${PIPELINED} pipelined requests, answered ${manner}, hold 1 MiB and what runs, and come in order`, async () => {
      const seen: Exchange[] = [];
      const body = 'x'.repeat(ANSWER_BYTES);
      await using listener = await listenWith((exchange) => {
        seen.push(exchange);
        const answer = () => exchange.answer({ status: 200, body });
        return pause ? pause().then(answer) : answer();
      });
      await using raw = await openRaw(listener.url);
      raw.pause();
      await raw.send(Array.from({ length: PIPELINED }, (_, i) => get(`X-Request-Id: n${i}`)).join(''));
      await untilQuiet(() => seen.length);
      const held = seen.reduce((sum, { heldBytes }) => sum + heldBytes, 0);
      // Those that run side by side are begun before the first of them is answered.
      const heldMax = pause ? 8 * 1.1 * ANSWER_BYTES : MEBIBYTE + 1.1 * ANSWER_BYTES;
      assert.ok(held >= MEBIBYTE && held < heldMax, `${held} bytes are held`);

      raw.resume();
      for (let i = 0; i < PIPELINED; i += 1) assert.equal((await raw.answer()).headers.get('x-request-id'), `n${i}`);
      assert.ok(seen.every(({ heldBytes }) => heldBytes === 0));
    });
  }

  test('the service stops reading from it', async () => {
    const sockets = new Set<Exchange['request']['socket']>();
    await using listener = await listenWith((exchange) => {
      sockets.add(exchange.request.socket);
      exchange.answer({ status: 200, body: 'x'.repeat(20 * MEBIBYTE) });
    });
    await using raw = await openRaw(listener.url);
    raw.pause();
    const sending = raw.send(get(`X: ${'x'.repeat(1_000)}`).repeat(20_000)).catch(() => {});
    const bytesRead = () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
    await untilQuiet(bytesRead);
    assert.ok(bytesRead() > 0 && bytesRead() < MEBIBYTE / 2, `${bytesRead()} bytes were read`);
    await raw.reset();
    await sending;
  });

  test('what waits to be parsed is one read of the system, however many answers are sent', async () => {
    let waitingMax = 0;
    const ledger = new (class extends Ledger {
      override hold(holding: Holding, bytes: number): void {
        if (holding instanceof ParserFeed) waitingMax = Math.max(waitingMax, bytes);
        super.hold(holding, bytes);
      }
    })();
    let answered = 0;
    const shared = [Buffer.alloc(100_000, 'x')];
    const serve = (exchange: Exchange) => {
      answered += 1;
      exchange.answer({ status: 200, body: shared });
    };
    await using listener = await listenWith(serve, recordedEvents(), ledger);
    await using raw = await openRaw(listener.url);
    raw.pause();
    const sending = raw.send(get().repeat(100_000)).catch(() => {});
    await untilQuiet(() => answered);
    assert.ok(waitingMax > 0 && waitingMax < 17 * 1024, `${waitingMax} bytes waited`);
    await raw.reset();
    await sending;
  });

  test('a single answer larger than the total bound is not cut off', async () => {
    const body = 'x'.repeat(70 * MEBIBYTE);
    await using listener = await listenWith((exchange) => exchange.answer({ status: 200, body }));
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const { port } = new URL(listener.url);
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(get('Connection: close')));
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.once('end', () => resolve(received)).once('error', reject);
    assert.ok((await promise) > body.length);
  });

  test('it is closed when the time for its answer is over, and one that reads in time stays open', async (t) => {
    const bytes = 20_000_000;
    // 30 s, plus a second for every 50 kB.
    const allowedMs = 30_000 + bytes / 50;
    const sockets: Socket[] = [];
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using listener = await listenWith((exchange) => {
      exchange.answer({ status: 200, body: 'x'.repeat(bytes) });
      sockets.push(exchange.request.socket);
    });
    await using reader = await openRaw(listener.url);
    await reader.send(get());
    assert.equal((await reader.answer()).body.length, bytes);
    await using idle = await openRaw(listener.url);
    idle.pause();
    await idle.send(get());
    while (sockets.length < 2) await nextTurn();
    t.mock.timers.tick(allowedMs - 1);
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false, false],
    );
    t.mock.timers.tick(1);
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [false, true],
    );
    t.mock.timers.reset();
    await reader.send(get());
    assert.equal((await reader.answer()).status, 200);
  });

  test('once it is closed no answer is held, neither waiting nor later ones', async () => {
    const seen: Exchange[] = [];
    const late = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    await using listener = await listenWith((exchange) => {
      seen.push(exchange);
      const answer = () => exchange.answer({ status: 200, body: 'x'.repeat(10_000) });
      if (seen.length === 1) exchange.request.socket.once('close', () => gone.resolve());
      return seen.length % 2 === 1 ? late.promise.then(answer) : answer();
    });
    const raw = await openRaw(listener.url);
    // Small enough that the service keeps reading and notices the reset.
    await raw.send(get().repeat(4));
    while (seen.length < 4) await nextTurn();
    const held = () => seen.map(({ heldBytes }) => Math.floor(heldBytes / 10_000));
    assert.deepEqual(held(), [0, 1, 0, 1]);
    await raw.reset();
    await gone.promise;
    late.resolve();
    await nextTurn();
    assert.deepEqual(held(), [0, 0, 0, 0]);
  });
});

test('beyond 48 MiB of waiting requests the connections that hold the most are cut off', async () => {
  const events = recordedEvents();
  const go = Promise.withResolvers<void>();
  await using listener = await listenWith(
    (exchange) => go.promise.then(() => exchange.answer({ status: 200, body: 'x' })),
    events,
  );
  await using modest = await openRaw(listener.url);
  await modest.send(request('POST / HTTP/1.1', HOST, 'Content-Length: 0').repeat(3));
  await using stack = new AsyncDisposableStack();
  const manyHeaders = Array.from({ length: 990 }, (_, index) => `${index.toString(36)}:`);
  for (let sent = 0; events.cutOff.length === 0 && sent < 100; sent += 1) {
    const greedy = stack.use(await openRaw(listener.url));
    await greedy.send(request('GET / HTTP/1.1', HOST, ...manyHeaders).repeat(10)).catch(() => {});
  }
  await untilTrue(() => events.cutOff.length > 0);
  go.resolve();
  for (let i = 0; i < 3; i += 1) assert.equal((await modest.answer()).status, 200);
});

describe('keys whose answers are not read', () => {
  /** A page of this many holds more than 8 MiB, and of half of them more than a system takes without a reader. */
  const PETS = 100;
  let service: TestService;

  before(async () => {
    service = await testService();
    const { id: categoryId } = (await service.storage.categories.insert({ name: 'Dog' }, { keyId: 'test' })).resource;
    // Longer names than a caller may store: an answer of this service that is its own does not become so large.
    const pet = { name: '🐕'.repeat(22_750), categoryId, status: 'available' } as const;
    await Promise.all(Array.from({ length: PETS }, () => service.storage.pets.insert(pet, { keyId: 'test' })));
  });
  after(() => service[Symbol.asyncDispose]());

  test('a key over 8 MiB gets 503 until it reads, and other keys notice nothing', async () => {
    const hostile = await issue(service);
    const other = await issue(service);
    await using raw = await askForPage(service, hostile, PETS);
    await using fresh = await openRaw(service.url);
    const ask = async (path: string) => {
      await fresh.send(getPath(path, hostile));
      return fresh.answer();
    };
    for (const path of ['/store/orders', '/categories?limit=1', '/nothing', '/rate_limit']) {
      const refused = await ask(path);
      assertAnswer(refused);
      assert.equal(refused.status, 503);
      assert.deepEqual([JSON.parse(refused.body).code, refused.headers.get('retry-after')], ['unavailable', '1']);
      assert.equal((await service.call(other, '/store/orders')).status, 200);
    }
    raw.resume();
    assert.equal((await raw.answer()).status, 200);
    assert.equal((await ask('/store/orders')).status, 200);
  });

  test('over 48 MiB in total the keys that hold the most are cut off, and a slow reader is not', async () => {
    const slow = await issue(service);
    await using reader = await askForPage(service, slow, PETS / 2);
    await using stack = new AsyncDisposableStack();
    const hostile: RawConnection[] = [];
    for (let i = 0; i < 9; i += 1) hostile.push(stack.use(await askForPage(service, await issue(service), PETS)));
    assert.equal((await service.call(await issue(service), '/store/orders')).status, 200);
    let cutOff = 0;
    for (const raw of hostile) {
      raw.resume();
      await raw.answer().catch(() => {
        cutOff += 1;
      });
    }
    // Beside the half page of the slow reader there is room for five whole ones.
    assert.equal(cutOff, 4);
    assert.equal(service.events.cutOff.length, 4);
    reader.resume();
    assert.equal(JSON.parse((await reader.answer()).body).length, PETS / 2);
  });
});

async function listenWith(
  serve: Serve,
  events = recordedEvents(),
  ledger = new Ledger(),
): Promise<AsyncDisposable & { readonly url: string }> {
  const context = { time: manualClock(), events, ledger };
  const listener = await openListener(serve, context, { host: '127.0.0.1', port: 0 });
  return { url: `http://127.0.0.1:${listener.port}/v1`, [Symbol.asyncDispose]: () => listener.stop(0) };
}

async function issue(service: TestService): Promise<string> {
  return (await service.issue({ plan: 'business' })).secret;
}

function getPath(path: string, secret: string): string {
  return request(`GET /v1${path} HTTP/1.1`, HOST, AUTHORIZATION).replace('<key>', secret);
}

/** Asks for so many pets, and does not read them. */
async function askForPage(service: TestService, secret: string, limit: number): Promise<RawConnection> {
  const raw = await openRaw(service.url);
  raw.pause();
  const answered = service.events.answered.length;
  await raw.send(getPath(`/pets?limit=${limit}`, secret));
  while (service.events.answered.length === answered) await nextTurn();
  return raw;
}

/** Waits until a count has not moved for many turns of the event loop, which test and service share. */
async function untilQuiet(count: () => number): Promise<void> {
  for (let quiet = 0, last = count(); quiet < QUIET_TURNS; quiet += 1) {
    await nextTurn();
    if (count() !== last) quiet = 0;
    last = count();
  }
}
