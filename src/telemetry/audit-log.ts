import { hostname } from 'node:os';
import type { AuditEntry, AuditStorage, ServiceEvent } from '../catalog/audit.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';

type EventStorage = Pick<AuditStorage, 'addEvent'>;

const INTERVAL_MS = 1_000;
const ENTRIES_AT_ONCE = 100;

/** Stores service events: now, within a second of each, and when disposed of. Those that storage cannot take wait. */
export async function storeEvents(audit: EventStorage, waiting: ServiceEvent[]): Promise<AsyncDisposable> {
  const by = { actor: hostname(), via: 'service' } as const;
  const store = oneAtATime(async () => {
    for (let [event] = waiting; event; [event] = waiting) {
      await audit.addEvent(event, by);
      if (waiting[0] === event) waiting.shift();
    }
  });
  await store().catch(() => {});
  return repeat(store);
}

/**
 * Calls back for each change by an operator from now on, in order, within a second: from the console, the API, a
 * command or another instance. While storage cannot be read the changes wait.
 */
export async function followAudit(
  audit: Pick<AuditStorage, 'list'>,
  onChange: (entry: AuditEntry) => void,
): Promise<AsyncDisposable> {
  let last = (await audit.list({ since: 0, limit: 1 }))[0]?.id ?? '0';
  const look = oneAtATime(async () => {
    for (;;) {
      const entries = await audit.list({ since: 0, after: last, limit: ENTRIES_AT_ONCE });
      for (const entry of entries) onChange(entry);
      last = entries.at(-1)?.id ?? last;
      if (entries.length < ENTRIES_AT_ONCE) return;
    }
  });
  return repeat(look);
}

/** Repeats work every second, and once more when disposed of. Storage reports its own failures. */
function repeat(work: () => Promise<void>): AsyncDisposable {
  const attempt = () => work().catch(() => {});
  const repeating = setInterval(attempt, INTERVAL_MS).unref();
  return {
    [Symbol.asyncDispose]: () => {
      clearInterval(repeating);
      return attempt();
    },
  };
}
