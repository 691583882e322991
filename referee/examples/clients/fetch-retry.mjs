import fetchRetry from 'fetch-retry';
import { calls, isSet, key, ok, url, waits } from './calls.mjs';

const retryOn = (attempt, error, answer) =>
  attempt < 3 && (error !== null || answer.status === 429 || answer.status >= 500);
const retryDelay = (attempt, _error, answer) => waits(answer?.headers.get('retry-after'), 500 * 2 ** attempt);
const retrying = fetchRetry(fetch, isSet ? { retryOn, retryDelay } : {}),
  headers = key();
const send = (path, init) => retrying(url + path, init).then(ok);
const get = (path) => send(path),
  post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });

await calls({ get, post });
