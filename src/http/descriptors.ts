import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Events } from '../telemetry/events.ts';

const LOOK_INTERVAL_MS = 1_000;
/** The open descriptors of this process, and of the whole machine. */
const EXHAUSTED: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE']);

/**
 * Looks every second whether a file can be opened, until disposed of, and reports when none can and when one can again.
 * Nothing else would: the runtime closes the connections that it has no descriptor for, and says nothing.
 */
export function watchDescriptors(events: Pick<Events, 'descriptorsExhausted' | 'descriptorsFreed'>): Disposable {
  let isExhausted = false;
  return setInterval(() => {
    const error = tryToOpen();
    if (error === undefined) {
      if (isExhausted) events.descriptorsFreed();
    } else if (!isExhausted) {
      events.descriptorsExhausted(error);
    }
    isExhausted = error !== undefined;
  }, LOOK_INTERVAL_MS).unref();
}

/** The error if there is no descriptor left. */
function tryToOpen(): unknown {
  try {
    closeSync(openSync(devNull, 'r'));
    return undefined;
  } catch (error) {
    return EXHAUSTED.has((error as NodeJS.ErrnoException).code) ? error : undefined;
  }
}
