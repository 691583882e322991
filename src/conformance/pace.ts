import { setTimeout as sleep } from 'node:timers/promises';
import type { Pace } from './trial.ts';

const PROGRESS_SECONDS = 1;

type Progress = (doing: string, done: number, total: number) => void;

/** The pace of a server that is judged in real time; a wait of more than a second shows how far it is. */
export function realPace(progress: Progress, sleepMs: (ms: number) => Promise<unknown> = sleep): Pace {
  return {
    now: () => performance.now() / 1000,
    async wait(seconds, why) {
      const show = (waited: number) => seconds > PROGRESS_SECONDS && progress(`Waiting: ${why}`, waited, seconds);
      for (let waited = 0; waited < seconds; waited += PROGRESS_SECONDS) {
        show(waited);
        await sleepMs(Math.min(PROGRESS_SECONDS, seconds - waited) * 1000);
      }
      show(seconds);
    },
  };
}
