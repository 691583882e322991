import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ApiError,
  ConnectionError,
  PetCatalog,
  type PetCatalogOptions,
  type RetryEvent,
} from '../../client/src/pet-catalog.ts';
import { type TestService, testService } from '../kit/service.ts';

/** Options of the whole client, and the parts of a failure that a program looks at. */

let service: TestService;
let secret: string;

before(async () => {
  service = await testService();
  secret = (await service.issue({ plan: 'business' })).secret;
});
after(() => service[Symbol.asyncDispose]());

test('an error has the headers of its response, which no log shows', async () => {
  const reader = await service.issue({ scopes: ['categories:read'] });
  const refused = await client({ apiKey: reader.secret })
    .pets.list()
    .catch((error: ApiError) => error);
  assert.ok(refused instanceof ApiError);
  assert.match(refused.headers.get('WWW-Authenticate') ?? '', /scope="pets:read"$/);
  assert.deepEqual(Object.keys(refused).includes('headers'), false);
  const { fetch } = answering(new Error('refused'));
  const lost = await client({ fetch, maxRetries: 0 })
    .pets.list()
    .catch((error: ConnectionError) => error);
  assert.ok(lost instanceof ConnectionError);
  assert.equal(lost.headers, undefined);
});

test('every request has the headers of the client, which those of a call replace', async () => {
  const { requests, fetch } = answering();
  const catalog = client({ fetch, headers: { 'User-Agent': 'shop/1.2', 'X-Request-Id': 'job-7' } });
  await catalog.pets.list();
  await catalog.pets.list({}, { headers: { 'x-request-id': 'call-8' } });
  const sent = requests.map(({ headers }) => [headers.get('user-agent'), headers.get('x-request-id')]);
  assert.deepEqual(sent, [
    ['shop/1.2', 'job-7'],
    ['shop/1.2', 'call-8'],
  ]);
  await client({ fetch, headers: { 'user-agent': 'shop/1.3', 'if-none-match': '*' } }).pets.list();
  assert.equal(requests.at(-1)?.headers.get('user-agent'), 'shop/1.3', 'whatever the case of the name');
  const key = { Authorization: 'Bearer other', 'If-Match': '"x"' };
  await client({ fetch, headers: key }).pets.list();
  assert.equal(requests.at(-1)?.headers.get('authorization'), `Bearer ${secret}`);
  assert.equal(requests.at(-1)?.headers.has('if-match'), false);
});

test('a retry is announced with its cause, after a lost response too', async () => {
  const { waits, clock } = noWaits();
  const { fetch } = answering(new Error('reset'), unavailable({ 'retry-after': '2' }));
  const retries: RetryEvent[] = [];
  const onRetry = (event: RetryEvent) => {
    retries.push(event);
    throw new Error('of no consequence');
  };
  await client({ fetch, clock, onRetry }).pets.list();
  assert.deepEqual(
    retries.map(({ operation, attempt, waitMs, error }) => [operation, attempt, waitMs, error.name, error.status]),
    [
      ['listPets', 1, waits[0], 'ConnectionError', undefined],
      ['listPets', 2, waits[1], 'ApiError', 503],
    ],
  );
  retries.length = 0;
  const failing = answering(new Error('reset'));
  await assert.rejects(client({ fetch: failing.fetch, maxRetries: 0, onRetry }).pets.list());
  assert.deepEqual(retries, [], 'there is none');
});

test('address and key come from the environment, and an ETag that is missing is refused', async () => {
  const { PET_CATALOG_URL, PET_CATALOG_KEY } = process.env;
  Object.assign(process.env, { PET_CATALOG_URL: service.url, PET_CATALOG_KEY: secret });
  try {
    const catalog = new PetCatalog();
    assert.equal((await catalog.rateLimit()).plan, 'business');
    const ifMatch = new Headers().get('ETag');
    const message = 'ifMatch is null; pass a string';
    await assert.rejects(catalog.inventory.update(1, { quantity: 1 }, { ifMatch }), { name: 'TypeError', message });
    for (const empty of ['', ' ']) {
      const refused = {
        name: 'TypeError',
        message: 'updateInventory: ifMatch is empty; pass the ETag of the resource',
      };
      await assert.rejects(catalog.inventory.update(1, { quantity: 1 }, { ifMatch: empty }), refused);
    }
  } finally {
    restore('PET_CATALOG_URL', PET_CATALOG_URL);
    restore('PET_CATALOG_KEY', PET_CATALOG_KEY);
  }
});

function client(options: PetCatalogOptions = {}) {
  return new PetCatalog({ baseUrl: service.url, apiKey: secret, ...options });
}

/** Answers of its own in front of those of the service; each request is counted. */
function answering(...answers: (Response | Error)[]) {
  const requests: Request[] = [];
  const send: typeof fetch = async (input, init) => {
    requests.push(new Request(input, init));
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? fetch(input, init);
  };
  return { requests, fetch: send };
}

/** A clock on which every wait but a deadline is over at once; waits are noted. */
function noWaits() {
  const waits: number[] = [];
  const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      if (ms >= 30_000) return;
      waits.push(ms);
      setImmediate(resolve);
    });
  return { waits, clock: { now: () => 0, sleep } };
}

function unavailable(headers: Record<string, string>) {
  return Response.json({ code: 'unavailable', message: 'Busy', status: 503 }, { status: 503, headers });
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
