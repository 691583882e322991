import { copyFileSync } from 'node:fs';
import { addBannedKey, addKey, addKeys, databaseFile } from './contents.ts';
import { type Call, sendOnce } from './load.ts';
import { postgresAndRedis } from './postgres.ts';
import { besidePeers, create, LIST, list, type Workload } from './workload.ts';
import { type Contender, contender, peers, serve, service } from './workshop.ts';

/** Reading the list, plain, beside everything that could be used instead. */
const LISTS: readonly Workload[] = [
  {
    name: 'list-20',
    title: 'List of 20 categories',
    about:
      'GET /v1/categories over 64 connections. `logged` is the service with ACCESS_LOG=all; same-work sends the same bytes after the same checks from bare node:http.',
    unit: 'requests',
    quick: true,
    targets: [
      { of: 'service', against: 'same-work', atLeast: 0.9 },
      { of: 'service', against: 'same-work', p99AtMost: 1.2 },
      { of: 'service', against: 'express', atLeast: 1.7 },
    ],
    async contenders(shop) {
      const logged = await service(shop, 20, { ACCESS_LOG: 'all' });
      const rest = await besidePeers(shop, 20, [
        'same-work',
        'node-http',
        'node-constant',
        'fastify',
        'express',
        'nginx',
      ]);
      const second = contender(shop, { name: 'logged', server: logged.server, calls: [list(logged.secret)] });
      return [...rest.slice(0, 1), second, ...rest.slice(1)];
    },
  },
  {
    name: 'list-1000',
    title: 'List of 1,000 categories',
    about: 'The same with a body of about 80 kB.',
    unit: 'MB',
    quick: false,
    targets: [],
    contenders: (shop) => besidePeers(shop, 1_000, ['same-work', 'express', 'nginx']),
  },
  {
    name: 'list-100000',
    title: 'List of 100,000 categories',
    about: 'The same with a body of about 8 MB, over 16 connections.',
    unit: 'MB',
    quick: true,
    targets: [{ of: 'service', against: 'nginx', atLeast: 0.8 }],
    contenders: (shop) => besidePeers(shop, 100_000, ['same-work', 'nginx'], 16),
  },
  {
    name: 'not-modified',
    title: 'List that the caller has already',
    about: 'GET /v1/categories with If-None-Match, answered with 304, whatever the size of the list.',
    unit: 'requests',
    quick: false,
    targets: [],
    async contenders(shop) {
      const found: Contender[] = [];
      for (const categories of [20, 1_000, 100_000]) {
        const { server, secret } = await service(shop, categories);
        const response = await fetch(server.origin + LIST, { headers: { authorization: `Bearer ${secret}` } });
        await response.arrayBuffer();
        const ifNoneMatch = response.headers.get('etag') ?? '';
        const calls = [{ ...list(secret), ifNoneMatch }];
        found.push(contender(shop, { name: `304 of ${categories}`, server, calls }, { status: 304 }));
        if (categories === 20) found.push(contender(shop, { name: '200 of 20', server, calls: [list(secret)] }));
      }
      return found;
    },
  },
];

