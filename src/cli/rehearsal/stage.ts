import { issueKey } from '../../catalog/operator/key-changes.ts';
import { readConfig } from '../../config.ts';
import { openLimiter } from '../../limits/open.ts';
import { openRehearsal } from '../../rehearsal/rehearsal.ts';
import { TurnedTime } from '../../rehearsal/turned-time.ts';
import type { Rehearsed } from '../../rehearsal/verdict/note.ts';
import { insertScript, readRehearsal } from '../../rehearsal/verdict/notes.ts';
import { startService } from '../../service.ts';
import { systemTime } from '../../stdx/time.ts';
import { openStorage } from '../../storage/open.ts';
import { claimEphemeral } from '../../storage/sqlite/ephemeral.ts';
import { createEvents } from '../../telemetry/events.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { fillWithDemo } from '../demo.ts';
import { systemOperator } from '../invocation.ts';
import { openLog } from '../log.ts';

const PLAN = 'business';
const SETTINGS = {
  ENVIRONMENT: 'staging',
  REHEARSAL: 'on',
  PORT: '0',
  // The answers that a script makes up are no failures of the service.
  LOG_LEVEL: 'silent',
  ACCESS_LOG: 'none',
};

/** A place where a script is played to one client. */
export interface Stage extends AsyncDisposable {
  /** The base address. */
  readonly url: string;
  /** Undefined where the client brings its own credentials. */
  readonly key: string | undefined;
  /** Stops the place, and returns what was kept when every request had ended. */
  end(): Promise<Rehearsed>;
}

/**
 * Starts a staging service on a temporary database, with a key that follows the script. Settings of the environment do
 * not reach it. Throws what a start throws.
 */
export async function openServiceStage(script: string, { isEmpty }: { readonly isEmpty: boolean }): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const { database } = stack.use(claimEphemeral());
  const config = { ...readConfig({ flags: SETTINGS, env: {}, file: {} }), database };
  const time = new TurnedTime(systemTime());
  const { log, write } = openLog(config.logLevel);
  const metrics = createMetrics();
  const events = createEvents({ log, write, accessLog: config.accessLog, metrics, redis: undefined });
  const { categoriesMax, categoriesBytesMax } = config;
  const storage = stack.use(await openStorage(database, { time, categoriesMax, categoriesBytesMax, events }));
  const rehearsal = await openRehearsal(storage, time);
  const limiter = stack.use(await openLimiter(config, { storage, time, events }));
  const now = time.now().unix;
  if (!isEmpty) await fillWithDemo(storage, now);
  const context = { storage, environment: config.environment, now, by: systemOperator() };
  const { key, secret } = await issueKey(context, { name: 'rehearsal', plan: PLAN });
  await insertScript(storage.transactions, { keyId: key.id, script });
  const parts = { storage, limiter, time, rehearsal, events, metrics };
  const service = await startService(config, parts);
  const serving = stack.use(new AsyncDisposableStack());
  serving.use(service);
  const started = stack.move();
  return {
    url: service.url,
    key: secret,
    async end() {
      await serving.disposeAsync();
      const rehearsed = await readRehearsal(storage.transactions, key.id);
      await started.disposeAsync();
      if (!rehearsed) throw new Error('The script of the key is gone');
      return rehearsed;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
