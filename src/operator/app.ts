import { createPagesApp } from '../http/app.ts';
import type { Exchange, Serve } from '../http/exchange.ts';
import type { Metrics } from '../metrics.ts';
import type { createConsole } from './console.ts';
import { Imports } from './import-job.ts';
import { operatorPages } from './pages.ts';
import type { Workplace } from './route.ts';
import { Vitals } from './vitals.ts';

export interface OperatorOptions extends Omit<Workplace, 'vitals' | 'imports'> {
  readonly metrics: Metrics;
}

/** What the operator listener serves, until it is disposed of. */
export interface OperatorApp extends Disposable {
  readonly serve: Serve;
}

/** Makes the function that answers every request to the operator listener: the console, metrics and health. */
export function createOperatorApp({ metrics, ...rest }: OperatorOptions): OperatorApp {
  const vitals = new Vitals(metrics);
  const place = { ...rest, vitals, imports: new Imports(rest.storage) };
  // Loaded when somebody first looks: most instances are never looked at.
  let loading: Promise<ReturnType<typeof createConsole>> | undefined;
  const respond = async (exchange: Exchange) => {
    loading ??= import('./console.ts').then(({ createConsole }) => createConsole(place));
    return (await loading)(exchange);
  };
  const pages = new Map(operatorPages(rest.health, metrics));
  return {
    serve: createPagesApp(pages, rest.events, { path: '/console', respond }),
    [Symbol.dispose]: () => vitals[Symbol.dispose](),
  };
}
