import ky from 'ky';
import { calls, url } from './calls.mjs';

const api = ky.create({ prefixUrl: url });
const get = (path) => api.get(path.slice(1)).json(),
  post = (path) => api.post(path.slice(1), { json: { name: 'Rex' } }).json();

await calls({ get, post });
