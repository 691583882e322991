import { setTimeout as wait } from 'node:timers/promises';
import type { Attributes, Span } from '@opentelemetry/api';
import { CatalogError } from '../catalog/error.ts';

const SHUTDOWN_MS = 1_000;

/** What a trace tells of a request, once it is answered. */
interface TracedRequest {
  readonly request: { readonly method?: string | undefined; readonly headers: Readonly<Record<string, unknown>> };
  readonly requestId: string;
  /** The route's template. */
  readonly route: string;
  /** The status of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** The trace that the request belongs to, as far as it is known. */
  traceId: string | undefined;
}

/** Spans around what the service does. */
export interface Tracing extends AsyncDisposable {
  /** What serves requests, each in a span, below the caller's if its `traceparent` is valid (W3C Trace Context). */
  requests<T extends TracedRequest>(
    serve: (exchange: T) => void | Promise<void>,
  ): (exchange: T) => void | Promise<void>;
  /** The same object, but that each call of its methods, and of those of its parts, has a span. */
  trace<T extends object>(name: string, object: T): T;
}

/** No spans, at no cost. */
export const NO_TRACING: Tracing = {
  requests: (serve) => serve,
  trace: (_name, object) => object,
  async [Symbol.asyncDispose]() {},
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the `OTEL_…` variables ask for traces to be sent somewhere (OpenTelemetry's environment specification). */
export function asksForTraces(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none') return false;
  const endpoints = [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT];
  return env.OTEL_TRACES_EXPORTER === 'otlp' || endpoints.some((endpoint) => endpoint !== undefined && endpoint !== '');
}

/**
 * Starts sending traces by OTLP over HTTP, as the `OTEL_…` variables of the process say. What it needs for that is
 * loaded only now. Disposing of it sends what is left.
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
      .resourceFromAttributes({ 'service.name': 'pet-catalog', 'service.version': version })
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  });
  const tracer = provider.getTracer('pet-catalog', version);

  const fail = (span: Span, error: unknown) => {
    const type = error instanceof CatalogError ? error.code : error instanceof Error ? error.name : 'unknown';
    span.setAttribute('error.type', type);
    // A refusal is an outcome like others; what no rule foresees is an error.
    if (!(error instanceof CatalogError)) span.setStatus({ code: SpanStatusCode.ERROR });
  };
  const within = <T>(name: string, work: () => T): T =>
    tracer.startActiveSpan(name, (span) => {
      try {
        const result = work();
        if (!(result instanceof Promise)) {
          span.end();
          return result;
        }
        result.catch((error: unknown) => fail(span, error)).finally(() => span.end());
        return result;
      } catch (error) {
        fail(span, error);
        span.end();
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
      // A collector that does not answer is waited for no longer than it is worth.
      await Promise.race([provider.shutdown().catch(() => {}), wait(SHUTDOWN_MS, undefined, { ref: false })]);
    },
  };
}

/** By OpenTelemetry's semantic conventions for HTTP, and never an address: that may hold anything, a key included. */
function describe({ request, requestId, route, status }: TracedRequest): Attributes {
  return {
    'http.request.method': request.method ?? '',
    'http.route': route,
    ...(status !== undefined && { 'http.response.status_code': status }),
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
        if (typeof property === 'symbol') return value.bind(target);
        return (...args: unknown[]) => run(inner, () => value.apply(target, args));
      }
      return typeof value === 'object' && value !== null ? traced(inner, value, run) : value;
    },
  });
}
