import { existsSync, readFileSync } from 'node:fs';
import { CategoryList } from './catalog/category-list.ts';
import type { Storage } from './catalog/storage.ts';
import { type Config, withoutPassword } from './config.ts';
import { follow } from './follow.ts';
import { Authenticator } from './http/authenticate.ts';
import { discoveryPages, prefixOf } from './http/docs/docs.ts';
import { createApp } from './http/gates.ts';
import { Health } from './http/health.ts';
import { limitHeaders } from './http/limit-headers.ts';
import { OPERATIONS } from './http/operations.ts';
import type { Context, Serve } from './http/transport/exchange.ts';
import { type ListenOptions, openListener } from './http/transport/listener.ts';
import type { Limiter } from './limits/limiter.ts';
import { openLimiter } from './limits/open.ts';
import { createOperatorApp } from './operator/app.ts';
import { Logins } from './operator/session/logins.ts';
import { mintSecret } from './operator/session/secret.ts';
import { systemTime, type Time } from './stdx/time.ts';
import type { DatabaseNotOpened } from './storage/engine.ts';
import { claimForService, openStorage } from './storage/open.ts';
import type { SqlStorage } from './storage/sql/storage.ts';
import { followAudit, storeEvents } from './telemetry/audit-log.ts';
import { measureCapacity } from './telemetry/capacity.ts';
import { createEvents, type EventSinks, type Events } from './telemetry/events.ts';
import type { Finding } from './telemetry/finding.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { RecentRequests } from './telemetry/recent-requests.ts';
import { API_SIDE } from './telemetry/request-metrics.ts';
import { NO_TRACING, startTracing, type Tracing } from './telemetry/tracing.ts';
import { UsageRecorder } from './telemetry/usage-recorder.ts';
import { TRACING_PACKAGES, VERSION } from './version.ts';

/** The operator listener stops last, so that it reports the shutdown; its own requests then get this grace. */
const OPERATOR_GRACE_MS = 500;
/** The part of the grace that is left to save counts and usage. */
const FLUSH_MS = 1_000;
const PURGE_INTERVAL_MS = 60_000;
const PROCESS_LIMITS = '/proc/self/limits';
const DESCRIPTORS_KEPT = 100;

export interface ServiceOptions {
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly time: Time;
  readonly events: Events;
  readonly metrics: Metrics;
  readonly tracing?: Tracing;
  /** Runs the checks of `doctor` for the console, off the event loop. */
  readonly examine?: () => Promise<readonly Finding[]>;
}

/** Why the service did not start, and what to do. */
export class ServiceNotStarted extends Error {}

/** A running service. Disposing of it lets requests in flight finish, within the grace, and saves all counts. */
export interface Service extends AsyncDisposable {
  /** The base address, `/v1` included. */
  readonly url: string;
  readonly operatorUrl: string;
  /** The secret with which commands of this machine sign their requests. */
  readonly localSecret: string;
  readonly logins: Logins;
}

export interface OpenOptions extends Pick<ServiceOptions, 'examine'> {
  readonly log: Pick<EventSinks, 'log' | 'write'> & { onLoss?(listener: (lines: number) => void): void };
  /** True if the caller holds the claim on the database. */
  readonly isClaimed?: boolean;
  readonly isTraced?: boolean;
  /** Fills the storage before the first request. */
  prepare?(storage: SqlStorage, now: number): Promise<void>;
}

/** A running service with what it was opened on, which disposing closes after the service. */
export interface OpenedService extends AsyncDisposable {
  readonly service: Service;
  /** Fulfilled with why the service must stop: another one took its database, or nothing more can be written to it. */
  readonly failed: Promise<DatabaseNotOpened>;
  readonly storage: SqlStorage;
  readonly time: Time;
}

/**
 * Opens all that a service consists of, as configured, and starts it. Throws `ServiceNotStarted` or
 * `DatabaseNotOpened`.
 */
