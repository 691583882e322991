import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { systemTime } from '../../../src/stdx/time.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { startCaddy } from '../deploy/caddy.ts';
import { startNginx } from '../deploy/nginx.ts';
import { temporaryFolder } from '../folder.ts';
import { COMMAND, run, serveProcess } from '../process.ts';
import { send } from './creating.ts';
import { residentBytes } from './floods.ts';
import { issueKey } from './kills.ts';

const CATEGORIES = 1_000;
const DESCRIPTION_CHARACTERS = 1_000;
const PETS = 1_000;
const ORDERS = 20_000;
/** Pause between two requests of the timed caller, so that it adds no load of its own. */
const PAUSE_MS = 10;
/** The first requests of a process are slow by themselves. */
const WARM_UP_SECONDS = 3;
/** What Node.js takes by itself in 512 MiB. */
const HEAP_MEBIBYTES = 256;
const ORIGIN = { keyId: 'test' };

export type MannerName =
  | 'pipelines'
  | 'pages'
  | 'lists'
  | 'pets'
  | 'bodies'
  | 'refusals'
  | 'chunks'
  | 'heads'
  | 'halfHeads'
  | 'tiny'
  | 'spaces'
  | 'forged';

/** What the worker thread is given. */
export interface HostileCaller {
  readonly port: number;
  /** The certificate of the proxy, if the port is that of one. */
  readonly ca?: string;
  /** The key of those manners that need one. */
  readonly secret: string;
  /** Default: all. */
  readonly manners?: readonly MannerName[];
  /** Multiplies the connections of each manner. Default: 1. */
  readonly scale?: number;
}

export interface HostileFigures {
  readonly seconds: number;
  readonly quietP99Ms: number;
  readonly besideP99Ms: number;
  readonly requests: number;
  /** Peak memory of the service during the attack. */
  readonly memoryBytesMax: number;
  /** Answers to the good key that were not 200. */
  readonly unexplained: number;
}

export interface AttackOptions extends Pick<HostileCaller, 'manners' | 'scale'> {
  readonly seconds: number;
  /** The proxy of deploy/ that all callers go through, the timed one from an address of its own. */
  readonly through?: 'nginx' | 'Caddy';
  /** Default: SQLite. */
  readonly postgresUrl?: string;
}

/**
 * Times a good key alone, and then beside callers that take all that they can get, some with a business key, without
 * bans. The service has the heap that Node.js takes in a container of 512 MiB.
 */
export async function soakBesideHostile({
  seconds,
  postgresUrl,
  through,
  ...attack
}: AttackOptions): Promise<HostileFigures> {
  using folder = temporaryFolder();
  const database: Record<string, string> = postgresUrl ? { DATABASE_URL: postgresUrl } : {};
  const good = await issueKey(folder.path, database);
  const { stdout } = await run(['keys', 'create', '--name', 'hostile', '--plan', 'business'], {
    cwd: folder.path,
    env: database,
  });
  if (!attack.manners) await fill(join(folder.path, 'data', 'pet-catalog.db'));
  await using service = await serveProcess(['--access-log', 'none'], {
    cwd: folder.path,
    env: { BAN_AFTER_REFUSALS: '0', ...database },
    command: [process.execPath, `--max-old-space-size=${HEAP_MEBIBYTES}`, COMMAND],
  });
  const servicePort = new URL(service.url).port;
  await using nginx = through === 'nginx' ? await startNginx(servicePort) : undefined;
  await using caddy = through === 'Caddy' ? await startCaddy(servicePort) : undefined;
  const local = { keepAlive: true, ...(through && { localAddress: '127.0.0.2' }) };
  const agent = nginx ? new SecureAgent({ ...local, ca: nginx.ca }) : new Agent(local);
  const url = nginx ? `https://127.0.0.1:${nginx.port}/v1` : caddy ? `${caddy.url}/v1` : service.url;
  const timed = (forSeconds: number) => timeFor(forSeconds, { url, agent, secret: good });
  await timed(Math.min(WARM_UP_SECONDS, seconds));
  const quiet = await timed(Math.min(30, Math.max(1, seconds / 10)));

  const port = Number(new URL(url).port);
  const workerData: HostileCaller = { port, secret: stdout.trim(), ...(nginx && { ca: nginx.ca }), ...attack };
  const hostile = new Worker(new URL('./hostile-caller.ts', import.meta.url), { workerData });
  let memoryBytesMax = 0;
  const looking = setInterval(() => {
    memoryBytesMax = Math.max(memoryBytesMax, residentBytes(service.pid) || 0);
  }, 100);
  try {
    const beside = await timed(seconds);
    return {
      seconds,
      quietP99Ms: quiet.p99Ms,
      besideP99Ms: beside.p99Ms,
      requests: beside.requests,
      memoryBytesMax,
      unexplained: quiet.unexplained + beside.unexplained,
    };
  } finally {
    clearInterval(looking);
    agent.destroy();
    await hostile.terminate();
  }
}

/** What the pages are made of that the hostile key asks for. */
async function fill(file: string): Promise<void> {
  const time = systemTime();
  await using storage = await openStorage(
    { engine: 'sqlite', file },
    { time, categoriesMax: CATEGORIES, categoriesBytesMax: Number.MAX_SAFE_INTEGER },
  );
  const category = { name: 'Dog', description: 'x'.repeat(DESCRIPTION_CHARACTERS) };
  const [made] = await Promise.all(times(CATEGORIES, () => storage.categories.insert(category, ORIGIN)));
  const pet = { name: '🐕'.repeat(255), categoryId: made?.resource.id ?? 0, status: 'available' } as const;
  const [stocked] = await Promise.all(times(PETS, () => storage.pets.insert(pet, ORIGIN)));
  const petId = stocked?.resource.id ?? 0;
  await storage.pets.setQuantity(petId, ORDERS, { keyId: 'k' });
  for (let left = ORDERS; left > 0; left -= 1_000) {
    await Promise.all(times(1_000, () => storage.orders.insert({ petId, quantity: 1 }, ORIGIN)));
  }
}

function times<T>(length: number, make: () => T): T[] {
  return Array.from({ length }, make);
}

/** Sends requests one after the other for this long. */
async function timeFor(seconds: number, { url, agent, secret }: { url: string; agent: Agent; secret: string }) {
  const timesMs: number[] = [];
  let unexplained = 0;
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs) {
    const startedMs = performance.now();
    const { status } = await send(agent, `${url}/store/orders`, secret).catch(() => ({ status: 0 }));
    timesMs.push(performance.now() - startedMs);
    if (status !== 200) unexplained += 1;
    await wait(PAUSE_MS);
  }
  timesMs.sort((a, b) => a - b);
  const p99Ms = timesMs[Math.floor(timesMs.length * 0.99)] ?? Number.NaN;
  return { requests: timesMs.length, p99Ms, unexplained };
}
