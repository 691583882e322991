import { manualClock } from '../../../test/kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { storageContract } from '../../../test/kit/storage-contract.ts';
import { openStorage } from '../open.ts';

const CATEGORIES_MAX = 300;

storageContract(
  'SqlStorage on PostgreSQL',
  async () => {
    const database = await temporaryDatabase();
    const open = () =>
      openStorage(
        { engine: 'postgres', url: database.url },
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
        await database[Symbol.asyncDispose]();
      },
    };
  },
  { skip: noPostgres },
);
