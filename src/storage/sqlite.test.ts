import { join } from 'node:path';
import { manualClock } from '../../test/clock.ts';
import { temporaryFolder } from '../../test/service.ts';
import { storageContract } from '../../test/storage-contract.ts';
import { openStorage } from './open.ts';

const CATEGORIES_MAX = 300;

storageContract('SqlStorage on SQLite', async () => {
  const folder = temporaryFolder();
  const open = () =>
    openStorage(
      { engine: 'sqlite', file: join(folder.path, 'test.db') },
      { clock: manualClock().now, categoriesMax: CATEGORIES_MAX },
    );
  let storage = await open();
  return {
    get storage() {
      return storage;
    },
    categoriesMax: CATEGORIES_MAX,
    another: open,
    async reopen() {
      await storage[Symbol.asyncDispose]();
      storage = await open();
    },
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
});
