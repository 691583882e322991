import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Config } from './config.ts';
import { checkPages } from './storage/sqlite/page-check.ts';

/** The entry of threads: each does one job, which would hold up the event loop of a service, and posts its result. */
const JOBS = {
  checkPages(file: string) {
    using database = new DatabaseSync(file, { readOnly: true });
    return checkPages(database);
  },
  async examine(config: Config) {
    const { examine } = await import('./cli/doctor.ts');
    return examine(config);
  },
};

const { job, input } = workerData as { job: keyof typeof JOBS; input: never };
parentPort?.postMessage(await JOBS[job](input));
