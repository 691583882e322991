/** HTTP clients of the registries, each with a program of three calls: a list, a create, a list. */

export interface RegistryClient {
  readonly name: string;
  /** JavaScript unless told otherwise. */
  readonly language?: keyof typeof LANGUAGES;
  /** From npm, in these versions. */
  readonly packages?: readonly string[];
  /** Prints the version of a client that comes with the machine. */
  readonly version?: readonly string[];
  /** Defines `get` and `post`, which throw if a call fails; `isSet` is true with the setting. */
  readonly code: string;
  /** The smallest setting that makes it right, in Markdown; absent where none is needed. */
  readonly setting?: string;
}

/** How a program of a language is made whole, and run. */
export const LANGUAGES = {
  mjs: {
    run: ['node'],
    program: (code: string) => `const url = process.env.REFEREE_URL, isSet = process.env.SETTING === 'yes';
const key = () => isSet ? { 'Idempotency-Key': crypto.randomUUID() } : {};
const ok = async (answer) => { if (!answer.ok) throw new Error(String(answer.status)); return answer.json(); };
const waits = (value, usual) => !value ? usual : /^\\d+$/.test(value) ? value * 1000 : Math.max(0, Date.parse(value) - Date.now());
const patient = async (call) => {
  for (let attempt = 1; ; attempt += 1) {
    const failed = await call().then(() => undefined, (error) => error);
    if (!failed) return;
    const status = failed.status ?? failed.statusCode, headers = failed.headers ?? failed.response?.headers;
    if (attempt >= 4 || (status < 500 && status !== 429)) throw failed;
    await new Promise((resolve) => setTimeout(resolve, waits(headers?.['retry-after'], 250 * 2 ** attempt)));
  }
};
${code}
try { await get('/pets'); await post('/pets'); await get('/orders'); } catch (error) { console.error(error.message); process.exitCode = 1; }`,
  },
  py: {
    run: ['python3'],
    program: (code: string) => `import os, sys, uuid
url = os.environ['REFEREE_URL']
is_set = os.environ.get('SETTING') == 'yes'
key = {'Idempotency-Key': str(uuid.uuid4())} if is_set else {}
${code}
try:
    get('/pets')
    post('/pets')
    get('/orders')
except Exception as error:
    sys.exit(str(error))`,
  },
  sh: {
    run: ['sh'],
    program: (code: string) => `${code}
get /pets && post /pets && get /orders`,
  },
  pl: {
    run: ['perl'],
    program: (code: string) => `use strict; use warnings; my $url = $ENV{REFEREE_URL};
${code}
get('/pets'); post('/pets'); get('/orders');`,
  },
  java: {
    run: ['java'],
    program: (code: string) => `import java.net.URI; import java.net.http.*;
class Program {
  static final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
${code}
  public static void main(String[] args) throws Exception { get("/pets"); post("/pets"); get("/orders"); }
}`,
  },
  go: {
    run: ['go', 'run'],
    program: (code: string) => `package main
import ("fmt"; "io"; "os"; "strings"; "net/http")
var url, isSet = os.Getenv("REFEREE_URL"), os.Getenv("SETTING") == "yes"
var _ = isSet
${code}
func main() {
  for _, call := range []func() error{ func() error { return send("GET", "/pets") }, func() error { return send("POST", "/pets") }, func() error { return send("GET", "/orders") } } {
    if err := call(); err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(1) }
  }
}`,
  },
} as const;

const FETCH = `const send = (path, init) => fetch(url + path, init).then(ok);
const get = (path) => send(path), post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}' });`;
const PROMPT = 'an `Idempotency-Key` with each create';

