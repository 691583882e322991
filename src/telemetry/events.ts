import type { Logger } from 'pino';
import { type AuditEntry, SERVICE_EVENTS, type ServiceEvent } from '../catalog/audit.ts';
import type { Ban } from '../catalog/ban.ts';
import { type AnyErrorCode, CatalogError } from '../catalog/error.ts';
import type { PlanName } from '../catalog/plan.ts';
import type { Capacity } from '../catalog/storage.ts';
import type { KeyNearLimit } from '../catalog/window-counts.ts';
import { AddressList } from '../stdx/address-list.ts';
import { FailureLog } from './failure-log.ts';
import type { Metrics } from './metrics.ts';
import type { Side } from './request-metrics.ts';
import { clientOf } from './user-agent.ts';

/** Which responses have an access line: all, slow ones, or none. Those of 500 and above are logged as errors anyway. */
export const ACCESS_LOGS = ['all', 'errors', 'none'] as const;
export type AccessLog = (typeof ACCESS_LOGS)[number];

const SLOW_MS = 1_000;

/** The windows as the limiter reported them for a request. */
interface CountedWindows {
  /** The limit of the window that has fewer requests left, or that refused. */
  readonly limit: number;
  readonly minute: { readonly remaining: number };
  readonly day: { readonly remaining: number };
  readonly ban?: { readonly reason: string };
}

export interface AnsweredRequest extends Side {
  readonly requestId: string;
  readonly keyId: string | undefined;
  /** The known key that was refused as an invalid one, and why. */
  readonly ended?: { readonly keyId: string; readonly reason: string } | undefined;
  readonly plan: PlanName | undefined;
  readonly method: string;
  /** The route's template, never the requested URL: that may hold anything, even a key. */
  readonly route: string;
  readonly status: number;
  readonly code: AnyErrorCode | undefined;
  readonly durationMs: number;
  /** Both windows of the key after the request, if it was counted. */
  readonly windows: CountedWindows | undefined;
  /** The thrown error, with a status of 500 and above. */
  readonly cause?: unknown;
  /** The client's trace, or the one started for the request. */
  readonly traceId: string | undefined;
  /** As it was sent. */
  readonly userAgent?: string | undefined;
  readonly request?: {
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    readonly socket: { readonly remoteAddress?: string | undefined };
  };
}

export interface StoredBatch {
  readonly size: number;
  readonly durationMs: number;
  /** The number of writes that wait for the next batches. */
  readonly waiting: number;
}

/** One function per event of the service, feeding log and metrics. Nothing else writes to the log. */
export type Events = ReturnType<typeof createEvents>;

export interface EventSinks {
  readonly log: Logger;
  /** Writes a preformatted line to the same log. */
  readonly write: (line: string) => void;
  readonly accessLog: AccessLog;
  /** Addresses and CIDRs of proxies; the access log has addresses if there are any. */
  readonly trustedProxies?: readonly string[];
  readonly metrics: Metrics;
  /** The address of Redis without its password, if there is one. */
  readonly redis?: string | undefined;
}

/** A method or a version that no server of this kind has; without a key a caller could fill the log with them. */
const CALLERS_MISTAKES: ReadonlySet<number> = new Set([501, 505]);
/** The service events that wait for the storage at most; the oldest are dropped. */
const WAITING_MAX = 50;

/**
 * The outages of this instance by what fails: since when, in Unix seconds, and why, as their lines in the log say.
 */
export type Outages = ReadonlyMap<string, Outage>;

interface Outage {
  readonly since: number;
  readonly cause: string;
}

/** Creates the events, which feed the log and the metrics. */
export function createEvents(sinks: EventSinks) {
  const failures = new FailureLog((line) => sinks.log.error(line));
  const waiting: ServiceEvent[] = [];
  const outages = new Map<string, Outage>();
  const telling = { ...sinks, outages, log: keepingEvents(sinks.log, waiting) };
  return {
    outages: outages as Outages,
    /** The service events of this instance that are not stored yet, oldest first; what stores them takes them out. */
    waiting,
    ...requestEvents(sinks, failures),
    ...limitEvents(telling),
    ...storageEvents(telling),
    ...lifeEvents(telling, failures),
    ...backupEvents(telling),
  };
}

