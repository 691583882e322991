import { CategoryList } from './catalog/category-list.ts';
import type { Clock } from './catalog/clock.ts';
import type { Change, Storage } from './catalog/storage.ts';
import type { Config } from './config.ts';
import type { Events } from './events.ts';
import { createApp, createPagesApp } from './http/app.ts';
import { Authenticator } from './http/authenticate.ts';
import { Cors } from './http/cors.ts';
import { Health } from './http/health.ts';
import { openListener } from './http/listener.ts';
import { type DiscoveryOptions, discoveryPages, healthPages, OPERATIONS } from './http/routes.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Metrics } from './metrics.ts';
import { operatorPages } from './operator/pages.ts';
import { UsageRecorder } from './usage.ts';
import { VERSION } from './version.ts';

/** The operator listener stops after the public one, so that it tells of the stopping, and then has little to finish. */
const OPERATOR_GRACE_MS = 500;
/** How many of the categories that other instances added are read in one go. */
const CAUGHT_UP_AT_ONCE = 1_000;
/** How often outcomes kept for retries are looked through for those past their day. */
const PURGE_INTERVAL_MS = 60_000;

export interface ServiceOptions {
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly events: Events;
  readonly metrics: Metrics;
}

/** Why the service did not start, and what to do. */
export class ServiceNotStarted extends Error {}

/** A running service. Disposing of it lets requests in flight finish, within the grace, and saves what was counted. */
export interface Service extends AsyncDisposable {
  /** The base address, `/v1` included. */
  readonly url: string;
  /** The address of the operator listener. */
  readonly operatorUrl: string;
}

/** Starts the service on a storage and a limiter, which stay the caller's. Throws `ServiceNotStarted` if a port cannot be had. */
export async function startService(
  config: Config,
  { storage, limiter, clock, events, metrics }: ServiceOptions,
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  const categories = new CategoryList();
  const authenticator = new Authenticator(storage, { environment: config.environment, clock });
  const usage = started.use(new UsageRecorder({ storage, clock, onFailure: events.usageNotStored }));
  const counted: Events = {
    ...events,
    requestAnswered(answered) {
      events.requestAnswered(answered);
      if (answered.keyId !== undefined) usage.record(answered.keyId, answered.status);
    },
  };
  const health = new Health(storage, limiter, { usesRedis: config.redis !== undefined });

  await follow({ storage, authenticator, limiter, categories, events });

  const purging = setInterval(() => storage.purgeOutcomes().catch(events.outcomesNotPurged), PURGE_INTERVAL_MS).unref();
  started.defer(() => clearInterval(purging));

  const pages = new Map(healthPages(health));
  const serve = createApp({
    operations: OPERATIONS,
    pages,
    catalog: { storage, categories },
    authenticator,
    limiter,
    events,
    cors: new Cors(config.corsOrigins),
  });
  const open = async (app: typeof serve, setting: 'PORT' | 'OPERATOR_PORT', host: string, port: number) => {
    const listener = await openListener(app, { clock, events: counted }, { host, port }).catch(
      cannotListen(setting, host, port),
    );
    started.defer(() =>
      listener.stop(setting === 'PORT' ? Math.max(0, config.shutdownGraceMs - OPERATOR_GRACE_MS) : OPERATOR_GRACE_MS),
    );
    return `http://${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
  };
  const operatorApp = createPagesApp(new Map(operatorPages(health, metrics)), events);
  const operatorUrl = await open(operatorApp, 'OPERATOR_PORT', config.operatorHost, config.operatorPort);
  const url = `${await open(serve, 'PORT', config.host, config.port)}/v1`;
  started.defer(() => health.stop());

  for (const [path, page] of discoveryPages(discoveryOptions(config, url, clock))) pages.set(path, page);
  events.serviceStarted({ url, operatorUrl, environment: config.environment, version: VERSION });

  const running = started.move();
  return {
    url,
    operatorUrl,
    async [Symbol.asyncDispose]() {
      events.serviceStopping();
      await running.disposeAsync();
      events.serviceStopped();
    },
  };
}

interface Followers {
  readonly storage: Storage;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly categories: CategoryList;
  readonly events: Events;
}

/** Fills what is kept in memory from storage, and keeps it true to what is changed there, here or elsewhere. */
async function follow({ storage, authenticator, limiter, categories, events }: Followers): Promise<void> {
  // One reading at a time, so that a page that was read before a reload is not added after it.
  let lastReading = Promise.resolve();
  const read = (work: () => Promise<void>) => {
    lastReading = lastReading.catch(() => {}).then(work);
    return lastReading;
  };
  const page = (after: number) => storage.categories.list({ after, limit: CAUGHT_UP_AT_ONCE });
  const readChange = async (change: Change) => {
    try {
      if (change === 'keys') authenticator.forget();
      if (change === 'bans') await limiter.refreshBans();
      if (change === 'categories') await read(() => categories.reload(() => storage.categories.list()));
      if (change === 'new-categories') await read(() => categories.catchUp(page));
    } catch (error) {
      events.changeNotRead(error);
      throw error;
    }
  };
  // Watching begins before the first reading, so that no change falls between the two.
  await storage.watch(readChange);
  await readChange('categories');
}

/** Both environments' addresses: as they were set, else that of this very listener. */
function discoveryOptions(config: Config, url: string, clock: Clock): DiscoveryOptions {
  const { environment, securityContact, banAfterRefusals } = config;
  const production = config.productionBaseUrl ?? url;
  const staging = config.stagingBaseUrl ?? url;
  return {
    servers: [
      { description: 'Production', url: production },
      { description: 'Staging', url: staging },
    ],
    baseUrl: environment === 'production' ? production : staging,
    securityContact,
    banAfterRefusals,
    clock,
  };
}

function cannotListen(setting: string, host: string, port: number): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    const why = error.code === 'EADDRINUSE' ? 'something else listens there' : error.message;
    throw new ServiceNotStarted(
      `Cannot listen on ${host}:${port}: ${why}; set ${setting} to another port, or to 0 for a free one`,
    );
  };
}
