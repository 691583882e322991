import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { brokenBy, RIGHT, scripts } from '../kit/rehearsal/right-clients.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

for (const [name, client] of Object.entries(RIGHT)) {
  test(`a right client keeps every rule under every script of the page: ${name}`, async () => {
    for (const script of scripts) assert.equal(await brokenBy(rehearsed, script, client), '', script);
  });
}
