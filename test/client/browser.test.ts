import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type * as Client from '../../client/src/pet-catalog.ts';
import { suiteBrowser } from '../kit/chromium.ts';
import { buildClient } from '../kit/client/package.ts';
import { httpServer } from '../kit/http-server.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** The client as it is published, in a page of another origin. */

const { needsBrowser, browser } = suiteBrowser();
const folder = temporaryFolder();

before(async () => {
  if (!needsBrowser.skip) await buildClient(folder.path);
});
after(() => folder[Symbol.dispose]());

test(
  'a page of an allowed origin uses the client: creates, lists, pages, limits, errors, an abort',
  needsBrowser,
  async () => {
    await using site = await shop();
    await using service = await testService({ CORS_ORIGINS: site.origin });
    const { secret } = await service.issue();
    const page = await browser().newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(site.origin);
    const seen = await page.evaluate(
      async ([baseUrl, apiKey, origin]) => {
        const { ApiError, PetCatalog }: typeof Client = await import(`${origin}/pet-catalog.js`);
        const events: Client.ResponseEvent[] = [];
        const ended: Client.DeprecationEvent[] = [];
        const catalog = new PetCatalog({
          ...{ baseUrl, apiKey, timeoutMs: 20_000 },
          onResponse: (event) => events.push(event),
          onDeprecation: (event) => ended.push(event),
        });
        const dog = await catalog.categories.create({ name: 'Dog' }).withResponse();
        for (const name of ['Cat', 'Fish']) await catalog.categories.create({ name });
        const list = await catalog.categories.list();
        const again = await catalog.categories.list();
        const pages: string[][] = [];
        for await (const part of catalog.categories.pages({ limit: 2 })) pages.push(part.map(({ name }) => name));
        const pet = await catalog.pets.create({ name: 'Rex', categoryId: 1 });
        await catalog.pets.get(pet.id);
        const stock = await catalog.inventory.update(pet.id, { quantity: 2 });
        const order = await catalog.orders.place({ petId: pet.id, quantity: 1 });
        await catalog.orders.cancel(order.id);
        const missing = await catalog.categories.get(99).catch((error: unknown) => error);
        const aborted = await catalog.categories
          .list({}, { signal: AbortSignal.abort('left') })
          .catch((reason: unknown) => reason);
        const { minute } = await catalog.rateLimit();
        let refusal: unknown;
        while (!refusal) await catalog.pets.list().catch((error: unknown) => (refusal = error));
        const { requestId, limits } = events.at(0) ?? {};
        return {
          ...{ names: list.map(({ name }) => name), same: again.length, pages, quantity: stock.quantity, aborted },
          missing: missing instanceof ApiError && [missing.code, missing.operation],
          limits: [limits?.limit, limits?.remaining, minute.limit],
          location: dog.headers.get('location'),
          requestId: typeof requestId,
          statuses: events.slice(3, 5).map(({ status }) => status),
          ended: ended.map(({ operation, sunset }) => [operation, sunset?.toISOString()]),
          refusal: refusal instanceof ApiError && [refusal.code, refusal.retryAfter],
        };
      },
      [service.url, secret, site.origin] as const,
    );
    assert.deepEqual(seen, {
      names: ['Dog', 'Cat', 'Fish'],
      same: 3,
      pages: [['Dog', 'Cat'], ['Fish']],
      quantity: 2,
      aborted: 'left',
      missing: ['not_found', 'getCategory'],
      limits: [60, 59, 60],
      location: '/v1/categories/1',
      requestId: 'string',
      statuses: [200, 304],
      ended: [['getPet', '2030-12-05T00:00:00.000Z']],
      refusal: ['rate_limit_exceeded', 60],
    });
    assert.deepEqual(complaints, []);
    await page.close();
  },
);

/** A site that holds an empty page and the built client. */
function shop() {
  return httpServer((request, response) => {
    if (request.url !== '/pet-catalog.js') return response.end('<!doctype html><title>A shop</title>');
    response.setHeader('content-type', 'text/javascript');
    return response.end(readFileSync(join(folder.path, 'pet-catalog.js')));
  });
}
