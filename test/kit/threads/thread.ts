import type { MessagePort } from 'node:worker_threads';
import type { ThreadData } from '../../../src/threads/promises.ts';
import { runThread as run } from '../../../src/threads/thread.ts';
import { clockOf } from '../clock.ts';
import { writeDates } from '../conformance/dates.ts';

/** A thread that serves requests by the manual clock of the test. */
export function runThread(port: MessagePort, data: ThreadData): void {
  const clock = clockOf(data.clock.stepped);
  writeDates(clock);
  run(port, data, clock);
}
