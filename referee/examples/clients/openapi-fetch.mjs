import createClient from 'openapi-fetch';
import { calls, url } from './calls.mjs';

const client = createClient({ baseUrl: url });
const good = ({ response, data }) => {
  if (!response.ok) throw new Error(String(response.status));
  return data;
};
const get = (path) => client.GET(path).then(good),
  post = (path) => client.POST(path, { body: { name: 'Rex' } }).then(good);

await calls({ get, post });
