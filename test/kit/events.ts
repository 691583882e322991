import type { Ban } from '../../src/catalog/ban.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import type { AnsweredRequest, Events } from '../../src/telemetry/events.ts';

/** Events that a test can look at. */
export interface RecordedEvents extends Events {
  readonly answered: AnsweredRequest[];
  readonly failures: unknown[];
  readonly bans: (Ban & { readonly keyId: string; readonly plan: string })[];
  /** How many requests were refused without asking Redis. */
  readonly fromMemory: () => number;
}

/** Whether a request failed by an unexpected error. */
export function isDefect(cause: unknown): boolean {
  return cause instanceof Error && !(cause instanceof CatalogError);
}

const UNNOTED =
  'batchStored storageRead storageRecovered connectionsBounded connectionRefused connectionCutOff requestCounted redisFailed redisLate limiterDegraded limiterRecovered backupsScheduled backupsOfOthers backupMade backupRestored capacityMeasured keyNearLimit operatorChanged serviceStarted serviceStopping serviceStopped'.split(
    ' ',
  );
const FAILED = 'countsNotSaved usageNotStored outcomesNotPurged historyNotPurged changeNotRead backupFailed'.split(' ');

/** The same function by each name. */
function each(names: readonly string[], told: (cause: unknown) => void) {
  return Object.fromEntries(names.map((name) => [name, told])) as unknown as Events;
}

export function recordedEvents(): RecordedEvents {
  const answered: AnsweredRequest[] = [];
  const failures: unknown[] = [];
  const bans: (Ban & { readonly keyId: string; readonly plan: string })[] = [];
  let fromMemory = 0;
  return {
    ...each(UNNOTED, () => {}),
    ...each(FAILED, (cause: unknown) => failures.push(cause)),
    answered,
    failures,
    bans,
    fromMemory: () => fromMemory,
    waiting: [],
    outages: new Map(),
    requestAnswered: (request) => {
      answered.push(request);
      if (isDefect(request.cause)) failures.push(request.cause);
    },
    requestFailed: (_requestId, error) => failures.push(error),
    keyBanned: (ban, plan) => bans.push({ ...ban, plan }),
    storageFailing: (_work, { error }) => failures.push(error),
    refusedFromMemory: () => {
      fromMemory += 1;
    },
  };
}
