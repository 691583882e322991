/** The HTTP clients that are judged in docs/rehearsal.md, with a program for each; `make.ts` runs them. */

export interface JudgedClient {
  readonly name: string;
  /** From the registry, in these versions. */
  readonly packages: Readonly<Record<string, string>>;
  /** Prints the version of a client that is not from the registry. */
  readonly version?: readonly string[];
  readonly language: 'mjs' | 'sh' | 'py';
  /** Three calls, one after the other, with the client's defaults: a list, a create, a list. */
  readonly program: string;
  /** The smallest setting that makes it right, where it is not. */
  readonly setting?: { readonly text: string; readonly program: string };
}

const CALLS = `for (const call of calls) await call().catch((error) => console.error(error.message));`;
const URL = 'process.env.PET_CATALOG_URL';
const KEYED = `headers: { 'Idempotency-Key': crypto.randomUUID() }`;
const FETCH_RETRY = `{
  retries: 3,
  retryOn: (attempt, error, response) => attempt < 3 && (error !== null || response.status === 429 || response.status >= 500),
  retryDelay(attempt, error, response) {
    const value = response?.headers.get('retry-after');
    if (!value) return 500 * 2 ** attempt;
    return /^\\d+$/.test(value) ? value * 1000 : Math.max(0, Date.parse(value) - Date.now());
  },
}`;

function ky(options: string, create = ''): string {
  return `import ky from 'ky';
const api = ky.create({ prefixUrl: ${URL}${options} });
const calls = [
  () => api.get('pets').json(),
  () => api.post('pets', { json: { name: 'Rex' }, ${create} }).json(),
  () => api.get('orders').json(),
];
${CALLS}`;
}

function got(options: string, create = ''): string {
  return `import got from 'got';
const api = got.extend({ prefixUrl: ${URL}${options} });
const calls = [
  () => api.get('pets').json(),
  () => api.post('pets', { json: { name: 'Rex' }, ${create} }).json(),
  () => api.get('orders').json(),
];
${CALLS}`;
}

function axios(options: string, create = ''): string {
  return `import axios from 'axios';
import axiosRetry from 'axios-retry';
const api = axios.create({ baseURL: ${URL} });
axiosRetry(api, ${options});
const calls = [
  () => api.get('/pets'),
  () => api.post('/pets', { name: 'Rex' }, { ${create} }),
  () => api.get('/orders'),
];
${CALLS}`;
}

function undici(options: string, create = ''): string {
  return `import { Agent, RetryAgent, request } from 'undici';
const dispatcher = new RetryAgent(new Agent()${options});
const send = async (path, init) => (await request(${URL} + path, { dispatcher, ...init })).body.json();
const calls = [
  () => send('/pets'),
  () => send('/pets', { method: 'POST', body: '{"name":"Rex"}', ${create} }),
  () => send('/orders'),
];
${CALLS}`;
}

function nodeFetch(options: string, create = ''): string {
  return `import fetch from 'node-fetch';
import fetchRetry from 'fetch-retry';
const retrying = fetchRetry(fetch${options});
const send = async (path, init) => (await retrying(${URL} + path, init)).json();
const calls = [
  () => send('/pets'),
  () => send('/pets', { method: 'POST', body: '{"name":"Rex"}', ${create} }),
  () => send('/orders'),
];
${CALLS}`;
}

function openapiFetch(imports: string, options: string, create = ''): string {
  return `import createClient from 'openapi-fetch';
${imports}
const client = createClient({ baseUrl: ${URL}${options} });
client.use({ onRequest: ({ request }) => request.headers.set('authorization', 'Bearer token') });
const calls = [
  () => client.GET('/pets'),
  () => client.POST('/pets', { body: { name: 'Rex' }, ${create} }),
  () => client.GET('/orders'),
];
${CALLS}`;
}

function openai(create = ''): string {
  return `import OpenAI from 'openai';
const client = new OpenAI({ baseURL: ${URL}, apiKey: 'token' });
const calls = [
  () => client.models.list(),
  () => client.embeddings.create({ model: 'm', input: 'Rex', encoding_format: 'float' }, { ${create} }),
  () => client.files.list(),
];
${CALLS}`;
}

function stripe(calls: string, options = ''): string {
  return `import Stripe from 'stripe';
const { protocol, hostname, port } = new URL(${URL});
const client = new Stripe('sk_test_x', { protocol: protocol.slice(0, -1), host: hostname, port, telemetry: false${options} });
const calls = [
  () => client.customers.list(),
  () => client.customers.create({ name: 'Rex' }),
  () => client.products.list(),
];
${calls}`;
}

const STRIPE_WAITS = `const idempotencyKey = crypto.randomUUID();
calls[1] = () => client.customers.create({ name: 'Rex' }, { idempotencyKey });
for (const call of calls) {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const error = await call().then(() => undefined, (failed) => failed);
    const value = error?.headers?.['retry-after'];
    if (!value) break;
    const ms = /^\\d+$/.test(value) ? value * 1000 : Math.max(0, Date.parse(value) - Date.now());
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}`;

