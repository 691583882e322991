import type { Health } from '../http/health.ts';
import type { PageHandler } from '../http/pages.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** The pages of the operator listener outside console and API: the API's contract, health, metrics. */
export function operatorPages(health: Health, { registry }: Metrics): [string, PageHandler][] {
  // Rendered on the first request.
  let contract: string | undefined;
  return [
    ['/', () => ({ status: 303, headers: ['Location', '/console'] })],
    [
      '/openapi.json',
      async () => {
        contract ??= JSON.stringify((await import('./api/openapi.ts')).operatorOpenApiDocument());
        return { status: 200, body: contract };
      },
    ],
    ['/livez', () => health.live()],
    ['/readyz', () => health.ready()],
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
  ];
}