type Line = Readonly<Record<string, unknown>>;
/** The part of a logger that takes lines with a name. */
type LineLog = Readonly<Record<'info' | 'warn' | 'error', (line: Line) => void>>;
type LineSinks = Omit<EventSinks, 'log'> & { readonly log: LineLog; readonly outages: Map<string, Outage> };

/** The log, with its lines about the service as a whole kept until they are stored. */
function keepingEvents(log: Logger, waiting: ServiceEvent[]): LineLog {
  const keep = (line: Line) => {
    const { event: name, err: _, ...members } = line;
    const event = SERVICE_EVENTS.find((each) => each === name);
    if (event && waiting.push({ at: nowUnix(), event, members }) > WAITING_MAX) waiting.shift();
    return line;
  };
  return {
    info: (line) => log.info(keep(line)),
    warn: (line) => log.warn(keep(line)),
    error: (line) => log.error(keep(line)),
  };
}

function nowUnix(): number {
  return Math.floor(Date.now() / 1_000);
}

/** The messages of an error and its causes, as the log joins them; several failed connections have only a code. */
function causeOf(error: unknown): string {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: unknown };
  const text = message || code || 'unknown';
  return cause instanceof Error ? `${text}: ${causeOf(cause)}` : text;
}

function requestEvents(sinks: EventSinks, failures: FailureLog) {
  const { log, write, accessLog, metrics, trustedProxies = [] } = sinks;
  const proxies = trustedProxies.length > 0 ? new AddressList(trustedProxies) : undefined;
  const logsAnswers = accessLog !== 'none' && log.isLevelEnabled('info');
  return {
    requestAnswered(answered: AnsweredRequest) {
      const { listener, api, status, code, plan, durationMs } = answered;
      metrics.requests.observe(answered, durationMs / 1000);
      // A login to the console is refused without a plan.
      if (status === 429 && plan) metrics.refusals.inc({ listener, api, plan, reason: code ?? '' });
      if (status === 401) metrics.failedAuthentications.inc({ listener, api, reason: code ?? '' });
      const isFailure = status >= 500 && !CALLERS_MISTAKES.has(status);
      if (isFailure) {
        metrics.requestFailures.inc({ listener, api });
        failures.report(failureLine(answered));
      }
      if (!logsAnswers) return;
      if (accessLog === 'errors' && (isFailure || durationMs < SLOW_MS)) return;
      write(accessLine(answered, proxies && addressOf(answered, proxies)));
    },
    /** A defect outside any answer: an unexpected error was thrown. */
    requestFailed: (requestId: string, error: unknown) => failures.report({ requestId, err: error }),
  };
}

function failureLine({ cause, ...answered }: AnsweredRequest) {
  const { requestId, keyId, plan, method, route, status, code, traceId, durationMs, ended } = answered;
  return { requestId, keyId, ended, plan, method, route, status, code, traceId, durationMs, err: cause ?? code };
}

/**
 * Formats the log line of a request as pino would, at a fraction of the cost: pino takes a quarter of a short response.
 * All but the client needs no escaping: a number, from a closed set, or (the request id) of safe characters.
 */
export function accessLine(answered: AnsweredRequest, address?: string): string {
  const { requestId, keyId, plan, method, route, status, code, traceId, durationMs, userAgent } = answered;
  const key = keyId === undefined ? '' : `,"keyId":"${keyId}","plan":"${plan}"`;
  const error = code === undefined ? '' : `,"code":"${code}"`;
  const trace = traceId === undefined ? '' : `,"traceId":"${traceId}"`;
  const client = userAgent === undefined ? '' : `,"userAgent":${JSON.stringify(clientOf(userAgent))}`;
  const from = address === undefined ? '' : `,"address":"${address}"`;
  const took = Math.round(durationMs * 1000) / 1000;
  return `{"level":30,"time":${Date.now()},"event":"request","requestId":"${requestId}"${key},"method":"${method}","route":"${route}","status":${status}${error}${trace},"durationMs":${took}${client}${from}}\n`;
}

