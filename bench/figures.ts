import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { addKey, addKeys, databaseFile } from './contents.ts';
import { sendOnce } from './load.ts';
import { installExecutable, residentMb, startService } from './servers.ts';
import { serve, type Workshop } from './workshop.ts';

const LIST = '/v1/categories';
const SETTLE_MS = 1_000;

/** A measurement that is not a rate. */
export interface Figure {
  readonly name: string;
  readonly unit: 'ms' | 'MB' | 'keys/s';
  readonly values: readonly number[];
  readonly atMost?: number;
}

/** Time from the start of the process to its first answer, and its memory then: of the checkout and the executable. */
export async function startFigures({ machine, folder }: Workshop, starts: number): Promise<Figure[]> {
  const file = await databaseFile(folder, 20);
  const secret = await addKey(`sqlite:${file}`);
  const measured = async (command?: readonly string[]) => {
    const firstAnswerMs: number[] = [];
    const idleMb: number[] = [];
    // The first start of all fills the compile cache, which every later one finds.
    for (let i = 0; i <= starts; i += 1) {
      const startedMs = performance.now();
      await using server = await startService(machine, folder, { DATABASE_URL: `sqlite:${file}` }, command);
      await firstAnswer(server.origin, secret);
      if (i === 0) continue;
      firstAnswerMs.push(performance.now() - startedMs);
      await wait(SETTLE_MS);
      idleMb.push(residentMb(server.pid));
    }
    return { firstAnswerMs, idleMb };
  };
  const checkout = await measured();
  const executable = await measured([installExecutable(folder)]);
  return [
    { name: 'start to first answer', unit: 'ms', values: checkout.firstAnswerMs, atMost: 250 },
    { name: 'memory, idle', unit: 'MB', values: checkout.idleMb, atMost: 90 },
    { name: 'the executable: start to first answer', unit: 'ms', values: executable.firstAnswerMs, atMost: 250 },
    { name: 'the executable: memory, idle', unit: 'MB', values: executable.idleMb, atMost: 90 },
  ];
}

/** Memory after many different keys have called once each, and the rate of those calls. */
export async function distinctKeysFigures(shop: Workshop, keys: number): Promise<Figure[]> {
  const file = await databaseFile(shop.folder, 20);
  const calls = addKeys(file, keys).map((key) => ({ method: 'GET' as const, path: LIST, key }));
  const server = await serve(shop, { DATABASE_URL: `sqlite:${file}` });
  const { good, seconds } = await sendOnce(server.origin, calls, 64);
  if (good < keys) throw new Error(`Of ${keys} keys ${good} were served`);
  await wait(SETTLE_MS);
  const many = keys.toLocaleString('en');
  return [
    { name: `memory, after ${many} different keys`, unit: 'MB', values: [residentMb(server.pid)] },
    { name: `first calls of ${many} keys`, unit: 'keys/s', values: [keys / seconds] },
  ];
}

async function firstAnswer(origin: string, secret: string): Promise<void> {
  const request = get(origin + LIST, { headers: { authorization: `Bearer ${secret}` }, agent: false });
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
}
