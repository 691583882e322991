import { ofetch } from 'ofetch';
import { calls, isSet, key, url, waits } from './calls.mjs';

const retryDelay = (context) => waits(context.response?.headers.get('retry-after'), 500);
const api = ofetch.create({ baseURL: url, ...(isSet && { retry: 3, retryDelay, retryStatusCodes: [429, 500, 503] }) }),
  headers = key();
const get = (path) => api(path),
  post = (path) => api(path, { method: 'POST', body: { name: 'Rex' }, headers });

await calls({ get, post });
