import assert from 'node:assert/strict';
import type { RequestListener, ServerResponse } from 'node:http';
import { json as readJson } from 'node:stream/consumers';
import { test } from 'node:test';
import { httpServer } from '../../test/kit/http-server.ts';
import { CatalogError } from '../catalog/error.ts';
import { asksForTraces, startTracing } from './tracing.ts';

test('traces are asked for by an endpoint or by the exporter, and turned off by OpenTelemetry’s own variables', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:1';
  for (const [env, asks] of [
    [{}, false],
    [{ OTEL_SERVICE_NAME: 'shop' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1' }, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console' }, false],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT }, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT }, false],
    [{ OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }, false],
    [{ OTEL_SDK_DISABLED: 'false', OTEL_EXPORTER_OTLP_ENDPOINT }, true],
  ] as const)
    assert.equal(asksForTraces(env), asks, JSON.stringify(env));
});

interface Span {
  readonly name: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: Pick<Span, 'attributes'>;
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

/** A collector that answers as it is told, and is named in the environment until it is disposed of. */
async function collector(answer: RequestListener, environment: Readonly<Record<string, string>> = {}) {
  const server = await httpServer(answer);
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: server.origin, ...environment };
  Object.assign(process.env, variables);
  return {
    async [Symbol.asyncDispose]() {
      for (const name of Object.keys(variables)) delete process.env[name];
      await server[Symbol.asyncDispose]();
    },
  };
}

const ANSWERED = {
  request: { method: 'GET', headers: {} },
  requestId: 'one',
  route: 'x',
  key: undefined,
  status: 200,
  traceId: undefined,
};

test('a span is an error if the answer is a 5xx or there is none, and what fails below it by a defect alone', async () => {
  const spans: Span[] = [];
  const services = new Set<unknown>();
  const collect: RequestListener = async (request, response) => {
    const sent = (await readJson(request)) as Sent;
    for (const { resource } of sent.resourceSpans)
      services.add(resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue);
    spans.push(...sent.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((each) => each.spans)));
    response.end('{}');
  };
  await using _collector = await collector(collect, { OTEL_SERVICE_NAME: 'shop' });
  {
    await using tracing = await startTracing('1.2.3');
    const failing = tracing.trace('storage', {
      refuse: () => Promise.reject(new CatalogError('not_found', 'There is none')),
      break: () => Promise.reject(new TypeError('a defect')),
      breakAtOnce: () => {
        throw new RangeError('a defect');
      },
    });
    await assert.rejects(failing.refuse(), /none/, 'without a request nothing is traced');
    const serve = tracing.requests(async ({ route }: { route: string }) => {
      if (route === 'refused') await failing.refuse().catch(() => {});
      if (route === 'broken') await failing.break().catch(() => {});
      if (route === 'broken') assert.throws(() => failing.breakAtOnce());
    });
    for (const [route, status] of [
      ['good', 304],
      ['refused', 404],
      ['limited', 429],
      ['broken', 500],
      ['away', 503],
      ['cut off', undefined],
    ] as const)
      await serve({ ...ANSWERED, route, status });
  }
  assert.deepEqual([...services], ['shop'], 'as the environment names it');
  const ERROR = 2;
  const typeOf = ({ attributes }: Span) => attributes.find(({ key }) => key === 'error.type')?.value.stringValue;
  assert.deepEqual(
    spans.map((span) => [span.name, span.status.code === ERROR, typeOf(span)]),
    [
      ['GET good', false, undefined],
      ['storage.refuse', false, 'not_found'],
      ['GET refused', false, undefined],
      ['GET limited', false, undefined],
      ['storage.break', true, 'TypeError'],
      ['storage.breakAtOnce', true, 'RangeError'],
      ['GET broken', true, undefined],
      ['GET away', true, undefined],
      ['GET cut off', true, undefined],
    ],
  );
});

test('the last spans are waited for a second at most, where the collector does not answer', {
  timeout: 25_000,
}, async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const hold: RequestListener = (_, response) => asked.resolve(response);
  await using _silent = await collector(hold, { OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
  const tracing = await startTracing('1.2.3');
  await tracing.requests(() => {})(ANSWERED);
  const startedMs = performance.now();
  const [response] = await Promise.all([asked.promise, tracing[Symbol.asyncDispose]()]);
  assert.ok(performance.now() - startedMs < 5_000);
  // Not to be sent again.
  response.writeHead(400).end();
});

test('a collector that refuses the last spans is no matter to the stop', async () => {
  await using _refusing = await collector((_, response) => response.writeHead(400).end());
  const tracing = await startTracing('1.2.3');
  await tracing.requests(() => {})(ANSWERED);
  await tracing[Symbol.asyncDispose]();
});