export async function openService(config: Config, options: OpenOptions): Promise<OpenedService> {
  const { database, accessLog, categoriesMax, categoriesBytesMax } = config;
  const { log, examine, prepare } = options;
  await using opened = new AsyncDisposableStack();
  const time = systemTime();
  const metrics = createMetrics();
  const redis = config.redis && withoutPassword(config.redis.url);
  log.onLoss?.((lines) => metrics.logLinesLost.inc(lines));
  const events = createEvents({ ...log, accessLog, trustedProxies: config.trustedProxies, metrics, redis });
  const tracing = opened.use(options.isTraced ? await sendTraces() : NO_TRACING);
  const claim = options.isClaimed
    ? undefined
    : await claimForService(database, { together: config.redis !== undefined });
  opened.use(claim);
  const bounds = { categoriesMax, categoriesBytesMax };
  const storage = opened.use(await openStorage(database, { time, ...bounds, events }, 'serve'));
  const limiter = opened.use(await openLimiter(config, { storage, time, events }));
  await prepare?.(storage, time.now().unix);
  const parts = { storage, limiter, time, events, metrics, tracing };
  const service = opened.use(await startService(config, { ...parts, ...(examine && { examine }) }));
  const { backups } = config;
  if (backups && database.engine === 'sqlite') {
    const { ScheduledBackups } = await import('./storage/scheduled-backups.ts');
    const owner = `${config.environment}-${await storage.databaseId()}`;
    opened.use(new ScheduledBackups({ ...backups, databaseFile: database.file, owner, time, events }));
  }
  const open = opened.move();
  const failed = Promise.race([claim?.taken, storage.failed].filter((each) => each !== undefined));
  return { service, storage, time, failed, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/**
 * The most connections of each listener. Descriptors are kept for files and the database: without one a connection ends
 * uncounted. The operator listener has half of what the public one leaves, so that neither takes those of the other.
 */
function boundedConnections(wanted: number, events: Events) {
  const limits = existsSync(PROCESS_LIMITS) ? readFileSync(PROCESS_LIMITS, 'utf8') : '';
  const files = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const most = Math.max(files - DESCRIPTORS_KEPT, Math.floor(files / 4));
  if (wanted > most) events.connectionsBounded(most);
  const publicMax = Math.min(wanted, most);
  return { publicMax, operatorMax: Math.min(wanted, Math.ceil((files - publicMax) / 2)) };
}

/** Starts sending traces. Throws `ServiceNotStarted` if OpenTelemetry is not installed. */
async function sendTraces(): Promise<Tracing> {
  try {
    return await startTracing(VERSION);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const packages = TRACING_PACKAGES.map((name) => `"${name}"`).join(' ');
    throw new ServiceNotStarted(
      `The OTEL_… variables ask for traces, and OpenTelemetry is not installed; unset them, or install it beside pet-catalog:\n\n  npm install ${packages}\n`,
    );
  }
}

/**
 * Starts the service on a storage and a limiter that the caller owns. Throws `ServiceNotStarted` if it cannot listen.
 */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  const { storage, limiter, time, events, metrics } = options;
  const { tracing = NO_TRACING, examine } = options;
  await using started = new AsyncDisposableStack();
  const categories = new CategoryList();
  const authenticator = new Authenticator(storage, { environment: config.environment, time });
  const usage = started.use(new UsageRecorder({ storage, time, onFailure: events.usageNotStored }));
  const health = new Health(storage, config.redis && limiter, events.outages);

  const catchUp = await follow({ storage, authenticator, categories, events });

  started.use(setInterval(() => storage.purgeOutcomes().catch(events.outcomesNotPurged), PURGE_INTERVAL_MS).unref());
  const purgeAudit = () => storage.audit.purge(config.auditKeptSeconds).catch(events.auditNotPurged);
  started.use(setInterval(purgeAudit, PURGE_INTERVAL_MS).unref());
  started.use(await measureCapacity({ storage, time, events, bounds: config }));
  started.use(await followAudit(storage.audit, events.operatorChanged));

  for (const { method, path, success } of OPERATIONS) {
    metrics.requests.declare({ ...API_SIDE, method, route: `/v1${path}`, status: success.status });
  }
  const pages = new Map(health.pages());
  const serve = createApp({
    operations: OPERATIONS.map((operation) => tracing.trace(operation.id, operation)),
    pages,
    catalog: { storage: tracing.trace('storage', storage), categories, catchUp },
    authenticator: tracing.trace('authenticator', authenticator),
    limiter: tracing.trace(config.redis ? 'redis' : 'limiter', limiter),
    events,
    corsOrigins: config.corsOrigins,
    prefix: prefixOf(config.baseUrls[config.environment] ?? ''),
  });
  const recent = new RecentRequests();
  const recorded = withRecords(events, { usage, recent, time });
  const open = portOpener(config, { time, events: recorded }, started);
  let url = '';
  const localSecret = mintSecret();
  const logins = new Logins(storage);
  const operator = createOperatorApp({
    storage,
    logins,
    localSecret,
    time,
    limiter,
    health,
    events,
    metrics,
    service: { recent, flushUsage: () => usage.flush() },
    examine,
    version: VERSION,
    environment: config.environment,
    identity: config.identity,
    usesRedis: config.redis !== undefined,
    // A name that it listens on is in the links that it prints.
    hosts: [config.operatorHost, ...config.operatorHosts],
    url: () => url,
    operatorUrl: () => operatorUrl,
  });
  const { publicMax, operatorMax } = boundedConnections(config.connectionsMax, events);
  const operatorUrl = await open(operator, 'OPERATOR_PORT', {
    host: config.operatorHost,
    port: config.operatorPort,
    connectionsMax: operatorMax,
  });
  const { host, port } = config;
  const origin = await open(tracing.requests(serve), 'PORT', { host, port, connectionsMax: publicMax });
  url = `${origin}/v1`;
  health.start();
  started.defer(() => health.stop());

  for (const [path, page] of discoveryPages(discoveryOptions(config, url, time))) pages.set(path, page);
  events.serviceStarted({ url, operatorUrl, environment: config.environment, version: VERSION });
  started.use(await storeEvents(storage.audit, events.waiting));

  const running = started.move();
  return {
    url,
    operatorUrl,
    localSecret,
    logins,
    async [Symbol.asyncDispose]() {
      if (running.disposed) return;
      events.serviceStopping();
      await running.disposeAsync();
      events.serviceStopped();
    },
  };
}

/** Creates a function that opens a port for an app, registers its graceful stop, and returns the origin. */
function portOpener(config: Config, context: Context, started: AsyncDisposableStack) {
  return async (app: Serve, setting: 'PORT' | 'OPERATOR_PORT', options: ListenOptions) => {
    const named: Context =
      setting === 'PORT'
        ? { ...context, addLimitHeaders: limitHeaders(context.time) }
        : { ...context, listener: 'operator' };
    const listener = await openListener(app, named, options).catch(cannotListen(setting, options));
    const graceMs =
      setting === 'PORT' ? Math.max(0, config.shutdownGraceMs - OPERATOR_GRACE_MS - FLUSH_MS) : OPERATOR_GRACE_MS;
    started.defer(() => listener.stop(graceMs));
    return `http://${authorityOf(options.host, listener.port)}`;
  };
}

/** Host and port as in an address (RFC 3986, section 3.2). */
function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Wraps the events so that every answer to a request with a key counts as its usage, and is kept for operators. */
function withRecords(events: Events, into: { usage: UsageRecorder; recent: RecentRequests; time: Time }): Events {
  return {
    ...events,
    requestAnswered(answered) {
      events.requestAnswered(answered);
      const { keyId = answered.ended?.keyId } = answered;
      if (keyId === undefined) return;
      const { unix } = into.time.now();
      if (!answered.ended) into.usage.record(keyId, answered, unix);
      into.recent.record(answered, keyId, unix);
    },
  };
}

/** This environment's address as configured, else that of this listener; the other one's only as configured. */
function discoveryOptions(config: Config, url: string, time: Time): Parameters<typeof discoveryPages>[0] {
  const { environment, securityContact, banAfterRefusals } = config;
  const baseUrl = config.baseUrls[environment] ?? url;
  const { production, staging } = config.baseUrls;
  const servers = [
    { description: 'Production', url: environment === 'production' ? baseUrl : production },
    { description: 'Staging', url: environment === 'staging' ? baseUrl : staging },
  ];
  return {
    operations: OPERATIONS,
    servers: servers.flatMap(({ description, url: address }) => (address ? [{ description, url: address }] : [])),
    baseUrl,
    securityContact,
    banAfterRefusals,
    time,
  };
}

function cannotListen(setting: string, { host, port }: ListenOptions): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const why = error.code === 'EADDRINUSE' ? 'something else listens there' : error.message;
    const advice = /^(EADDRNOTAVAIL|EAI_AGAIN|EINVAL|ENOTFOUND)$/.test(error.code ?? '')
      ? `${setting.replace('PORT', 'HOST')} to an address of this machine`
      : `${setting} to another port, or to 0 for a free one`;
    throw new ServiceNotStarted(`Cannot listen on ${authorityOf(host, port)}: ${why}; set ${advice}`);
  };
}
