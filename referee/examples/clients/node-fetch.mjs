import fetch from 'node-fetch';
import { calls, ok, url } from './calls.mjs';

const send = (path, init) => fetch(url + path, init).then(ok);
const get = (path) => send(path);
const post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}' });

await calls({ get, post });
