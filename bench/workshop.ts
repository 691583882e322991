import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addCategories, addKey, CATEGORIES_BYTES_MAX, CATEGORIES_MAX, databaseFile } from './contents.ts';
import { type Call, type Load, writeCalls } from './load.ts';
import type { Machine } from './machine.ts';
import { NotHere, type Server, startPeer, startService } from './servers.ts';

/** A contender of a workload: a server and its requests. */
export interface Contender {
  readonly name: string;
  readonly server: Server;
  readonly load: Omit<Load, 'seconds'>;
  /** The status that every answer must have. */
  readonly status: number;
}

/** A service that runs on a database of its own, with a key that no load exhausts. */
export interface RunningService {
  readonly server: Server;
  readonly secret: string;
  readonly databaseUrl: string;
}

/** Starts the servers of a workload; disposing ends them. */
export interface Workshop {
  readonly machine: Machine;
  readonly folder: string;
  readonly started: AsyncDisposableStack;
  /** What could not be measured, and why. */
  readonly skipped: string[];
}

/** Starts the service with so many categories and a key. */
export async function service(
  shop: Workshop,
  categories: number,
  settings: Record<string, string> = {},
): Promise<RunningService> {
  const databaseUrl = settings.DATABASE_URL ?? `sqlite:${await databaseFile(shop.folder, categories)}`;
  if (settings.DATABASE_URL) await addCategories(databaseUrl, categories);
  const secret = await addKey(databaseUrl);
  return { server: await serve(shop, { ...settings, DATABASE_URL: databaseUrl }), secret, databaseUrl };
}

/** Starts the service on a database that is ready. */
export async function serve(shop: Workshop, settings: Record<string, string>): Promise<Server> {
  const bounds = { CATEGORIES_MAX: `${CATEGORIES_MAX}`, CATEGORIES_BYTES_MAX: `${CATEGORIES_BYTES_MAX}` };
  const all = { ...bounds, ...settings };
  return shop.started.use(await startService(shop.machine, shop.folder, all));
}

/** Starts peers that send the service's own list and know its key; one that cannot be had here is noted and left out. */
export async function peers(
  shop: Workshop,
  names: readonly string[],
  { server, secret }: RunningService,
): Promise<{ name: string; server: Server }[]> {
  const stamp = process.hrtime.bigint();
  const files = {
    folder: shop.folder,
    list: join(shop.folder, `list-${stamp}.json`),
    keys: join(shop.folder, `keys-${stamp}`),
  };
  const list = await fetch(`${server.origin}/v1/categories`, { headers: { authorization: `Bearer ${secret}` } });
  writeFileSync(files.list, Buffer.from(await list.arrayBuffer()));
  writeFileSync(files.keys, `${secret}\n`);
  const found: { name: string; server: Server }[] = [];
  for (const name of names) {
    try {
      found.push({ name, server: shop.started.use(await startPeer(shop.machine, name, files)) });
    } catch (error) {
      if (!(error instanceof NotHere)) throw error;
      shop.skipped.push(`${name}: ${error.message}`);
    }
  }
  return found;
}

export interface ContenderOptions {
  readonly connections?: number;
  readonly status?: number;
  readonly x?: number;
}

/** A server and the calls that are sent to it in turn: over 64 connections, answered with 200, unless told otherwise. */
export function contender(
  shop: Workshop,
  { name, server, calls }: { name: string; server: Server; calls: readonly Call[] },
  { connections = 64, status = 200, x }: ContenderOptions = {},
): Contender {
  const callsFile = writeCalls(join(shop.folder, `calls-${process.hrtime.bigint()}`), calls);
  return {
    name,
    server,
    load: { origin: server.origin, callsFile, connections },
    status,
    ...(x !== undefined && { x }),
  };
}
