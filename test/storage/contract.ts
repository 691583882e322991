import assert from 'node:assert/strict';
import { PLANS } from '../../src/catalog/plan.ts';
import type { Change } from '../../src/catalog/storage.ts';
import { untilTrue } from '../kit/clock.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, insert, issue, NOW } from '../kit/storage/bench.ts';
import { bansContract } from './bans.ts';
import { categoriesContract } from './categories.ts';
import { historyContract } from './history.ts';
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
  historyContract(check);
  keysContract(check);
  bansContract(check);
  limitsContract(check);
  usageContract(check);
  sessionsContract(check);
  tokensContract(check);

  check('missing records are not found', async ({ storage }) => {
    assert.equal(await storage.categories.find(1), undefined);
    assert.equal(await storage.keys.findBySecret('none'), undefined);
    assert.equal(await storage.keys.find('key_none'), undefined);
    assert.equal(await storage.keys.revoke('key_none', NOW, OPERATOR), undefined);
    assert.equal(await storage.keys.update('key_none', { plan: 'pro', limits: PLANS.pro }, OPERATOR), undefined);
    assert.equal(await storage.limits.counts('key_none'), undefined);
  });

  check('closing twice is closing once', async ({ storage }) => {
    await Promise.all([storage[Symbol.asyncDispose](), storage[Symbol.asyncDispose]()]);
    await storage[Symbol.asyncDispose]();
  });

  check('changes by another process are notified within a second', async ({ storage, another }) => {
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      seen.push(change);
    });
    await using other = await another();
    await issue(other);
    await untilTrue(() => seen.includes('keys'));
    await insert(other, { name: 'elsewhere' });
    await untilTrue(() => seen.includes('new-categories'));
  });

  check('a change that could not be followed is followed at a later poll', async ({ storage, another }) => {
    let failures = 0;
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      if (change === 'keys' && failures++ === 0) throw new Error('the key cannot be read');
      seen.push(change);
    });
    await using other = await another();
    await issue(other);
    await untilTrue(() => seen.includes('keys'));
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
