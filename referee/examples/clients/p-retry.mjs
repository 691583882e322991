import pRetry, { AbortError } from 'p-retry';
import { calls, isSet, key, ok, url, waits } from './calls.mjs';

const headers = key();
const send = (path, init) =>
  pRetry(
    async () => {
      const answer = await fetch(url + path, init);
      if (!isSet) return ok(answer);
      if (answer.status < 500 && answer.status >= 400 && answer.status !== 429)
        throw new AbortError(String(answer.status));
      if (!answer.ok) await new Promise((resolve) => setTimeout(resolve, waits(answer.headers.get('retry-after'), 0)));
      return ok(answer);
    },
    { retries: 3 },
  );
const get = (path) => send(path),
  post = (path) => send(path, { method: 'POST', body: '{"name":"Rex"}', headers });

await calls({ get, post });
