import { setTimeout as wait } from 'node:timers/promises';
import type { Attributes, Span } from '@opentelemetry/api';
import { CatalogError } from '../catalog/error.ts';

const SHUTDOWN_MS = 1_000;

/** The part of a request that a span records, once it is answered. */
interface TracedRequest {
  readonly request: { readonly method?: string | undefined; readonly headers: Readonly<Record<string, unknown>> };
  readonly requestId: string;
  readonly route: string;
  /** The id of the caller's key, once it is known. */
  readonly key: { readonly id: string } | undefined;
  /** The status of the response; undefined without one. */
  readonly status: number | undefined;
  /** The request's trace, if known. */
  traceId: string | undefined;
}

/** Creates spans around the service's work. */
export interface Tracing extends AsyncDisposable {
  /** Wraps a server so that each request has a span, a child of the client's if `traceparent` is valid (W3C). */
  requests<T extends TracedRequest>(
    serve: (exchange: T) => void | Promise<void>,
  ): (exchange: T) => void | Promise<void>;
  /** Wraps an object so that each call of its methods, and of its members' methods, has a span. */
  trace<T extends object>(name: string, object: T): T;
}

/** Tracing turned off; it adds no overhead. */
export const NO_TRACING: Tracing = {
  requests: (serve) => serve,
  trace: (_name, object) => object,
  async [Symbol.asyncDispose]() {},
};

/** True if the `OTEL_…` variables enable sending traces (OpenTelemetry's environment variable specification). */
export function asksForTraces(env: NodeJS.ProcessEnv): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return false;
  const endpoints = [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT];
  return env.OTEL_TRACES_EXPORTER === 'otlp' || endpoints.some((endpoint) => endpoint !== undefined && endpoint !== '');
}

/**
 * Starts sending traces by OTLP over HTTP, as the `OTEL_…` variables configure. Loads OpenTelemetry only now. Disposing
 * of it sends the remaining spans.
 */
export async function startTracing(version: string): Promise<Tracing> {
  const [api, sdk, exporter, resources, core, hooks] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/core'),
    import('@opentelemetry/context-async-hooks'),
  ]);
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  const propagator = new core.W3CTraceContextPropagator();
  const provider = new sdk.BasicTracerProvider({
    resource: resources
      .resourceFromAttributes({
        'service.name': 'pet-catalog',
        'service.version': version,
        // Another one at each start.
        'service.instance.id': crypto.randomUUID(),
      })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('pet-catalog', version);

  const endFailed = (span: Span, error: unknown) => {
    const type = error instanceof CatalogError ? error.code : error instanceof Error ? error.name : 'unknown';
    span.setAttribute('error.type', type);
    // A CatalogError is a regular outcome; anything else is a defect.
    if (!(error instanceof CatalogError)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };
  const within = <T>(name: string, work: () => T): T =>
    tracer.startActiveSpan(name, (span) => {
      try {
        const result = work();
        if (!(result instanceof Promise)) span.end();
        else result.then(() => span.end()).catch((error: unknown) => endFailed(span, error));
        return result;
      } catch (error) {
        endFailed(span, error);
        throw error;
      }
    });

  return {
    requests: (serve) => (exchange) => {
      const parent = propagator.extract(ROOT_CONTEXT, exchange.request.headers, api.defaultTextMapGetter);
      const { method = '' } = exchange.request;
      return tracer.startActiveSpan(method, { kind: SpanKind.SERVER }, parent, async (span) => {
        exchange.traceId = span.spanContext().traceId;
        try {
          await serve(exchange);
        } finally {
          span.updateName(`${method} ${exchange.route}`);
          span.setAttributes(describe(exchange));
          if ((exchange.status ?? 500) >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        }
      });
    },
    trace: (name, object) =>
      traced(name, object, (call, work) => (trace.getActiveSpan() ? within(call, work) : work())),
    async [Symbol.asyncDispose]() {
      // Bounded, because the collector may not answer.
      await Promise.race([provider.shutdown().catch(() => {}), wait(SHUTDOWN_MS, undefined, { ref: false })]);
    },
  };
}

/** Attributes by OpenTelemetry's HTTP conventions. The path is the route's template: a URL may hold even a key. */
function describe({ request, requestId, route, key, status }: TracedRequest): Attributes {
  return {
    'http.request.method': request.method ?? '',
    'http.route': route,
    'url.path': route,
    // OpenTelemetry leaves out what is undefined.
    'http.response.status_code': status,
    'pet_catalog.key_id': key?.id,
    'pet_catalog.request_id': requestId,
  };
}

type Run = <T>(name: string, work: () => T) => T;

function traced<T extends object>(name: string, object: T, run: Run): T {
  return new Proxy(object, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      const inner = `${name}.${String(property)}`;
      if (typeof value === 'function') {
        return (...args: unknown[]) => run(inner, () => value.apply(target, args));
      }
      return typeof value === 'object' && value !== null ? traced(inner, value, run) : value;
    },
  });
}
