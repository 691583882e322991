import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type AttackOptions, type MannerName, soakBesideHostile } from '../kit/faults/hostile.ts';

const MEMORY_BYTES_MAX = 400_000_000;
/** Under all kinds at once: the container of 512 MiB for which the heap is set. 347 to 465 MB were measured. */
const MEMORY_AT_ONCE_BYTES_MAX = 512 * 1024 ** 2;

/** Attacks on a service with little memory: it stays up, within its bounds, and serves another key. */
export const ATTACKS: readonly (readonly [what: string, manner: MannerName])[] = [
  ['pipelined requests of 990 headers behind unread answers, without a key', 'heads'],
  ['heads of 990 headers that are never finished', 'halfHeads'],
  ['packets of thousands of the smallest requests', 'tiny'],
  ['bodies in chunks of one byte', 'chunks'],
  ['headers that took the square of their length to read', 'spaces'],
];

/** Asserts that a service endures some attacks at once, directly or behind nginx. */
export async function assertEndured(
  manners: readonly MannerName[],
  t: TestContext,
  how: Pick<AttackOptions, 'through'> = {},
): Promise<void> {
  // All at once reach their peak of memory in less than two seconds.
  const [seconds, bytesMax] = manners.length > 1 ? [2, MEMORY_AT_ONCE_BYTES_MAX] : [4, MEMORY_BYTES_MAX];
  const figures = await soakBesideHostile({ seconds, manners, ...how });
  t.diagnostic(JSON.stringify(figures));
  assert.equal(figures.unexplained, 0);
  assert.ok(figures.memoryBytesMax < bytesMax, `${figures.memoryBytesMax} bytes`);
}
