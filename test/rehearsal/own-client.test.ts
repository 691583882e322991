import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ApiError, PetCatalog, PetCatalogError } from '../../client/src/pet-catalog.ts';
import { outcomeOf } from '../../src/rehearsal/verdict/report.ts';
import type { VirtualTime } from '../kit/client/virtual-time.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

/** Our own client sits the exam, under every script of the page. Time passes when it waits. */

const ROUNDS = 4;
const page = readFileSync(new URL('../../src/http/docs/pages/rehearse.md', import.meta.url), 'utf8');
const scripts = [...page.matchAll(/^\| [^|]+\? +\| `([^`]+)`/gm)].map(([, script = '']) => script);

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

test('the page has a script for each step', () => {
  assert.ok(scripts.length >= 14, `${scripts}`);
  const steps = ['limit', 'quota', 'ban', 'unavailable', 'unknown', 'lost', 'cut', 'reset', 'slow', 'error', 'revoked'];
  for (const step of [...steps, 'grease'])
    assert.ok(
      scripts.some((script) => script.includes(step)),
      step,
    );
});

for (const script of scripts) {
  test(`our own client keeps every rule under ${script}`, async () => {
    const { service, time } = rehearsed;
    const key = await rehearsed.follow(script);
    const { fetch, clock } = time;
    await time.run(shop(new PetCatalog({ baseUrl: service.url, apiKey: key.secret, fetch, clock }), time));
    const report = await key.report();
    assert.deepEqual(
      report.rules.filter(({ verdict }) => verdict === 'broken'),
      [],
    );
    assert.equal(outcomeOf(report), 'kept', `${report.reached} of ${report.steps} steps`);
    assert.ok(report.rules.some(({ verdict }) => verdict === 'kept'));
  });
}

/** A program that goes on when a call fails, when it may, and ends when its key is not valid. */
async function shop(catalog: PetCatalog, { clock }: VirtualTime): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const calls = [
      () => catalog.categories.create({ name: `Category ${round}` }),
      () => catalog.pets.list({ categoryId: round }),
      () => catalog.orders.list({ petId: round }),
    ];
    for (const call of calls) {
      const error = await call().then(
        () => undefined,
        (failure: unknown) => failure,
      );
      if (error instanceof ApiError && error.code === 'invalid_api_key') return;
      if (error !== undefined && !(error instanceof PetCatalogError)) throw error;
      const until = error?.retryAt?.getTime() ?? 0;
      await clock.sleep(Math.max(0, until - clock.now()), new AbortController().signal);
    }
  }
}
