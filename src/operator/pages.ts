import { leadToDocs, SITE_ASSETS, sitePage } from '../http/docs/site.ts';
import type { Health } from '../http/health.ts';
import type { PageHandler } from '../http/pages.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Additions } from './frame/context.ts';

interface OperatorPagesOptions {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly additions: Additions | undefined;
  /** The address of the operator listener, known once it listens. */
  operatorUrl(): string;
}

/** The pages of the operator listener outside console and API: the API's contract and reference, health, metrics. */
export function operatorPages({
  health,
  metrics,
  additions,
  operatorUrl,
}: OperatorPagesOptions): [string, PageHandler][] {
  const added = additions?.operations ?? [];
  const { registry } = metrics;
  // Rendered on the first request.
  let contract: string | undefined;
  return [
    ['/', () => ({ status: 303, headers: ['Location', '/console'] })],
    [
      '/openapi.json',
      async () => {
        contract ??= JSON.stringify((await import('./api/openapi.ts')).operatorOpenApiDocument(added));
        return { status: 200, body: contract };
      },
    ],
    ['/docs', sitePage(async () => (await import('./api/reference.ts')).operatorReference(operatorUrl(), added))],
    ['/docs/', leadToDocs],
    ...SITE_ASSETS.map(({ path, page }): [string, PageHandler] => [path, page]),
    ['/livez', () => health.live()],
    ['/readyz', () => health.ready()],
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
  ];
}
