import { readFileSync } from 'node:fs';
import type { Storage } from './catalog/storage.ts';
import type { Config } from './config.ts';
import { Health } from './http/health.ts';
import { OPERATIONS } from './http/operations.ts';
import { watchDescriptors } from './http/transport/descriptors.ts';
import { type Certificate, type Listener, type ListenOptions, openListener } from './http/transport/listener.ts';
import type { Limiter } from './limits/limiter.ts';
import { createOperatorApp } from './operator/app.ts';
import type { ShownSetting } from './operator/frame/context.ts';
import { type PublicSide, servePublicApi } from './public-api.ts';
import type { Rehearsal } from './rehearsal/rehearsal.ts';
import type { Clock } from './stdx/clock.ts';
import type { Events } from './telemetry/events.ts';
import type { Finding } from './telemetry/finding.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { Tracing } from './telemetry/tracing.ts';
import { RouteCounts, UsageRecorder } from './telemetry/usage.ts';
import type { Threads } from './threads/threads.ts';
import { VERSION } from './version.ts';

/** The operator listener stops last, so that it reports the shutdown; its own requests then get this grace. */
const OPERATOR_GRACE_MS = 500;
/** How often expired create outcomes are purged. */
const PURGE_INTERVAL_MS = 60_000;

export interface ServiceOptions {
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly clock: Clock;
  /** The clock of sessions, login links and tokens, which keep the machine's time when `clock` is turned. */
  readonly machineClock?: Clock;
  readonly events: Events;
  readonly metrics: Metrics;
  readonly tracing?: Tracing;
  /** In rehearsal only. */
  readonly rehearsal?: Rehearsal | undefined;
  /** With THREADS above 1 only. */
  readonly threads?: Threads | undefined;
  /** The settings that the console shows, secrets masked. */
  readonly settings?: readonly ShownSetting[];
  /** Runs the checks of `doctor` for the console, off the event loop. */
  readonly examine?: () => Promise<readonly Finding[]>;
}

/** Why the service did not start, and what to do. */
export class ServiceNotStarted extends Error {}

/** A running service. Disposing of it lets requests in flight finish, within the grace, and saves all counts. */
export interface Service extends AsyncDisposable {
  /** The base address, `/v1` included. */
  readonly url: string;
  /** The address of the operator listener. */
  readonly operatorUrl: string;
  /** Reloads the certificate; an unusable one is reported, and the old one stays in use. */
  reloadCertificate(): void;
}

/**
 * Starts the service on a storage and a limiter that the caller owns. Throws `ServiceNotStarted` if it cannot listen.
 */
export async function startService(config: Config, options: ServiceOptions): Promise<Service> {
  const { storage, limiter, clock, machineClock = clock, events, metrics, rehearsal, threads } = options;
  const { tracing, settings = [], examine } = options;
  await using started = new AsyncDisposableStack();
  const routes = new RouteCounts(metrics);
  const usage = started.use(
    new UsageRecorder({ storage, clock, takeRoutes: () => routes.take(), onFailure: events.usageNotStored }),
  );
  const health = new Health(storage, limiter, { usesRedis: config.redis !== undefined });

  const parts = { storage, limiter, clock, events };
  const publicSide = started.use(
    threads
      ? await threads.serve(config, parts)
      : await servePublicApi(config, { ...parts, health, usage, rehearsal, ...(tracing && { tracing }) }),
  );

  started.use(purgeNowAndThen(storage, events));
  started.use(watchDescriptors(events));

  for (const { method, path, success } of OPERATIONS) {
    metrics.requests.declare({ method, route: `/v1${path}`, status: success.status });
  }
  const open = portOpener(config, started);
  let url = '';
  const operator = createOperatorApp({
    storage,
    clock,
    machineClock,
    limiter,
    health,
    events,
    metrics,
    settings,
    recent: publicSide.recent,
    additions: rehearsal?.additions,
    examine,
    version: VERSION,
    environment: config.environment,
    usesRedis: config.redis !== undefined,
    // A name that it listens on is in the links that it prints.
    hosts: [config.operatorHost, ...config.operatorHosts],
    url: () => url,
    operatorUrl: () => operatorUrl,
  });
  started.use(operator);
  const serveOperator = rehearsal?.operator(operator.serve) ?? operator.serve;
  const openOperator = (address: ListenOptions) => openListener(serveOperator, { clock, events }, address);
  const { origin: operatorUrl } = await open(openOperator, 'OPERATOR_PORT', operatorAddress(config));
  const { origin, listener } = await open(publicSide.open, 'PORT', publicAddress(config));
  url = `${origin}/v1`;
  started.defer(() => health.stop());

  publicSide.announce(url);
  events.serviceStarted({ url, operatorUrl, environment: config.environment, version: VERSION });

  const running = started.move();
  return {
    url,
    operatorUrl,
    reloadCertificate: () => reloadCertificate(listener, config, events),
    async [Symbol.asyncDispose]() {
      events.serviceStopping();
      await running.disposeAsync();
      events.serviceStopped();
    },
  };
}

/** Creates a function that opens a port, and registers its graceful stop. */
function portOpener(config: Config, started: AsyncDisposableStack) {
  return async (open: PublicSide['open'], setting: 'PORT' | 'OPERATOR_PORT', options: ListenOptions) => {
    const listener = await open(options).catch(cannotListen(setting, options));
    const graceMs = setting === 'PORT' ? Math.max(0, config.shutdownGraceMs - OPERATOR_GRACE_MS) : OPERATOR_GRACE_MS;
    started.defer(() => listener.stop(graceMs));
    return { listener, origin: originOf(options, listener.port) };
  };
}

function originOf({ host, certificate }: ListenOptions, port: number): string {
  return `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function purgeNowAndThen(storage: Storage, events: Events): Disposable {
  const purging = setInterval(() => storage.purgeOutcomes().catch(events.outcomesNotPurged), PURGE_INTERVAL_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(purging) };
}

function operatorAddress({ operatorHost: host, operatorPort: port }: Config): ListenOptions {
  return { host, port };
}

function publicAddress({ host, port, tls }: Config): ListenOptions {
  return { host, port, ...(tls && { certificate: readCertificate(tls) }) };
}

function reloadCertificate(listener: Listener, { tls }: Config, events: Events): void {
  try {
    if (!tls) return;
    listener.replaceCertificate(readCertificate(tls));
    events.certificateReloaded();
  } catch (error) {
    events.certificateNotReloaded(error);
  }
}

function readCertificate({ certFile, keyFile }: NonNullable<Config['tls']>): Certificate {
  try {
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  } catch (error) {
    throw new ServiceNotStarted(`Cannot read TLS_CERT_FILE or TLS_KEY_FILE: ${(error as Error).message}`);
  }
}

function cannotListen(setting: string, { host, port }: ListenOptions): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code?.startsWith('ERR_OSSL') || error.code?.startsWith('ERR_TLS')) {
      throw new ServiceNotStarted(
        `TLS_CERT_FILE and TLS_KEY_FILE do not hold a certificate and its key: ${error.message}`,
      );
    }
    const why = error.code === 'EADDRINUSE' ? 'something else listens there' : error.message;
    throw new ServiceNotStarted(
      `Cannot listen on ${host}:${port}: ${why}; set ${setting} to another port, or to 0 for a free one`,
    );
  };
}