/** Creating, each answered after its fsync. */
const CREATES: readonly Workload[] = [1, 64].map((connections) => ({
  name: `create-${connections}`,
  title: `Durable create over ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
  about:
    'POST /v1/categories. same-work stores as many with one commit as the service, Express commits each create by itself.',
  unit: 'requests',
  quick: connections === 64,
  targets:
    connections === 1
      ? [{ of: 'service', against: 'express', atLeast: 1 }]
      : [
          { of: 'service', against: 'same-work', atLeast: 0.8 },
          { of: 'service', against: 'express', atLeast: 8 },
        ],
  async contenders(shop) {
    const own = await service(shop, 20);
    const calls = [create(own.secret)];
    const others = await peers(shop, ['same-work', 'express'], own);
    return [{ name: 'service', server: own.server }, ...others].map((each) =>
      contender(shop, { ...each, calls }, { connections, status: 201 }),
    );
  },
}));

const MIXED: Workload = {
  name: 'mixed',
  title: 'Mixed: 95 lists to 5 creates',
  about: 'GET /v1/categories and, one in twenty, POST /v1/pets, which leaves the list as long as it is.',
  unit: 'requests',
  quick: false,
  targets: [],
  async contenders(shop) {
    const own = await service(shop, 20);
    const pet: Call = {
      method: 'POST',
      path: '/v1/pets',
      key: own.secret,
      body: JSON.stringify({ name: 'Rex', categoryId: 1 }),
    };
    const calls = [...Array.from({ length: 19 }, () => list(own.secret)), pet];
    const others = await peers(shop, ['express'], own);
    return [{ name: 'service', server: own.server }, ...others].map((each) => contender(shop, { ...each, calls }));
  },
};

const REFUSALS: Workload = {
  name: 'refusals',
  title: 'Floods of refusals',
  about: 'A wrong key, no key, a key over its limit and a banned key, beside a list of 20 with a good one.',
  unit: 'requests',
  quick: true,
  targets: [
    { of: '401 wrong key', against: '200', atLeast: 1 },
    { of: '401 no key', against: '200', atLeast: 1 },
    { of: '429', against: '200', atLeast: 1 },
    { of: '429 banned', against: '200', atLeast: 1 },
  ],
  async contenders(shop) {
    const databaseUrl = `sqlite:${await databaseFile(shop.folder, 20)}`;
    const good = await addKey(databaseUrl);
    const spent = await addKey(databaseUrl, { minute: 1, day: 1 });
    const banned = await addBannedKey(databaseUrl);
    // Without bans, or the flood would measure a banned key.
    const server = await serve(shop, { DATABASE_URL: databaseUrl, BAN_AFTER_REFUSALS: '0' });
    await fetch(server.origin + LIST, { headers: { authorization: `Bearer ${spent}` } });
    const flood = (name: string, status: number, call: Call) =>
      contender(shop, { name, server, calls: [call] }, { status });
    return [
      flood('200', 200, list(good)),
      flood('401 wrong key', 401, list(`${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`)),
      flood('401 no key', 401, { method: 'GET', path: LIST }),
      flood('429', 429, list(spent)),
      flood('429 banned', 429, list(banned)),
    ];
  },
};

/** The list and creates on PostgreSQL and Redis, beside the same on the embedded database. */
const SERVERS: Workload = {
  name: 'postgres-redis',
  title: 'PostgreSQL and Redis',
  about: 'A list of 20 and durable creates over 64 connections, beside the same on the embedded database.',
  unit: 'requests',
  quick: false,
  targets: [{ of: 'list on servers', against: 'list embedded', atLeast: 0.65 }],
  async contenders(shop) {
    const found: Contender[] = [];
    // Lists and creates have a database each, or the creates would make the lists longer.
    for (const [name, call, status] of [['list', list, 200] as const, ['create', create, 201] as const]) {
      const settings = await postgresAndRedis(shop);
      if (!settings) return [];
      for (const [where, own] of [['embedded', {}] as const, ['on servers', settings] as const]) {
        const { server, secret } = await service(shop, 20, own);
        found.push(contender(shop, { name: `${name} ${where}`, server, calls: [call(secret)] }, { status }));
      }
    }
    return found;
  },
};

const KEYS_MANY = 100_000;

/** How the rate depends on the number of keys that call. */
const KEYS: Workload = {
  name: 'keys',
  title: 'Keys in rotation',
  about:
    'A list of 20, each request with the next of so many keys, all of which have called before, on a service of their own.',
  unit: 'requests',
  // As often as usage is stored, so that each round has it once.
  seconds: 5,
  quick: false,
  targets: [{ of: `${KEYS_MANY} keys`, against: '1 key', atLeast: 0.85 }],
  async contenders(shop) {
    const issued = await databaseFile(shop.folder, 20);
    const secrets = addKeys(issued, KEYS_MANY);
    const found: Contender[] = [];
    for (const keys of [1, 100, 10_000, KEYS_MANY]) {
      const file = `${issued}-${keys}`;
      copyFileSync(issued, file);
      const server = await serve(shop, { DATABASE_URL: `sqlite:${file}` });
      // As many calls in each rotation, so that the load generator does the same work.
      const calls = secrets.map((_, index) => list(secrets[index % keys] ?? ''));
      found.push(contender(shop, { name: keys === 1 ? '1 key' : `${keys} keys`, server, calls }));
      await sendOnce(server.origin, calls.slice(0, keys), 64);
    }
    return found;
  },
};

/** Every workload, in the order of a run. */
export const WORKLOADS: readonly Workload[] = [...LISTS, ...CREATES, MIXED, REFUSALS, KEYS, SERVERS];
