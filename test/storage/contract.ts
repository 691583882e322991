import assert from 'node:assert/strict';
import { type Check, insert } from '../kit/storage/bench.ts';
import { auditContract } from './audit.ts';
import { bansContract } from './bans.ts';
import { categoriesContract } from './categories.ts';
import { keysContract } from './keys.ts';
import { limitsContract } from './limits.ts';
import { retriesContract } from './retries.ts';
import { sessionsContract } from './sessions.ts';
import { shopContract } from './shop.ts';
import { tokensContract } from './tokens.ts';
import { usageContract } from './usage.ts';

/** The suite that every storage engine must pass. */
export function storageContract(check: Check): void {
  categoriesContract(check);
  retriesContract(check);
  shopContract(check);
  auditContract(check);
  keysContract(check);
  bansContract(check);
  limitsContract(check);
  usageContract(check);
  sessionsContract(check);
  tokensContract(check);

  check('closing twice is closing once', async ({ storage }) => {
    await Promise.all([storage[Symbol.asyncDispose](), storage[Symbol.asyncDispose]()]);
    await storage[Symbol.asyncDispose]();
  });

  check('its health check passes until it is closed', async ({ storage }) => {
    assert.deepEqual(await storage.check(), { isWriteFailing: false });
    await storage[Symbol.asyncDispose]();
    await assert.rejects(storage.check());
  });

  check('it tells how full the catalog is', async ({ storage }) => {
    await insert(storage, { name: 'Dog' });
    const { categories, listBytes, databaseBytes } = await storage.capacity();
    assert.deepEqual([categories, listBytes], [1, JSON.stringify([{ id: 1, name: 'Dog' }]).length]);
    assert.ok(databaseBytes > 0);
  });
}
