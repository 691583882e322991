import { join } from 'node:path';
import { test } from 'node:test';
import { type NewApiKey, newApiKey, secretRecord } from '../../../src/catalog/api-key.ts';
import type { Category, NewCategory } from '../../../src/catalog/category.ts';
import type { Storage } from '../../../src/catalog/storage.ts';
import type { DatabaseAddress } from '../../../src/config.ts';
import type { Time } from '../../../src/stdx/time.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { type ManualClock, manualClock } from '../clock.ts';
import { IN_MEMORY, temporaryFolder } from '../folder.ts';
import { OPERATOR } from '../operator.ts';

/** The place of a database under test, which is removed with it. */
export interface DatabasePlace extends AsyncDisposable {
  readonly database: DatabaseAddress;
}

/** A storage under test that holds at most `categoriesMax` categories, and `categoriesBytesMax` bytes of their list. */
export interface StorageBench extends AsyncDisposable {
  readonly storage: Storage;
  readonly clock: ManualClock;
  readonly categoriesMax: number;
  readonly categoriesBytesMax: number;
  /** Another connection to the same data, as another process would have it, perhaps with another bound. */
  another(bounds?: { readonly categoriesBytesMax: number }): Promise<Storage>;
  /** Closes the storage and opens it again. */
  reopen(): Promise<void>;
}

/** Registers a check by its title; each runs on a bench of its own. */
export type Check = (title: string, body: (bench: StorageBench) => Promise<void>) => void;

/** Unix seconds. */
export const NOW = Date.UTC(2026, 0, 1, 12) / 1_000;
const CATEGORIES_MAX = 300;
const CATEGORIES_BYTES_MAX = 95_000;

/** Opens a storage for some categories, in memory unless told otherwise. */
export function openSome(place: DatabaseAddress | string = ':memory:', time: Time = manualClock(NOW)) {
  const database = typeof place === 'string' ? ({ engine: 'sqlite', file: place } as const) : place;
  return openStorage(database, { time, categoriesMax: CATEGORIES_MAX, categoriesBytesMax: CATEGORIES_BYTES_MAX });
}

/** Opens a storage at the place; closing the bench also removes the place. */
export async function openBench(place: DatabasePlace): Promise<StorageBench> {
  const clock = manualClock(NOW);
  const open = ({ categoriesBytesMax } = { categoriesBytesMax: CATEGORIES_BYTES_MAX }) =>
    openStorage(place.database, { time: clock, categoriesMax: CATEGORIES_MAX, categoriesBytesMax });
  let storage = await open();
  return {
    get storage() {
      return storage;
    },
    clock,
    categoriesMax: CATEGORIES_MAX,
    categoriesBytesMax: CATEGORIES_BYTES_MAX,
    another: open,
    async reopen() {
      await storage[Symbol.asyncDispose]();
      storage = await open();
    },
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      await place[Symbol.asyncDispose]();
    },
  };
}

/** Registers checks as tests of an engine, each in a place of its own. */
export function checksOn(
  engine: string,
  makePlace: () => Promise<DatabasePlace>,
  { skip = false }: { skip?: string | false } = {},
): Check {
  return (title, body) =>
    test(`SqlStorage on ${engine}: ${title}`, { skip }, async () => {
      await using bench = await openBench(await makePlace());
      await body(bench);
    });
}

/** Registers checks as tests on SQLite. */
export const onSqlite: Check = checksOn('SQLite', async () => {
  const folder = temporaryFolder(IN_MEMORY);
  return {
    database: { engine: 'sqlite', file: join(folder.path, 'test.db') },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
});

/** Inserts a category as the key `key_1`. */
export async function insert(storage: Storage, category: NewCategory): Promise<Category> {
  const { resource } = await storage.categories.insert(category, { keyId: 'key_1' });
  return resource;
}

/** Stores new keys one after the other: on a busy machine, so many at once would time out waiting for a connection. */
export async function issueMany(storage: Storage, count: number) {
  const issued = [];
  for (let number = 0; number < count; number += 1) issued.push(await issue(storage));
  return issued;
}

/** Stores a new key, on the free plan unless told otherwise. */
export async function issue(storage: Pick<Storage, 'keys'>, wanted: Partial<NewApiKey> = {}) {
  const made = newApiKey({ name: 'test', environment: 'production', plan: 'free', ...wanted }, NOW);
  await storage.keys.insert(made.key, secretRecord(made.secret), OPERATOR);
  return made;
}
