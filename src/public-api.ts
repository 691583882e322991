import { CategoryList } from './catalog/category-list.ts';
import type { Storage } from './catalog/storage.ts';
import type { Config } from './config.ts';
import { follow } from './follow.ts';
import { createApp } from './http/app.ts';
import { Authenticator } from './http/authenticate.ts';
import type { Health } from './http/health.ts';
import { type DiscoveryOptions, discoveryPages, healthPages, OPERATIONS } from './http/operations.ts';
import { Cors } from './http/transport/cors.ts';
import type { Serve } from './http/transport/exchange.ts';
import { type Listener, type ListenOptions, openListener } from './http/transport/listener.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Rehearsal } from './rehearsal/rehearsal.ts';
import type { Clock } from './stdx/clock.ts';
import type { Events } from './telemetry/events.ts';
import { type RecentAnswers, RecentRequests } from './telemetry/recent-requests.ts';
import { NO_TRACING, type Tracing } from './telemetry/tracing.ts';
import type { UsageRecorder } from './telemetry/usage.ts';

/** What serves the public API: this thread alone, or several. Disposing of it ends what it runs. */
export interface PublicSide extends AsyncDisposable {
  /** Opens the port. Rejects with the system error if that fails. */
  open(address: ListenOptions): Promise<Listener>;
  /** Adds the pages that name the address at which it is served. */
  announce(url: string): void;
  readonly recent: RecentAnswers;
}

export interface PublicApiOptions {
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly events: Events;
  readonly health: Health;
  readonly tracing?: Tracing;
  /** In rehearsal only. */
  readonly rehearsal?: Rehearsal | undefined;
}

/** The public API with everything that it holds in memory. */
export interface PublicApi {
  readonly serve: Serve;
  readonly categories: CategoryList;
  /** Adds categories of other instances to the list. Rejects if storage cannot be read. */
  catchUp(): Promise<void>;
  /** Adds the pages that name the address at which it is served. */
  announce(url: string): void;
}

/** Creates the public API, and loads what it answers from. */
export async function createPublicApi(config: Config, options: PublicApiOptions): Promise<PublicApi> {
  const { storage, limiter, clock, events, health, tracing = NO_TRACING, rehearsal } = options;
  const categories = new CategoryList();
  const authenticator = new Authenticator(storage, { environment: config.environment, clock });
  const catchUp = await follow({ storage, authenticator, limiter, categories, events, rehearsal });
  const pages = new Map(healthPages(health));
  const serve = (rehearsal?.createApp ?? createApp)({
    operations: OPERATIONS.map((operation) => tracing.trace(operation.id, operation)),
    pages,
    catalog: { storage: tracing.trace('storage', storage), categories, catchUp },
    authenticator: tracing.trace('authenticator', authenticator),
    limiter: tracing.trace(config.redis ? 'redis' : 'limiter', limiter),
    events,
    cors: new Cors(config.corsOrigins),
  });
  return {
    serve: tracing.requests(serve),
    categories,
    catchUp,
    announce(url) {
      for (const [path, page] of discoveryPages(discoveryOptions(config, url, clock))) pages.set(path, page);
    },
  };
}

/** Serves the public API in this thread, and records what it answers. */
export async function servePublicApi(
  config: Config,
  { usage, ...options }: PublicApiOptions & { readonly usage: UsageRecorder },
): Promise<PublicSide> {
  const { clock } = options;
  const { serve, announce } = await createPublicApi(config, options);
  const recent = new RecentRequests();
  const events = withRecords(options.events, { usage, recent, clock });
  return {
    open: (address) => openListener(serve, { clock, events }, address),
    announce,
    recent,
    async [Symbol.asyncDispose]() {},
  };
}

interface Recorders {
  readonly usage: UsageRecorder;
  readonly recent: RecentRequests;
  readonly clock: Clock;
}

/** Wraps the events so that every answer to a request with a key counts as its usage, and is kept for operators. */
export function withRecords(events: Events, { usage, recent, clock }: Recorders): Events {
  return {
    ...events,
    requestAnswered(answered) {
      events.requestAnswered(answered);
      const { keyId } = answered;
      if (keyId === undefined) return;
      const { unix } = clock();
      usage.record(keyId, answered.status, unix);
      recent.record(answered, keyId, unix);
    },
  };
}

/** This environment's address as configured, else that of this listener; the other one's only as configured. */
function discoveryOptions(config: Config, url: string, clock: Clock): DiscoveryOptions {
  const { environment, securityContact, banAfterRefusals } = config;
  const named = { production: config.productionBaseUrl, staging: config.stagingBaseUrl };
  const baseUrl = named[environment] ?? url;
  const servers = [
    { description: 'Production', url: environment === 'production' ? baseUrl : named.production },
    { description: 'Staging', url: environment === 'staging' ? baseUrl : named.staging },
  ];
  return {
    servers: servers.flatMap(({ description, url: address }) => (address ? [{ description, url: address }] : [])),
    baseUrl,
    securityContact,
    banAfterRefusals,
    clock,
  };
}
