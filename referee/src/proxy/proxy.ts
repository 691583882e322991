import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { NOTES_MAX, type Note, type Play } from '../client/note.ts';
import { CLOCK } from './clock.ts';
import { type ContextOptions, ProxyContext } from './context.ts';
import { type Caller, Exchange } from './exchange.ts';
import { Follower, type Scope } from './follower.ts';
import { NO_HTTP1, OTHER_PROTOCOL, type UpstreamOptions, upstreamAt } from './upstream.ts';

const LOOPBACK = '127.0.0.1';
const CALLERS_MAX = 1_000;
const ALONE = 'all';

export interface ProxyOptions extends UpstreamOptions, ContextOptions {
  readonly script: string;
  readonly scope?: Scope;
  /** Each caller, by its credentials, follows the script by itself. */
  readonly hasCallers?: boolean;
  readonly host?: string;
  readonly port?: number;
  /** The certificate and key, in PEM, by which clients are spoken to over TLS. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  /** Answers requests for a path of the proxy's own; returns false for other paths. */
  readonly serve?: (request: IncomingMessage, response: ServerResponse, callers: () => Callers) => boolean;
}

/** The plays of callers so far, by the digest of their credentials. */
export type Callers = ReadonlyMap<string, Play>;

/** Starts a reverse proxy that plays a script before an API, on loopback unless told otherwise. Throws `Mistake`. */
export async function openProxy(options: ProxyOptions) {
  const { script, scope = 'key', hasCallers = false, host = LOOPBACK, port = 0, tls } = options;
  const upstream = await upstreamAt(options);
  const following = { clock: CLOCK, scope };
  const callers = new Map<string, Caller>([[ALONE, { follower: new Follower(script, following), notes: [] }]]);
  if (hasCallers) callers.clear();
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  let context: ProxyContext;

  const callerOf = (credentials: string): Caller | undefined => {
    const id = hasCallers ? credentials : ALONE;
    if (!callers.has(id) && callers.size < CALLERS_MAX) {
      callers.set(id, { follower: new Follower(script, following), notes: [] });
    }
    return callers.get(id);
  };
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    response.sendDate = false;
    if (options.serve?.(request, response, playsOf)) return;
    const exchange = new Exchange(request, response, context);
    if (request.headers.upgrade !== undefined) return void exchange.answer(context.dialect.ownAnswer(NO_UPGRADE));
    const isPreflight = request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    const caller = isPreflight ? undefined : callerOf(exchange.credentials);
    // In the order of arrival; the note is complete when the exchange has ended.
    const { notes = [] } = caller ?? {};
    const place = caller && notes.length < NOTES_MAX ? notes.push(exchange.note()) - 1 : undefined;
    const keep = () => {
      if (place !== undefined) notes[place] = exchange.note();
    };
    // A client that leaves with an answer that it has not read resets the connection.
    context.connection(request.socket).onReset = keep;
    const served = (caller ? exchange.play(caller.follower) : exchange.pass()).finally(() => {
      keep();
      underWay.delete(served);
    });
    underWay.add(served);
  };
  const playsOf = () =>
    new Map([...callers].map(([id, { follower, notes }]) => [id, playOf(context, follower, notes)]));

  const listener = { joinDuplicateHeaders: true };
  const server = tls ? createTlsServer({ ...listener, ...tls }, serve) : createServer(listener, serve);
  server.on('checkContinue', serve).on(tls ? 'secureConnection' : 'connection', (socket) => {
    const connection = context.connection(socket);
    socket.on('error', () => connection.onReset?.());
    // After its last answer too, the end of the client is read.
    socket.destroySoon = () => socket.end().setTimeout(server.keepAliveTimeout);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { address, family, port: bound } = server.address() as AddressInfo;
  const named = family === 'IPv6' ? `[${address}]` : address;
  const origin = `${tls ? 'https' : 'http'}://${named.replace(/^(0\.0\.0\.0|\[::\])$/, LOOPBACK)}:${bound}`;
  context = new ProxyContext(upstream, { ...options, origin, closing: closing.signal });

  /** Ends when all that clients sent before was read: the own connection is the last of those that wait. */
  const catchUp = () => once(connect(bound, address).resume().end(), 'close').catch(() => {});
  const close = async () => {
    await catchUp();
    closing.abort();
    server.close();
    server.closeAllConnections();
    await Promise.allSettled(underWay);
  };
  return {
    /** Its origin with the upstream's path. */
    url: origin + upstream.path,
    /** Closes every connection, and returns the play of each caller, by its credentials. */
    async endAll(): Promise<Callers> {
      await close();
      return playsOf();
    },
    /** Ends the play so far, and begins another at the same address. Throws `Mistake` for a wrong script. */
    async next(script: string): Promise<Play> {
      await catchUp();
      const follower = new Follower(script, following);
      const play = playsOf().get(ALONE);
      callers.set(ALONE, { follower, notes: [] });
      if (!play) throw new Error('The proxy has callers');
      return play;
    },
    /** Closes every connection, and returns the play of all requests together. */
    async end(): Promise<Play> {
      const play = (await this.endAll()).get(ALONE);
      if (!play) throw new Error('The proxy has callers');
      return play;
    },
    [Symbol.asyncDispose]: close,
  };
}

const NO_UPGRADE = { status: 501, code: 'not_implemented', message: 'No connection is upgraded here' };

function playOf(context: ProxyContext, { script, reached, steps }: Follower, notes: readonly Note[]): Play {
  const { upstream, unanswered, reason = '', unmoved } = context;
  const answers = unmoved === 1 ? 'One answer' : `${unmoved} answers`;
  const remarks = unmoved === 0 ? [] : [`${answers} had an address of the upstream that could not be moved`];
  const play = { script, reached, steps: steps.length, requests: [...notes], remarks };
  if (unanswered === 0) return play;
  if (NO_HTTP1.test(reason)) {
    const failure = `The upstream ${upstream.origin} does not speak HTTP/1.1 (${reason}): ${OTHER_PROTOCOL}`;
    return { ...play, failure };
  }
  const count = unanswered === 1 ? 'one request' : `${unanswered} requests`;
  const advice = /CERT|ISSUER|SIGNATURE|CHAIN|CRL/.test(reason) ? '; --ca FILE names an authority of your own' : '';
  return { ...play, failure: `The upstream ${upstream.origin} did not answer ${count} (${reason})${advice}` };
}