/** The last address before the trusted proxies, each of which appends the one that it was called from. */
function addressOf({ request }: AnsweredRequest, proxies: AddressList): string | undefined {
  const { headers, socket } = request ?? {};
  return proxies.lastOutside([...`${headers?.['x-forwarded-for'] ?? ''}`.split(','), socket?.remoteAddress ?? '']);
}

function limitEvents({ log, metrics, redis, outages }: LineSinks) {
  return {
    keyBanned(ban: Ban & { readonly keyId: string }, plan: PlanName) {
      metrics.bans.inc({ plan });
      const { keyId, startedAt, endsAt, level: banLevel, reason } = ban;
      log.warn({ event: 'key_banned', plan, keyId, startedAt, endsAt, banLevel, reason });
    },
    /** Told once a UTC day, by one of all instances. */
    keyNearLimit({ keyId, use }: KeyNearLimit) {
      metrics.dayLimitNews.inc({ use });
      log.warn({ event: `key_${use}_day_limit`, keyId });
    },
    /** Counts or bans stay in memory until the next try. `storageFailing` logs it, once. */
    countsNotSaved(error: unknown) {
      metrics.unsavedCounts.inc();
      logUnreported(log, 'counts_not_saved', error);
    },
    requestCounted: (durationMs: number) => metrics.countDuration.observe(durationMs / 1000),
    /** A request over its limit was refused without asking Redis. */
    refusedFromMemory: () => metrics.refusalsFromMemory.inc(),
    /** A Redis call or connection failed or timed out. */
    redisFailed: () => metrics.redisFailures.inc(),
    /** Redis missed its deadline: requests are decided by this instance's share until it reconnects. */
    redisLate: () => metrics.redisDeadlines.inc(),
    /**
     * From now on this instance counts alone and admits its share of each limit, until `limiterRecovered`. `masters`
     * are all of a cluster that are lost; then that holds for their keys alone.
     */
    limiterDegraded(error: unknown, masters: readonly string[] = []) {
      metrics.limiterDegraded.set(1);
      setLost(metrics, masters);
      outages.set('counts without Redis', { since: nowUnix(), cause: causeOf(error) });
      log.error({ event: 'limiter_degraded', redis, ...named(masters), err: error });
    },
    /** Redis counts again, or all masters of a cluster do but `masters`. */
    limiterRecovered(masters: readonly string[] = []) {
      metrics.limiterDegraded.set(masters.length > 0 ? 1 : 0);
      setLost(metrics, masters);
      if (masters.length === 0) outages.delete('counts without Redis');
      log.warn({ event: 'limiter_recovered', redis, ...named(masters) });
    },
  };
}

function named(masters: readonly string[]) {
  return masters.length > 0 && { masters };
}

function setLost({ redisMasterLost }: Metrics, masters: readonly string[]): void {
  redisMasterLost.reset();
  if (masters.length === 0) redisMasterLost.set(0);
  for (const master of masters) redisMasterLost.set({ master }, 1);
}

function storageEvents({ log, metrics, outages }: LineSinks) {
  return {
    batchStored({ size, durationMs, waiting }: StoredBatch) {
      metrics.commitBatch.observe(size);
      metrics.commitDuration.observe(durationMs / 1000);
      metrics.waitingWrites.set(waiting);
    },
    /** A read went to storage; reads from memory are not reported. */
    storageRead: (durationMs: number) => metrics.readDuration.observe(durationMs / 1000),
    /** Reads or writes fail from now on, until `storageRecovered`. `database` holds no password. */
    storageFailing(work: 'read' | 'write', problem: { database: string; failure: string; error: unknown }) {
      const { database, failure, error } = problem;
      metrics.storageFailing.set({ work }, 1);
      const reason = failure === 'full' ? { reason: 'the disk is full; make room' } : { err: error };
      const cause = reason.reason ?? causeOf(error);
      outages.set(`cannot ${work} the database`, { since: nowUnix(), cause });
      log.error({ event: 'storage_failing', work, database, ...reason });
    },
    storageRecovered(work: 'read' | 'write') {
      metrics.storageFailing.set({ work }, 0);
      outages.delete(`cannot ${work} the database`);
      log.warn({ event: 'storage_recovered', work });
    },
    /** Usage stays in memory until the next try. Logged as `countsNotSaved` is. */
    usageNotStored: (error: unknown) => logUnreported(log, 'usage_not_stored', error),
    /** Expired create outcomes stay until the next try. Logged as `countsNotSaved` is. */
    outcomesNotPurged: (error: unknown) => logUnreported(log, 'outcomes_not_purged', error),
    auditNotPurged: (error: unknown) => logUnreported(log, 'audit_not_purged', error),
    /** A change could not be reloaded; it is retried. */
    changeNotRead: (error: unknown) => log.error({ event: 'change_not_read', err: error }),
  };
}

