import needle from 'needle';
import { calls, url } from './calls.mjs';

const good = ({ statusCode, body }) => {
  if (statusCode >= 400) throw new Error(String(statusCode));
  return body;
};
const get = (path) => needle('get', url + path).then(good);
const post = (path) => needle('post', url + path, { name: 'Rex' }, { json: true }).then(good);

await calls({ get, post });
