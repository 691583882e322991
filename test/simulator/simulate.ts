import { parseArgs } from 'node:util';
import { describe, firstFailure } from './simulation.ts';

/**
 * `npm run simulate -- --seed N --steps M`: one run, or with `--seeds K` as many from that seed on. Prints the first
 * broken promise with the shortest run that shows it, and fails.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    steps: { type: 'string', default: '100' },
    seeds: { type: 'string', default: '1' },
  },
});
const [first, steps, count] = [values.seed, values.steps, values.seeds].map(Number) as [number, number, number];
const failed = await firstFailure(
  Array.from({ length: count }, (_, index) => first + index),
  steps,
);
console.log(failed ? describe(failed) : `All promises were kept in ${count} runs of ${steps} steps from seed ${first}`);
process.exitCode = failed ? 1 : 0;
