import assert from 'node:assert/strict';
import { openRaw, type RawAnswer, type RawConnection } from '../edge/raw.ts';

const TRIES_MAX = 1_000;

/** A connection that the system gave to one of the threads, and keeps with it. */
export interface ThreadConnection {
  /** Tells the threads apart. */
  readonly thread: string;
  /** Sends a request and reads its answer. */
  ask(method: string, path: string, body?: object): Promise<RawAnswer>;
}

/** Opens a connection to each of so many threads, for requests with a key. */
export async function connectToEach(
  url: string,
  secret: string,
  threads: number,
): Promise<AsyncDisposable & { readonly all: readonly ThreadConnection[] }> {
  await using stack = new AsyncDisposableStack();
  const found = new Map<string, ThreadConnection>();
  for (let tries = 0; found.size < threads; tries += 1) {
    assert.ok(tries < TRIES_MAX, `only ${found.size} threads answer`);
    const raw = stack.use(await openRaw(url));
    const ask = asker(raw, secret);
    const thread = threadOf(await ask('GET', '/rate_limit'));
    if (!found.has(thread)) found.set(thread, { thread, ask });
  }
  const opened = stack.move();
  return { all: [...found.values()], [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The thread that answered: the ids that it gives to requests begin alike. */
function threadOf({ headers }: RawAnswer): string {
  return headers.get('x-request-id')?.split('.')[0] ?? '';
}

function asker(raw: RawConnection, secret: string): ThreadConnection['ask'] {
  return async (method, path, body) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const length = body === undefined ? '' : `Content-Length: ${Buffer.byteLength(text)}\r\n`;
    await raw.send(
      `${method} /v1${path} HTTP/1.1\r\nHost: pets.example\r\nAuthorization: Bearer ${secret}\r\n${length}\r\n${text}`,
    );
    return raw.answer();
  };
}
