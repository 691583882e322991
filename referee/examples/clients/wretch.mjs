import wretch from 'wretch';
import { retry } from 'wretch/middlewares';
import { calls, isSet, key, url, waits } from './calls.mjs';

let told;
const until = (answer) => {
  told = answer?.headers.get('retry-after');
  return Boolean(answer) && (answer.ok || (answer.status < 500 && answer.status !== 429));
};
const delayRamp = (delay, attempt) => waits(told, delay * 2 ** attempt);
const api = wretch(url).middlewares([
  retry({ maxAttempts: 3, retryOnNetworkError: true, ...(isSet && { until, delayRamp, delayTimer: 250 }) }),
]);
const headers = key();
const get = (path) => api.url(path).get().json();
const post = (path) => api.url(path).headers(headers).post({ name: 'Rex' }).json();

await calls({ get, post });