/** Logs a failure unless `storageFailing` did: what is tried twice a second would fill the log. */
function logUnreported(log: LineLog, event: string, error: unknown): void {
  if (!(error instanceof CatalogError)) log.error({ event, err: error });
}

function backupEvents({ log, metrics, outages }: LineSinks) {
  return {
    /** Backups are made so often from now on; `newest` is there already. */
    backupsScheduled(everySeconds: number, newest?: { at: number; bytes: number }) {
      metrics.backupInterval.set(everySeconds);
      if (!newest) return;
      metrics.backupTime.set(newest.at);
      metrics.backupBytes.set(newest.bytes);
    },
    /** The folder has backups of other databases, which count for nothing. */
    backupsOfOthers: (folder: string, owners: readonly string[]) =>
      log.warn({ event: 'backups_of_others', folder, owners }),
    backupMade(made: { file: string; at: number; bytes: number; durationMs: number }) {
      metrics.backupTime.set(made.at);
      metrics.backupBytes.set(made.bytes);
      outages.delete('makes no backups');
      log.info({ event: 'backup_made', ...made });
    },
    /** A backup was restored into a new folder, checked and compared, now or before the start. */
    backupRestored(restored: { backup: string; at: number }) {
      metrics.backupRestored.set(restored.at);
      log.info({ event: 'backup_restored', ...restored });
    },
    /** A backup was not made, or could not be restored; it is tried again. */
    backupFailed(reason: string) {
      metrics.backupFailures.inc();
      outages.set('makes no backups', { since: outages.get('makes no backups')?.since ?? nowUnix(), cause: reason });
      log.error({ event: 'backup_failed', reason });
    },
  };
}

function lifeEvents({ log, metrics }: LineSinks, failures: FailureLog) {
  return {
    /** `CONNECTIONS_MAX` is more than the limit of open files allows. */
    connectionsBounded: (connectionsMax: number) => log.warn({ event: 'connections_bounded', connectionsMax }),
    /** A connection was closed at once, because there were as many as may be. */
    connectionRefused: () => metrics.connectionsRefused.inc(),
    /** A connection was closed because of too many unserved requests, or because its client does not read. */
    connectionCutOff: () => metrics.connectionsCutOff.inc(),
    capacityMeasured(measured: Capacity & { categoriesMax: number; categoriesBytesMax: number }) {
      metrics.categories.set(measured.categories);
      metrics.categoriesMax.set(measured.categoriesMax);
      metrics.listBytes.set(measured.listBytes);
      metrics.listBytesMax.set(measured.categoriesBytesMax);
      metrics.databaseBytes.set(measured.databaseBytes);
      metrics.databaseLogBytes.set(measured.logBytes);
      metrics.diskFreeBytes.set(measured.diskFreeBytes);
      metrics.keysNearDayLimit.set(measured.keysNearDayLimit.length);
    },
    operatorChanged: ({ operator, action, target }: AuditEntry) =>
      log.info({ event: 'operator_change', ...operator, action, target }),
    serviceStarted(started: Record<'url' | 'operatorUrl' | 'environment' | 'version', string>) {
      const { version, environment } = started;
      metrics.build.set({ version, environment, node: process.versions.node }, 1);
      log.info({ event: 'started', ...started });
    },
    serviceStopping: () => log.info({ event: 'stopping' }),
    serviceStopped() {
      failures.flush();
      log.info({ event: 'stopped' });
    },
  };
}
