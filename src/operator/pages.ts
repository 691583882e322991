import type { Page } from '../http/app.ts';
import type { Health } from '../http/health.ts';
import type { Metrics } from '../metrics.ts';

/** What the operator listener serves: health and metrics. */
export function operatorPages(health: Health, { registry }: Metrics): [string, Page][] {
  return [
    ['/livez', () => health.live()],
    ['/readyz', () => health.ready()],
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
  ];
}
