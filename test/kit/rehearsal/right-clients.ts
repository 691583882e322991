import { readFileSync } from 'node:fs';
import { CAREFUL, type Habits, mayRetry, retryAfterMs, retrying, type SmallClient, smallClient } from './clients.ts';
import type { RehearsedService } from './service.ts';

const page = readFileSync(new URL('../../../src/http/docs/pages/rehearse.md', import.meta.url), 'utf8');
/** The scripts of the page on rehearsals. */
export const scripts = [...page.matchAll(/^\| [^|]+\? +\| `([^`]+)`/gm)].map(([, script = '']) => script);

export type Program = (client: SmallClient) => Promise<unknown>;

export interface Client {
  readonly habits?: Partial<Habits>;
  /** The program that uses the client. */
  readonly program?: Program;
}

async function shop(client: SmallClient): Promise<void> {
  for (let round = 1; round <= 4; round += 1) {
    await client.create(`Category ${round}`);
    await client.list();
    await client.list(`/pets?categoryId=${round}`);
  }
}

async function poll(client: SmallClient, waits: readonly number[]): Promise<void> {
  for (const ms of waits) {
    await client.list();
    await client.sleep(ms);
  }
}

async function untilDone(call: () => Promise<boolean>, pause: () => Promise<void>): Promise<void> {
  for (let round = 0; round < 6 && !(await call()); round += 1) await pause();
}

export const NO_RETRIES = { wait: () => undefined };

/** Clients that are right in ways of their own. */
export const RIGHT: Readonly<Record<string, Client>> = {
  'exponential backoff': {},
  'full jitter': {
    habits: { wait: retrying(({ attempt, random }) => random() * Math.min(1_000, 100 * 2 ** attempt), 8) },
  },
  'decorrelated jitter': {
    habits: { wait: retrying(({ waitedMs, random }) => 100 + random() * Math.max(200, waitedMs * 3 - 100)) },
  },
  'linear backoff': { habits: { wait: retrying(({ attempt }) => attempt * 100, 10) } },
  'a second between tries, ten of them': { habits: { wait: retrying(() => 1_000, 10) } },
  'Retry-After only': { habits: { wait: (failure) => (mayRetry(failure) && retryAfterMs(failure)) || undefined } },
  'no retries at all': { habits: NO_RETRIES },
  'one call without retries': { habits: NO_RETRIES, program: (client) => client.list() },
  'a poller': { habits: NO_RETRIES, program: (client) => poll(client, Array(30).fill(5_000)) },
  'a poller with a jitter': {
    habits: NO_RETRIES,
    program: (client) =>
      poll(
        client,
        Array.from({ length: 30 }, (_, index) => 2_000 + (index % 3) * 150),
      ),
  },
  'rounds with a pause': {
    program: async (client) => {
      for (let round = 0; round < 2; round += 1)
        await untilDone(
          () => client.list(),
          () => client.sleep(60_000),
        );
      await client.create('Horse');
    },
  },
  'other calls between two rounds': {
    program: async (client) => {
      for (let round = 0; round < 4; round += 1)
        for (const path of ['/pets', '/orders', '/inventory']) await client.list(path);
    },
  },
  'four calls at once': {
    program: async (client) => {
      await Promise.all([client.create('Ant'), client.create('Bee'), client.list(), client.list('/pets')]);
      await client.list('/orders');
    },
  },
  'a short time-out': { habits: { timeoutMs: 3_000 } },
  'the backoff of curl --retry': { habits: { wait: retrying(({ attempt }) => 1_000 * 2 ** (attempt - 1), 4) } },
  'an empty list, then creates': {
    program: async (client) => {
      await client.list('/pets?categoryId=999');
      await shop(client);
    },
  },
};

/** The rules that a client breaks under a script, with the evidence. */
export async function brokenBy(
  rehearsed: RehearsedService,
  script: string,
  { habits = {}, program = shop }: Client,
): Promise<string> {
  const { service, time } = rehearsed;
  const key = await rehearsed.follow(script);
  const client = smallClient({ url: service.url, secret: key.secret, time }, { ...CAREFUL, ...habits });
  await time.run(program(client));
  const { rules } = await key.report();
  return rules
    .filter(({ verdict }) => verdict === 'broken')
    .map(({ rule, evidence }) => `${rule}: ${evidence[0]}`)
    .join('\n');
}
