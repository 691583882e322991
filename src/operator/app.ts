import { conclude } from '../http/conclude.ts';
import { respondPage } from '../http/pages.ts';
import type { Exchange, Serve } from '../http/transport/exchange.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Imports } from './catalog/import-job.ts';
import type { createConsole } from './console.ts';
import type { ConsoleOptions } from './frame/context.ts';
import { hostGate, misdirectedPage } from './host.ts';
import { Vitals } from './overview/vitals.ts';
import { operatorPages } from './pages.ts';

export interface OperatorOptions extends Omit<ConsoleOptions, 'vitals' | 'imports'> {
  readonly metrics: Metrics;
  /** The names by which the listener may be called, beside addresses and localhost. */
  readonly hosts: readonly string[];
}

/** The request handler of the operator listener; disposing stops its background work. */
export interface OperatorApp extends Disposable {
  readonly serve: Serve;
}

/** Creates the request handler of the operator listener: console, metrics and health. */
export function createOperatorApp({ metrics, hosts, ...rest }: OperatorOptions): OperatorApp {
  const vitals = new Vitals(metrics);
  const options = { ...rest, vitals, imports: new Imports(rest.storage) };
  // Loaded on the first request: on most instances the console is never opened.
  let loading: Promise<ReturnType<typeof createConsole>> | undefined;
  const respondConsole = async (exchange: Exchange) => {
    loading ??= import('./console.ts').then(({ createConsole }) => createConsole(options));
    return (await loading)(exchange);
  };
  const pages = new Map(operatorPages(rest.health, metrics));
  const refuseHost = hostGate(hosts);
  return {
    serve: (exchange) =>
      conclude(exchange, rest.events, () => {
        const refused = refuseHost(exchange);
        if (isConsolePath(exchange.path)) return refused ? misdirectedPage(refused) : respondConsole(exchange);
        return refused ?? respondPage(exchange, pages);
      }),
    [Symbol.dispose]: () => vitals[Symbol.dispose](),
  };
}

function isConsolePath(path: string): boolean {
  return path === '/console' || path.startsWith('/console/');
}
