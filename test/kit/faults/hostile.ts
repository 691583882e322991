import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../../src/stdx/clock.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { run, serveProcess } from '../process.ts';
import { temporaryFolder } from '../service.ts';
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
const ORIGIN = { keyId: 'test' };

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

/** Times a good key alone, and then beside one business key that takes all that it can get, without bans. */
export async function soakBesideHostileKey(seconds: number): Promise<HostileFigures> {
  using folder = temporaryFolder();
  const good = await issueKey(folder.path);
  const { stdout } = await run(['keys', 'create', '--name', 'hostile', '--plan', 'business'], { cwd: folder.path });
  await fill(join(folder.path, 'data', 'pet-catalog.db'));
  const env = { BAN_AFTER_REFUSALS: '0' };
  await using service = await serveProcess(['--access-log', 'none'], { cwd: folder.path, env });
  await timeFor(WARM_UP_SECONDS, service.url, good);
  const quiet = await timeFor(Math.max(5, seconds / 10), service.url, good);

  const { port } = new URL(service.url);
  const workerData = { port: Number(port), secret: stdout.trim() };
  const hostile = new Worker(new URL('./hostile-caller.ts', import.meta.url), { workerData });
  let memoryBytesMax = 0;
  const looking = setInterval(() => {
    memoryBytesMax = Math.max(memoryBytesMax, residentBytes(service.pid));
  }, 100);
  try {
    const beside = await timeFor(seconds, service.url, good);
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
    await hostile.terminate();
  }
}

/** What the pages are made of that the hostile key asks for. */
async function fill(file: string): Promise<void> {
  const clock = systemClock();
  await using storage = await openStorage(
    { engine: 'sqlite', file },
    { clock, categoriesMax: CATEGORIES, categoriesBytesMax: Number.MAX_SAFE_INTEGER },
  );
  const category = { name: 'Dog', description: 'x'.repeat(DESCRIPTION_CHARACTERS) };
  const [made] = await Promise.all(times(CATEGORIES, () => storage.categories.insert(category, ORIGIN)));
  const pet = { name: '🐕'.repeat(255), categoryId: made?.resource.id ?? 0, status: 'available' } as const;
  const [stocked] = await Promise.all(times(PETS, () => storage.pets.insert(pet, ORIGIN)));
  const petId = stocked?.resource.id ?? 0;
  await storage.pets.setQuantity(petId, ORDERS);
  for (let left = ORDERS; left > 0; left -= 1_000) {
    await Promise.all(times(1_000, () => storage.orders.insert({ petId, quantity: 1 }, ORIGIN)));
  }
}

function times<T>(length: number, make: () => T): T[] {
  return Array.from({ length }, make);
}

/** Sends requests one after the other for this long. */
async function timeFor(seconds: number, url: string, secret: string) {
  const agent = new Agent({ keepAlive: true });
  const timesMs: number[] = [];
  let unexplained = 0;
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs) {
    const startedMs = performance.now();
    const { status } = await send(agent, `${url}/store/orders`, secret);
    timesMs.push(performance.now() - startedMs);
    if (status !== 200) unexplained += 1;
    await wait(PAUSE_MS);
  }
  agent.destroy();
  timesMs.sort((a, b) => a - b);
  const p99Ms = timesMs[Math.floor(timesMs.length * 0.99)] ?? Number.NaN;
  return { requests: timesMs.length, p99Ms, unexplained };
}
