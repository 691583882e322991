import { Agent, RetryAgent, request } from 'undici';
import { calls, isSet, key, url } from './calls.mjs';

const dispatcher = new RetryAgent(new Agent(), isSet ? { methods: ['GET', 'POST'] } : {}),
  headers = key();
const send = async (path, init) => {
  const { statusCode, body } = await request(url + path, { dispatcher, ...init });
  if (statusCode >= 400) throw new Error(String(statusCode));
  return body.json();
};
const get = (path) => send(path),
  post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });

await calls({ get, post });
