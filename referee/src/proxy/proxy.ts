import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NOTES_MAX, type Note, type Play } from '../client/note.ts';
import { Exchange, ExchangeContext } from './exchange.ts';
import { NO_UPGRADE } from './made-up-answers.ts';
import { type UpstreamOptions, upstreamAt } from './upstream.ts';

const LOOPBACK = '127.0.0.1';

export interface ProxyOptions extends UpstreamOptions {
  readonly script: string;
  /** The body of answers that steps make up, in place of ours. */
  readonly errorBody?: Buffer | undefined;
}

/** A proxy that plays a script. */
export type OpenProxy = Awaited<ReturnType<typeof openProxy>>;

/** Starts a reverse proxy that plays a script before an API, on loopback only. Throws `Mistake`. */
export async function openProxy(options: ProxyOptions) {
  const context = new ExchangeContext(await upstreamAt(options), options);
  const requests: Note[] = [];
  const underWay = new Set<Promise<void>>();
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    response.sendDate = false;
    const exchange = new Exchange(request, response, context);
    if (request.headers.upgrade !== undefined) return exchange.answer(NO_UPGRADE);
    const isPlayed = !isPreflight(request);
    // In the order of arrival; the note is complete when the exchange has ended.
    const place = isPlayed && requests.length < NOTES_MAX ? requests.push(exchange.note()) - 1 : undefined;
    const served = (isPlayed ? exchange.play() : exchange.pass()).finally(() => {
      if (place !== undefined) requests[place] = exchange.note();
      underWay.delete(served);
    });
    underWay.add(served);
  };
  const server = createServer({ joinDuplicateHeaders: true }, serve).on('checkContinue', serve);
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  context.origin = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await Promise.allSettled(underWay);
  };
  return {
    /** Its origin with the upstream's path. */
    url: context.origin + context.upstream.path,
    /** Closes every connection, and returns what was kept. No byte of a body is. */
    async end() {
      await close();
      return play(context, requests);
    },
    [Symbol.asyncDispose]: close,
  };
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function play(context: ExchangeContext, requests: readonly Note[]): Play {
  const { progress, upstream, remarks, unanswered, reason } = context;
  const { script, position } = progress;
  const kept = { script, reached: position.reached, requests, remarks: [...remarks] };
  if (unanswered === 0) return kept;
  const count = unanswered === 1 ? 'one request' : `${unanswered} requests`;
  return { ...kept, failure: `The upstream ${upstream.origin} did not answer ${count} under ${script} (${reason})` };
}
