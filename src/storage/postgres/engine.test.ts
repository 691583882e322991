import { noPostgres, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { storageContract } from '../../../test/kit/storage-contract.ts';

storageContract(
  'SqlStorage on PostgreSQL',
  async () => {
    const { url, [Symbol.asyncDispose]: remove } = await temporaryDatabase();
    return { database: { engine: 'postgres', url }, [Symbol.asyncDispose]: remove };
  },
  { skip: noPostgres },
);
