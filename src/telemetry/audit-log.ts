import type { AuditEntry, AuditStorage } from '../catalog/audit.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';

const LOOK_INTERVAL_MS = 1_000;
const ENTRIES_AT_ONCE = 100;

/**
 * Calls back for each change by an operator from now on, in order, within a second: from the console, the API, a
 * command or another instance. While storage cannot be read the changes wait.
 */
export async function followAudit(
  audit: AuditStorage,
  onChange: (entry: AuditEntry) => void,
): Promise<AsyncDisposable> {
  let last = (await audit.list({ since: 0, limit: 1 }))[0]?.id ?? 0;
  const look = oneAtATime(async () => {
    for (;;) {
      const entries = await audit.list({ since: 0, after: last, limit: ENTRIES_AT_ONCE });
      for (const entry of entries) onChange(entry);
      last = entries.at(-1)?.id ?? last;
      if (entries.length < ENTRIES_AT_ONCE) return;
    }
  });
  // Storage reports its own failures.
  const tryToLook = () => look().catch(() => {});
  const looking = setInterval(tryToLook, LOOK_INTERVAL_MS).unref();
  return {
    [Symbol.asyncDispose]: () => {
      clearInterval(looking);
      return tryToLook();
    },
  };
}
