import { copyFileSync } from 'node:fs';
import { addKeys, databaseFile } from './contents.ts';
import { sendOnce } from './load.ts';
import { flat, linear, saturating } from './shapes.ts';
import { create, list, type Workload } from './workload.ts';
import { type Contender, contender, peers, serve, service } from './workshop.ts';

const KEYS_MANY = 100_000;

/** How the rate depends on the number of keys that call. */
export const KEYS: Workload = {
  name: 'keys',
  title: 'Keys in rotation',
  about:
    'A list of 20, each request with the next of so many keys, all of which have called before, on a service of their own.',
  unit: 'requests',
  // As often as usage is stored, so that each round has it once.
  seconds: 5,
  quick: false,
  targets: [{ of: `${KEYS_MANY} keys`, against: '1 key', atLeast: 0.85 }],
  curve: { x: 'keys', shape: flat('the number of keys', 0.85) },
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
      found.push(contender(shop, { name: keys === 1 ? '1 key' : `${keys} keys`, server, calls }, { x: keys }));
      await sendOnce(server.origin, calls.slice(0, keys), 64);
    }
    return found;
  },
};

/** How cost grows with load and catalog size. */
export const CURVES: readonly Workload[] = [
  {
    name: 'list-size',
    title: 'List size',
    about: 'GET /v1/categories over 16 connections, by the number of categories.',
    unit: 'MB',
    quick: false,
    targets: [],
    curve: { x: 'categories', shape: linear('the length of the list') },
    async contenders(shop) {
      const found: Contender[] = [];
      for (const x of [20, 200, 2_000, 20_000, 100_000]) {
        const { server, secret } = await service(shop, x);
        found.push(contender(shop, { name: `${x} categories`, server, calls: [list(secret)] }, { connections: 16, x }));
      }
      return found;
    },
  },
  {
    name: 'connections',
    title: 'Connections',
    about: 'A list of 20, by the number of connections that send one request after the other, beside same-work.',
    unit: 'requests',
    quick: false,
    targets: [
      {
        of: '1024 connections',
        against: '64 connections',
        atLeast: 0.8,
        orAbove: { of: 'same-work, 1024', against: 'same-work, 64', by: 0.05 },
      },
    ],
    curve: { x: 'connections', shape: saturating(16, 0.8) },
    async contenders(shop) {
      const own = await service(shop, 20);
      const calls = [list(own.secret)];
      const curve = [1, 4, 16, 64, 256, 1_024].map((x) =>
        contender(shop, { name: `${x} connections`, server: own.server, calls }, { connections: x, x }),
      );
      const bare = (await peers(shop, ['same-work'], own)).flatMap(({ name, server }) =>
        [64, 1_024].map((connections) =>
          contender(shop, { name: `${name}, ${connections}`, server, calls }, { connections }),
        ),
      );
      return [...curve, ...bare];
    },
  },
  {
    name: 'create-connections',
    title: 'Durable create, by connections',
    about: 'POST /v1/categories, by the number of connections that send one request after the other, beside same-work.',
    unit: 'requests',
    quick: true,
    targets: [256, 1_024].map((x) => ({
      of: `${x} connections`,
      against: '64 connections',
      atLeast: 0.95,
      orAbove: { of: `same-work, ${x}`, against: 'same-work, 64', by: 0.05 },
    })),
    curve: { x: 'connections', shape: flat('the number of connections', 0.95) },
    async contenders(shop) {
      const own = await service(shop, 20);
      const calls = [create(own.secret)];
      const curve = [64, 256, 1_024].map((x) =>
        contender(shop, { name: `${x} connections`, server: own.server, calls }, { connections: x, status: 201, x }),
      );
      const bare = (await peers(shop, ['same-work'], own)).flatMap(({ name, server }) =>
        [64, 256, 1_024].map((connections) =>
          contender(shop, { name: `${name}, ${connections}`, server, calls }, { connections, status: 201 }),
        ),
      );
      return [...curve, ...bare];
    },
  },
  {
    name: 'stored',
    title: 'Creates stored already',
    about: 'POST /v1/categories over 64 connections, by how many categories there were when the first round began.',
    unit: 'requests',
    quick: true,
    targets: [{ of: '100000 stored', against: '100 stored', atLeast: 0.9 }],
    curve: { x: 'categories stored', shape: flat('what is stored', 0.9) },
    async contenders(shop) {
      const found: Contender[] = [];
      for (const x of [100, 1_000, 10_000, 100_000]) {
        const { server, secret } = await service(shop, x);
        found.push(contender(shop, { name: `${x} stored`, server, calls: [create(secret)] }, { status: 201, x }));
      }
      return found;
    },
  },
];