export const CLIENTS: readonly RegistryClient[] = [
  { name: 'fetch of Node.js', version: ['node', '--version'], code: FETCH },
  {
    name: 'ky',
    packages: ['ky@1.14.3'],
    code: `import ky from 'ky';
const api = ky.create({ prefixUrl: url });
const get = (path) => api.get(path.slice(1)).json(), post = (path) => api.post(path.slice(1), { json: { name: 'Rex' } }).json();`,
  },
  {
    name: 'got',
    packages: ['got@14.6.6'],
    code: `import got from 'got';
const api = got.extend({ prefixUrl: url, ...(isSet && { retry: { methods: ['GET', 'POST'] } }) });
const get = (path) => api.get(path.slice(1)).json(), headers = key();
const post = (path) => api.post(path.slice(1), { json: { name: 'Rex' }, headers }).json();`,
    setting: "`retry: { methods: ['GET', 'POST'] }`, and an `Idempotency-Key` with each create",
  },
  {
    name: 'axios',
    packages: ['axios@1.21.1'],
    code: `import axios from 'axios';
const get = (path) => axios.get(url + path), post = (path) => axios.post(url + path, { name: 'Rex' });`,
  },
  {
    name: 'axios-retry',
    packages: ['axios@1.21.1', 'axios-retry@4.5.0'],
    code: `import axios from 'axios';
import axiosRetry from 'axios-retry';
const retryCondition = (error) => axiosRetry.isNetworkError(error) || error.response?.status === 429 || error.response?.status >= 500;
axiosRetry(axios, isSet ? { retryDelay: axiosRetry.exponentialDelay, retryCondition } : {});
const headers = key(), get = (path) => axios.get(url + path);
const post = (path) => axios.post(url + path, { name: 'Rex' }, { headers });`,
    setting:
      '`retryDelay: axiosRetry.exponentialDelay`, a `retryCondition` that takes network errors, 429 and 5xx, and an `Idempotency-Key` with each create',
  },
  {
    name: 'undici RetryAgent',
    packages: ['undici@7.30.2'],
    code: `import { Agent, RetryAgent, request } from 'undici';
const dispatcher = new RetryAgent(new Agent(), isSet ? { methods: ['GET', 'POST'] } : {}), headers = key();
const send = async (path, init) => {
  const { statusCode, body } = await request(url + path, { dispatcher, ...init });
  if (statusCode >= 400) throw new Error(String(statusCode));
  return body.json();
};
const get = (path) => send(path), post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });`,
    setting: "`methods: ['GET', 'POST']`, and an `Idempotency-Key` with each create",
  },
  {
    name: 'fetch-retry',
    packages: ['fetch-retry@6.0.0'],
    code: `import fetchRetry from 'fetch-retry';
const retryOn = (attempt, error, answer) => attempt < 3 && (error !== null || answer.status === 429 || answer.status >= 500);
const retryDelay = (attempt, error, answer) => waits(answer?.headers.get('retry-after'), 500 * 2 ** attempt);
const retrying = fetchRetry(fetch, isSet ? { retryOn, retryDelay } : {}), headers = key();
const send = (path, init) => retrying(url + path, init).then(ok);
const get = (path) => send(path), post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });`,
    setting:
      '`retryOn` and `retryDelay` that read the status and `Retry-After`, and an `Idempotency-Key` with each create',
  },
  {
    name: 'openapi-fetch',
    packages: ['openapi-fetch@0.17.0'],
    code: `import createClient from 'openapi-fetch';
const client = createClient({ baseUrl: url });
const good = ({ response, data }) => { if (!response.ok) throw new Error(String(response.status)); return data; };
const get = (path) => client.GET(path).then(good), post = (path) => client.POST(path, { body: { name: 'Rex' } }).then(good);`,
  },
  {
    name: 'openai',
    packages: ['openai@6.49.0'],
    code: `import OpenAI from 'openai';
const client = new OpenAI({ baseURL: url, apiKey: 'token' }), headers = key();
const get = (path) => path === '/pets' ? client.models.list() : client.files.list();
const post = () => client.embeddings.create({ model: 'm', input: 'Rex', encoding_format: 'float' }, { headers });`,
    setting: 'an `Idempotency-Key` in the `headers` of each create',
  },
  {
    name: 'stripe',
    packages: ['stripe@23.1.0'],
    code: `import Stripe from 'stripe';
const { protocol, hostname, port } = new URL(url);
const client = new Stripe('sk_test_x', { protocol: protocol.slice(0, -1), host: hostname, port, telemetry: false, ...(isSet && { maxNetworkRetries: 0 }) });
const idempotencyKey = crypto.randomUUID();
const trying = (call) => isSet ? patient(call) : call();
const get = (path) => trying(() => path === '/pets' ? client.customers.list() : client.products.list());
const post = () => trying(() => client.customers.create({ name: 'Rex' }, isSet ? { idempotencyKey } : {}));`,
    setting:
      '`maxNetworkRetries: 0`; the program waits for the `Retry-After` in `error.headers`, then repeats with the same `idempotencyKey`',
  },
  {
    name: 'superagent with retry(2)',
    packages: ['superagent@10.2.3'],
    code: `import superagent from 'superagent';
const headers = key();
const get = (path) => isSet ? patient(() => superagent.get(url + path)) : superagent.get(url + path).retry(2);
const post = (path) => isSet ? patient(() => superagent.post(url + path).set(headers).send({ name: 'Rex' })) : superagent.post(url + path).send({ name: 'Rex' }).retry(2);`,
    setting:
      'no `retry`; the program waits for `Retry-After` or a backoff, and repeats with the same `Idempotency-Key`',
  },
  {
    name: 'ofetch',
    packages: ['ofetch@1.5.1'],
    code: `import { ofetch } from 'ofetch';
const retryDelay = (context) => waits(context.response?.headers.get('retry-after'), 500);
const api = ofetch.create({ baseURL: url, ...(isSet && { retry: 3, retryDelay }) }), headers = key();
const get = (path) => api(path), post = (path) => api(path, { method: 'POST', body: { name: 'Rex' }, headers });`,
    setting: '`retry: 3`, a `retryDelay` that reads `Retry-After`, and an `Idempotency-Key` with each create',
  },
  {
    name: 'p-retry with retries: 3',
    packages: ['p-retry@7.1.1'],
    code: `import pRetry, { AbortError } from 'p-retry';
const headers = key();
const send = (path, init) => pRetry(async () => {
  const answer = await fetch(url + path, init);
  if (!isSet) return ok(answer);
  if (answer.status < 500 && answer.status >= 400 && answer.status !== 429) throw new AbortError(String(answer.status));
  if (!answer.ok) await new Promise((resolve) => setTimeout(resolve, waits(answer.headers.get('retry-after'), 0)));
  return ok(answer);
}, { retries: 3 });
const get = (path) => send(path), post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });`,
    setting: 'an `AbortError` for 4xx but 429, a wait for `Retry-After`, and an `Idempotency-Key` with each create',
  },
  {
    name: 'make-fetch-happen',
    packages: ['make-fetch-happen@15.0.3'],
    code: `import fetch from 'make-fetch-happen';
const send = (path, init) => fetch(url + path, init).then(ok);
const get = (path) => send(path), post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}' });`,
  },
  {
    name: 'urllib3',
    language: 'py',
    version: ['python3', '-c', 'import urllib3; print(urllib3.__version__)'],
    // As version 1 has it too, which Debian 12 has: without json=, and with half an answer as an error only if asked.
    code: `import json, urllib3
pool = urllib3.PoolManager(retries=urllib3.Retry(3, backoff_factor=0.2, allowed_methods=None, status_forcelist=[500, 503])) if is_set else urllib3.PoolManager()
def send(method, path, **more):
    answer = pool.request(method, url + path, enforce_content_length=True, **more)
    if answer.status >= 400: raise Exception(answer.status)
    return json.loads(answer.data)
def get(path): return send('GET', path)
def post(path): return send('POST', path, body=json.dumps({'name': 'Rex'}), headers={'Content-Type': 'application/json', **key})`,
    setting:
      '`Retry(3, backoff_factor=0.2, allowed_methods=None, status_forcelist=[500, 503])`, and an `Idempotency-Key` with each create',
  },
  {
    name: 'requests',
    language: 'py',
    version: ['python3', '-c', 'import requests; print(requests.__version__)'],
    code: `import requests
def get(path): requests.get(url + path, timeout=30).raise_for_status()
def post(path): requests.post(url + path, json={'name': 'Rex'}, timeout=30).raise_for_status()`,
  },
  {
    name: 'requests with Retry(3)',
    language: 'py',
    version: ['python3', '-c', 'import requests; print(requests.__version__)'],
    code: `import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry
session = requests.Session()
more = dict(backoff_factor=0.2, allowed_methods=None, status_forcelist=[429, 500, 503]) if is_set else dict(status_forcelist=[429, 500, 503], allowed_methods=None)
session.mount('http://', HTTPAdapter(max_retries=Retry(3, **more)))
def get(path): session.get(url + path, timeout=30).raise_for_status()
def post(path): session.post(url + path, json={'name': 'Rex'}, headers=key, timeout=30).raise_for_status()`,
    setting: '`backoff_factor=0.2`, and an `Idempotency-Key` with each create',
  },
  {
    name: 'urllib.request of Python',
    language: 'py',
    version: ['python3', '--version'],
    code: `from urllib.request import Request, urlopen
def get(path): urlopen(url + path, timeout=30).read()
def post(path): urlopen(Request(url + path, b'{}', {'Content-Type': 'application/json'}), timeout=30).read()`,
  },
  {
    name: 'curl',
    language: 'sh',
    version: ['curl', '--version'],
    code: `if [ "$SETTING" = yes ]; then
  get() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" > /dev/null; }
  post() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" --json '{"name":"Rex"}' -H "Idempotency-Key: $$" > /dev/null; }
else
  get() { curl -sS "$REFEREE_URL$1" > /dev/null; }
  post() { curl -sS "$REFEREE_URL$1" --json '{"name":"Rex"}' > /dev/null; }
fi`,
    setting: "`--fail --retry 3 --retry-all-errors`, and `-H 'Idempotency-Key: …'` with each create",
  },
  {
    name: 'curl --retry 3 --retry-all-errors --fail',
    language: 'sh',
    version: ['curl', '--version'],
    code: `[ "$SETTING" = yes ] && own="Idempotency-Key: $$" || own="X-None: none"
get() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" > /dev/null; }
post() { curl -sS --fail --retry 3 --retry-all-errors "$REFEREE_URL$1" --json '{"name":"Rex"}' -H "$own" > /dev/null; }`,
    setting: PROMPT,
  },
  {
    name: 'wget',
    language: 'sh',
    version: ['wget', '--version'],
    code: `[ "$SETTING" = yes ] && more="--tries=1" || more="--tries=4"
get() { wget -q $more -O /dev/null "$REFEREE_URL$1"; }
post() { wget -q $more -O /dev/null --post-data '{"name":"Rex"}' "$REFEREE_URL$1"; }`,
    setting: '`--tries=1`',
  },
  {
    name: 'HttpClient of Java',
    language: 'java',
    version: ['javac', '--version'],
    code: `  static void send(HttpRequest request) throws Exception {
    if (client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode() >= 400) System.exit(1);
  }
  static void get(String path) throws Exception { send(HttpRequest.newBuilder(URI.create(System.getenv("REFEREE_URL") + path)).build()); }
  static void post(String path) throws Exception {
    send(HttpRequest.newBuilder(URI.create(System.getenv("REFEREE_URL") + path)).POST(HttpRequest.BodyPublishers.ofString("{}")).build());
  }`,
  },
  {
    name: 'HTTP::Tiny of Perl',
    language: 'pl',
    version: ['perl', '-MHTTP::Tiny', '-e', 'print "HTTP::Tiny ", HTTP::Tiny->VERSION'],
    code: `use HTTP::Tiny; my $http = HTTP::Tiny->new;
sub send_it { my $answer = $http->request(@_); die "$answer->{status}\\n" unless $answer->{success}; }
sub get { send_it('GET', $url . shift) } sub post { send_it('POST', $url . shift, { content => '{}' }) }`,
  },
  {
    name: 'net/http of Go',
    language: 'go',
    version: ['go', 'version'],
    code: `func send(method, path string) error {
  var body io.Reader
  if method == "POST" { body = strings.NewReader("{}") }
  request, _ := http.NewRequest(method, url + path, body)
  answer, err := http.DefaultClient.Do(request)
  if err != nil { return err }
  defer answer.Body.Close()
  if _, err := io.ReadAll(answer.Body); err != nil { return err }
  if answer.StatusCode >= 400 { return fmt.Errorf("%d", answer.StatusCode) }
  return nil
}`,
  },
];
