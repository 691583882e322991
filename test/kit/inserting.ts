import { readConfig } from '../../src/config.ts';
import { systemTime } from '../../src/stdx/time.ts';
import { openStorage } from '../../src/storage/open.ts';

/** A process that creates many categories at once in a database file, to be run under strace. */
const [file = '', creates = '1'] = process.argv.slice(2);
const { database } = readConfig({ flags: { DATABASE_URL: `sqlite:${file}` }, env: {}, file: {} });
await using storage = await openStorage(database, {
  time: systemTime(),
  categoriesMax: 1_000,
  categoriesBytesMax: 1_000_000,
});
await Promise.all(
  Array.from({ length: Number(creates) }, () => storage.categories.insert({ name: 'Dog' }, { keyId: 'key' })),
);