function curl(options: string, create = ''): string {
  return `curl -sS ${options} "$PET_CATALOG_URL/pets" > /dev/null
curl -sS ${options} "$PET_CATALOG_URL/pets" --json '{"name":"Rex"}' ${create} > /dev/null
curl -sS ${options} "$PET_CATALOG_URL/orders" > /dev/null
true`;
}

function urllib3(options: string, create = ''): string {
  return `import os, urllib3, uuid
pool = urllib3.PoolManager(${options})
url = os.environ['PET_CATALOG_URL']
for method, path, more in [('GET', '/pets', {}), ('POST', '/pets', {'json': {'name': 'Rex'}${create}}), ('GET', '/orders', {})]:
    try:
        pool.request(method, url + path, **more).json()
    except Exception as error:
        print(error)
`;
}

export const CLIENTS: readonly JudgedClient[] = [
  {
    name: 'ky',
    packages: { ky: '1.14.3' },
    language: 'mjs',
    program: ky(''),
    setting: {
      text: "`retry: { methods: ['get', 'post'] }`, and an `Idempotency-Key` with each create",
      program: ky(`, retry: { methods: ['get', 'post'] }`, KEYED),
    },
  },
  {
    name: 'got',
    packages: { got: '14.6.6' },
    language: 'mjs',
    program: got(''),
    setting: {
      text: "`retry: { methods: ['GET', 'POST'] }`, and an `Idempotency-Key` with each create",
      program: got(`, retry: { methods: ['GET', 'POST'] }`, KEYED),
    },
  },
  {
    name: 'axios, axios-retry',
    packages: { axios: '1.21.1', 'axios-retry': '4.5.0' },
    language: 'mjs',
    program: axios('{}'),
    setting: {
      text: '`retryDelay: axiosRetry.exponentialDelay`, a `retryCondition` that takes network errors, 429 and 5xx, and an `Idempotency-Key` with each create',
      program: axios(
        `{
  retryDelay: axiosRetry.exponentialDelay,
  retryCondition: (error) => axiosRetry.isNetworkError(error) || error.response?.status === 429 || error.response?.status >= 500,
}`,
        KEYED,
      ),
    },
  },
  {
    name: 'undici RetryAgent',
    packages: { undici: '7.30.2' },
    language: 'mjs',
    program: undici(''),
    setting: {
      text: "`methods: ['GET', 'POST']`, and an `Idempotency-Key` with each create",
      program: undici(`, { methods: ['GET', 'POST'] }`, KEYED),
    },
  },
  {
    name: 'node-fetch, fetch-retry',
    packages: { 'node-fetch': '3.3.2', 'fetch-retry': '6.0.0' },
    language: 'mjs',
    program: nodeFetch(''),
    setting: {
      text: '`retryOn` and `retryDelay` that read the status and `Retry-After`, and an `Idempotency-Key` with each create',
      program: nodeFetch(`, ${FETCH_RETRY}`, KEYED),
    },
  },
  {
    name: 'openapi-fetch',
    packages: { 'openapi-fetch': '0.17.0', 'fetch-retry': '6.0.0' },
    language: 'mjs',
    program: openapiFetch('', ''),
    setting: {
      text: '`fetch: fetchRetry(fetch, …)` as for fetch-retry, and an `Idempotency-Key` with each create',
      program: openapiFetch(
        `import fetchRetry from 'fetch-retry';`,
        `, fetch: fetchRetry(fetch, ${FETCH_RETRY})`,
        KEYED,
      ),
    },
  },
  {
    name: 'openai',
    packages: { openai: '6.49.0' },
    language: 'mjs',
    program: openai(),
    setting: { text: 'an `Idempotency-Key` in the `headers` of each create', program: openai(KEYED) },
  },
  {
    name: 'stripe',
    packages: { stripe: '23.1.0' },
    language: 'mjs',
    program: stripe(CALLS),
    setting: {
      text: '`maxNetworkRetries: 0`; the program waits for the `Retry-After` in `error.headers`, then repeats with the same `idempotencyKey`',
      program: stripe(STRIPE_WAITS, ', maxNetworkRetries: 0'),
    },
  },
  {
    name: 'curl',
    packages: {},
    version: ['curl', '--version'],
    language: 'sh',
    program: curl(''),
    setting: {
      text: "`--retry 3 --retry-all-errors`, and `-H 'Idempotency-Key: …'` with each create",
      program: curl('--fail --retry 3 --retry-all-errors', '-H "Idempotency-Key: $$"'),
    },
  },
  {
    name: 'urllib3',
    packages: {},
    version: ['python3', '-c', 'import urllib3; print("urllib3", urllib3.__version__)'],
    language: 'py',
    program: urllib3(''),
    setting: {
      text: '`Retry(3, backoff_factor=0.2, allowed_methods=None, status_forcelist=[500, 503])`, and an `Idempotency-Key` with each create',
      program: urllib3(
        'retries=urllib3.Retry(3, backoff_factor=0.2, allowed_methods=None, status_forcelist=[500, 503])',
        `, 'headers': {'Idempotency-Key': str(uuid.uuid4())}`,
      ),
    },
  },
];
