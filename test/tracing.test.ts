import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json as readJson } from 'node:stream/consumers';
import { test } from 'node:test';
import { VERSION } from '../src/version.ts';
import { issueKey } from './kit/faults/kills.ts';
import { httpServer } from './kit/http-server.ts';
import { run, runProcess, serveProcess } from './kit/process.ts';
import { temporaryFolder, testService } from './kit/service.ts';

/** A collector of the test's own, which speaks OTLP over HTTP as far as the service does. */

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** 1 is internal, 2 that of a server. */
  readonly kind: number;
  readonly attributes: readonly Attribute[];
}

interface ResourceSpans {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scopeSpans: readonly { readonly scope: object; readonly spans: readonly CollectedSpan[] }[];
}

const textsOf = (attributes: readonly Attribute[] = []) =>
  new Map(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

async function openCollector() {
  const collected: ResourceSpans[] = [];
  const server = await httpServer(async (request, response) => {
    collected.push(...((await readJson(request)) as { resourceSpans: ResourceSpans[] }).resourceSpans);
    response.end('{}');
  });
  return { ...server, collected };
}

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

test('with OTEL_… set, requests are traced below the caller’s span, with their gates and their storage', async () => {
  using folder = temporaryFolder();
  await using collector = await openCollector();
  const secret = await issueKey(folder.path);
  // The environment comes before the file.
  const named = 'OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=file';
  writeFileSync(join(folder.path, '.env'), `OTEL_EXPORTER_OTLP_ENDPOINT=${collector.origin}\n${named}\n`);
  const env = { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' };
  await using service = await serveProcess(['--access-log', 'all'], { cwd: folder.path, env });
  const call = (path: string, init: RequestInit = {}, traceparent?: string) =>
    fetch(service.url + path, {
      ...init,
      headers: {
        ...{ authorization: `Bearer ${secret}`, connection: 'close', 'content-type': 'application/json' },
        ...(traceparent && { traceparent }),
      },
    });
  await (await call('/categories', {}, `00-${TRACE_ID}-${PARENT_ID}-01`)).text();
  await (await call('/categories', { method: 'POST', body: '{"name":"Dog"}' })).text();
  await (await call(`/pets/no-${secret}`, {}, 'not a traceparent')).text();
  await (await call('/pets/7', { method: 'PATCH', body: '{"status":"sold"}' })).text();
  assert.equal(await service.end('SIGTERM'), 0);

  const scopes = collector.collected.flatMap(({ scopeSpans }) => scopeSpans);
  const spans = scopes.flatMap((scope) => scope.spans);
  const listed = spans.find(({ name }) => name === 'GET /v1/categories');
  assert.deepEqual([listed?.traceId, listed?.parentSpanId], [TRACE_ID, PARENT_ID]);
  const told = textsOf(listed?.attributes);
  assert.deepEqual([told.get('http.response.status_code'), told.get('http.route')], [200, '/v1/categories']);
  const [{ id: keyId }] = JSON.parse((await run(['keys', 'list', '--json'], { cwd: folder.path })).stdout);
  assert.deepEqual([told.get('url.path'), told.get('pet_catalog.key_id')], ['/v1/categories', keyId]);
  const below = (parent: CollectedSpan | undefined) =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId).map(({ name }) => name);
  const gates = ['authenticator.authenticate', 'limiter.charge', 'limiter.current'];
  assert.deepEqual(below(listed).sort(), [...gates, 'listCategories.handle']);
  const handled = spans.find(({ name }) => name === 'createCategory.handle');
  assert.deepEqual(below(handled), ['storage.categories.insert']);
  assert.deepEqual([listed?.kind, handled?.kind], [2, 1]);
  const updated = spans.find(({ name }) => name === 'updatePet.handle');
  assert.deepEqual(below(updated), ['storage.pets.update']);
  assert.ok(spans.some(({ name, spanId }) => name === 'PATCH /v1/pets/{petId}' && spanId === updated?.parentSpanId));
  const services = textsOf(collector.collected[0]?.resource.attributes);
  assert.deepEqual([services.get('service.name'), services.get('service.version')], ['pet-catalog', VERSION]);
  for (const { scope } of scopes) assert.deepEqual(scope, { name: 'pet-catalog', version: VERSION });
  assert.equal(services.get('deployment.environment.name'), 'test');
  assert.match(`${services.get('service.instance.id')}`, /^[\da-f]{8}-[\da-f-]{27}$/);
  assert.ok(!JSON.stringify(collector.collected).includes(secret), 'no key is in a trace');

  const lines = service.output.stderr.split('\n').filter((line) => line.includes('"event":"request"'));
  const logged = lines.map((line) => JSON.parse(line) as { traceId?: string; route: string });
  assert.equal(logged[0]?.traceId, TRACE_ID);
  assert.equal(logged.length, 4);
  assert.ok(logged.every(({ traceId }) => spans.some((span) => span.traceId === traceId)));
});

test('without OTEL_… an answer has the caller’s trace all the same, and a malformed one is ignored', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  for (const traceparent of [
    `00-${TRACE_ID}-${PARENT_ID}-01`,
    `cc-${TRACE_ID}-${PARENT_ID}-01-later`,
    `ff-${TRACE_ID}-${PARENT_ID}-01`,
    `00-${TRACE_ID}-${PARENT_ID}-01-more`,
    `00-${'0'.repeat(32)}-${PARENT_ID}-01`,
    `00-${TRACE_ID.toUpperCase()}-${PARENT_ID}-01`,
  ])
    await service.call(secret, '/categories', { headers: { traceparent } });
  const traces = service.events.answered.map(({ traceId }) => traceId);
  assert.deepEqual(traces, [TRACE_ID, TRACE_ID, undefined, undefined, undefined, undefined]);
});

test('a collector that does not answer loses traces, and requests and the stop still work', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_BSP_SCHEDULE_DELAY: '50' };
  await using service = await serveProcess([], { cwd: folder.path, env });
  const call = { headers: { authorization: `Bearer ${secret}`, connection: 'close' } };
  for (let i = 0; i < 20; i += 1) assert.equal((await fetch(`${service.url}/categories`, call)).status, 200);
  assert.equal(await service.end('SIGTERM'), 0);
});

/** Finds no package of OpenTelemetry, as where none is installed. */
const WITHOUT_OPENTELEMETRY = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve: (name, context, next) => next(name.replace(/^@opentelemetry\\/sdk/, 'not-installed'), context),
  });
`)}`;

test('without OpenTelemetry a start that is to send traces says what to install', async () => {
  using folder = temporaryFolder();
  const env = {
    PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    NODE_OPTIONS: `--import=${WITHOUT_OPENTELEMETRY}`,
  };
  const { code, stderr } = await runProcess(['serve'], { cwd: folder.path, env });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /OpenTelemetry is not installed; .*\n\n {2}npm install .*"@opentelemetry\/sdk-trace-base@\^2\.\d/,
  );
  assert.doesNotMatch(stderr, /node_modules|\n {4}at /);
});
