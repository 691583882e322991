import { issueKey } from '../../catalog/operator/changes.ts';
import { readConfig } from '../../config.ts';
import type { Rehearsed } from '../../rehearsal/verdict/note.ts';
import { insertScript, readRehearsal } from '../../rehearsal/verdict/stored-rehearsals.ts';
import { openService } from '../../service.ts';
import { claimEphemeral } from '../../storage/sqlite/ephemeral.ts';
import { openLog } from '../../telemetry/log.ts';
import { fillWithDemo } from '../demo.ts';
import { systemOperator } from '../invocation.ts';

const PLAN = 'business';
const SETTINGS = {
  ENVIRONMENT: 'staging',
  REHEARSAL: 'on',
  PORT: '0',
  // The answers that a script makes up are no failures of the service.
  LOG_LEVEL: 'silent',
};

/** A place where a script is played to one client. */
export interface Stage extends AsyncDisposable {
  readonly url: string;
  /** Absent where the client brings its own credentials. */
  readonly key?: string;
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
  const opened = await openService(config, {
    log: openLog(config.logLevel),
    isClaimed: true,
    ...(!isEmpty && { prepare: fillWithDemo }),
  });
  if (!opened) throw new Error('The stage was not opened');
  const { service, storage, time } = stack.use(opened);
  const context = { storage, environment: config.environment, now: time.now().unix, by: systemOperator() };
  const { key, secret } = await issueKey(context, { name: 'rehearsal', plan: PLAN });
  await insertScript(storage.transactions, { keyId: key.id, script });
  const started = stack.move();
  return {
    url: service.url,
    key: secret,
    async end() {
      await service[Symbol.asyncDispose]();
      const rehearsed = await readRehearsal(storage.transactions, key.id);
      await started.disposeAsync();
      if (!rehearsed) throw new Error('The script of the key is gone');
      return rehearsed;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
