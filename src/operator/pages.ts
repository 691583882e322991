import type { Health } from '../http/health.ts';
import type { PageHandler } from '../http/pages.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** The pages of the operator listener outside the console: health, metrics, and a redirect to the console. */
export function operatorPages(health: Health, { registry }: Metrics): [string, PageHandler][] {
  return [
    ['/', () => ({ status: 303, headers: ['Location', '/console'] })],
    ['/livez', () => health.live()],
    ['/readyz', () => health.ready()],
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
  ];
}
