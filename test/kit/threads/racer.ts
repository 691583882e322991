import { parentPort, workerData } from 'node:worker_threads';
import type { ApiKey } from '../../../src/catalog/api-key.ts';
import { type HandedSlot, SharedLimiter } from '../../../src/threads/shared-limiter.ts';
import type { SlotMemory } from '../../../src/threads/slots.ts';
import { manualClock } from '../clock.ts';

/** What threads share that race for the last token of each key. */
export interface Race {
  readonly memory: SlotMemory;
  readonly keys: readonly ApiKey[];
  readonly handed: readonly HandedSlot[];
  /** How many threads have yet to reach the start. */
  readonly gate: SharedArrayBuffer;
}

/** What a thread got in a round. */
export interface Raced {
  readonly round: number;
  /** The places of the keys of which it got a token. */
  readonly admitted: readonly number[];
}

const { memory, keys, handed, gate } = workerData as Race;
const slots = new Map(keys.map(({ id }, index) => [id, handed[index] as HandedSlot]));
const limiter = new SharedLimiter({
  memory,
  clock: manualClock().now,
  banAfter: 0,
  desk: {
    handOut: async (keyId) => slots.get(keyId) as HandedSlot,
    keepBan: async () => {},
    refreshBans: async () => {},
    async [Symbol.asyncDispose]() {},
  },
});
// Knows every slot before the start, so that nothing but the charges takes time.
for (const key of keys) await limiter.peek(key);
const gates = new Int32Array(gate);
parentPort?.on('message', (round: number) => {
  // Each round admits one request more than those before it did.
  const charged = keys.map((key) => ({ ...key, limits: { minute: round, day: 1_000 } }));
  Atomics.sub(gates, 0, 1);
  Atomics.notify(gates, 0);
  for (let left = Atomics.load(gates, 0); left > 0; left = Atomics.load(gates, 0)) Atomics.wait(gates, 0, left);
  const admitted: number[] = [];
  for (const [index, key] of charged.entries()) {
    const decision = limiter.charge(key);
    if (decision instanceof Promise) throw new Error('A slot is not known');
    if (!decision.refusal) admitted.push(index);
  }
  parentPort?.postMessage({ round, admitted } satisfies Raced);
});
