import { execFile } from 'node:child_process';

/** Beats in the time after which systemd takes the service for hung. */
const BEATS = 3;

/**
 * Tells systemd that the service is ready, then, if the unit has `WatchdogSec`, that it still runs, and, disposed of,
 * that it stops. Does nothing where `NOTIFY_SOCKET` is not set. `onFailure` is called once if systemd cannot be told.
 */
export function notifySystemd(env: NodeJS.ProcessEnv, onFailure: (error: Error) => void): Disposable {
  const { NOTIFY_SOCKET, WATCHDOG_USEC } = env;
  if (!NOTIFY_SOCKET) return { [Symbol.dispose]() {} };
  let hasFailed = false;
  const tell = (state: string) =>
    execFile('systemd-notify', [state], { env: { PATH: env.PATH, NOTIFY_SOCKET } }, (error) => {
      if (error && !hasFailed) onFailure(error);
      hasFailed ||= error !== null;
    });
  tell('READY=1');
  const watchdogMs = Number(WATCHDOG_USEC) / 1_000;
  const beat = watchdogMs > 0 ? setInterval(() => tell('WATCHDOG=1'), watchdogMs / BEATS).unref() : undefined;
  return {
    [Symbol.dispose]() {
      clearInterval(beat);
      tell('STOPPING=1');
    },
  };
}
