import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MannerName, soakBesideHostile } from '../kit/faults/hostile.ts';

/** Attacks on a service with little memory: it stays up, within its bounds, and serves another key. */

const MEMORY_BYTES_MAX = 400_000_000;
const SECONDS = 4;

const ATTACKS: readonly (readonly [what: string, manner: MannerName])[] = [
  ['pipelined requests of 990 headers behind unread answers, without a key', 'heads'],
  ['heads of 990 headers that are never finished', 'halfHeads'],
  ['packets of thousands of the smallest requests', 'tiny'],
  ['bodies in chunks of one byte', 'chunks'],
  ['headers that took the square of their length to read', 'spaces'],
];

for (const [what, manner] of ATTACKS) {
  test(`${what} neither end nor stall the service`, async (t) => {
    const figures = await soakBesideHostile({ seconds: SECONDS, manners: [manner] });
    t.diagnostic(JSON.stringify(figures));
    assert.equal(figures.unexplained, 0);
    assert.ok(figures.memoryBytesMax < MEMORY_BYTES_MAX, `${figures.memoryBytesMax} bytes`);
  });
}
