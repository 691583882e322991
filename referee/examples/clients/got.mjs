import got from 'got';
import { calls, isSet, key, url } from './calls.mjs';

const api = got.extend({ prefixUrl: url, ...(isSet && { retry: { methods: ['GET', 'POST'] } }) });
const get = (path) => api.get(path.slice(1)).json(),
  headers = key();
const post = (path) => api.post(path.slice(1), { json: { name: 'Rex' }, headers }).json();

await calls({ get, post });
