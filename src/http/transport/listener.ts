import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { type Context, Exchange, requestIds, type Serve } from './exchange.ts';

// Importing it as a module would load all that it exports, and with that a whole HTTP client that nobody uses here.
const { createServer } = process.getBuiltinModule('node:http');

const HEAD_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 12_000;
/** Node takes any expectation for this one that merely holds the word. */
const CONTINUE_ONLY = /^100-continue$/i;
/** While stopping, idle connections live on for this long: a request may be on its way. */
const IDLE_ON_STOP_MS = 500;
/** Under a load that never pauses the port is closed all the same. */
const TURNS_MAX = 1_000;
const STOP_CHECK_INTERVAL_MS = 50;

/** How long a connection may take for what. */
export interface Timeouts {
  /** From a request's first byte, or the connection's beginning, to the end of its head. */
  readonly headMs: number;
  /** From a request's first byte to the end of its body. */
  readonly requestMs: number;
  /** How often the two above are looked at. */
  readonly checkIntervalMs: number;
  /** From an answer to the next request. */
  readonly keepAliveMs: number;
}

/**
 * Holds 10 s for a head and 30 s for a request. Idle connections live longer than the minute for which common proxies
 * keep them, so that they are not closed under them.
 */
const TIMEOUTS: Timeouts = { headMs: 9_000, requestMs: 29_000, checkIntervalMs: 500, keepAliveMs: 65_000 };

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly timeouts?: Timeouts;
  /** Speaks TLS with it (1.2 and later). */
  readonly certificate?: Certificate;
}

/** A certificate with its chain, and its private key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An open port that turns every request, however malformed, into exactly one answer. */
export interface Listener {
  readonly port: number;
  /** Connections from now on see this certificate. Throws if it is none, and nothing is changed. */
  replaceCertificate(certificate: Certificate): void;
  /** Takes no more connections, lets requests in flight finish, and cuts off what is left after the grace. */
  stop(graceMs: number): Promise<void>;
}

/** Opens a port. Throws what the operating system says when it cannot. */
export async function openListener(
  serve: Serve,
  context: Context,
  { host, port, timeouts = TIMEOUTS, certificate }: ListenOptions,
): Promise<Listener> {
  let isStopping = false;
  const server = createHttpServer(
    { ...context, serve, isStopping: () => isStopping, newRequestId: requestIds() },
    { timeouts, certificate },
  );
  // Before its TLS handshake is done a socket is none of the HTTP server's, which would not cut it off.
  const sockets = new Set<Socket>();
  if (certificate) {
    server.on('connection', (socket: Socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    replaceCertificate: (replacement) => {
      if (server instanceof TlsServer) server.setSecureContext(replacement);
    },
    stop: async (graceMs) => {
      const deadline = AbortSignal.timeout(graceMs);
      await untilNoneWaits(server);
      // Not the HTTP server's own close, which ends idle connections at once.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      // Only now are connections told to end: who is told so comes back with another, and must find the port closed.
      isStopping = true;
      await closeConnections(server, { closed, deadline, sockets });
    },
  };
}

function createHttpServer(
  options: ConnectionOptions,
  { timeouts, certificate }: { timeouts: Timeouts; certificate: Certificate | undefined },
): Server {
  const connections = new WeakMap<Duplex, Connection>();
  const settings = {
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: timeouts.headMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkIntervalMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    // A missing or second Host, or a second Authorization, is answered by the gates instead of by Node.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
    shouldUpgradeCallback: () => false,
  };
  const server = certificate
    ? createTlsServer({ ...settings, ...certificate, handshakeTimeout: timeouts.headMs })
    : createServer(settings);
  server.maxConnections = CONNECTIONS_MAX;
  // Whoever half-closes after a request still reads its answer. Node's types do not know the property.
  Object.assign(server, { httpAllowHalfOpen: true });

  const begin = (request: IncomingMessage, response: ServerResponse, prepare?: (exchange: Exchange) => void) => {
    const exchange = new Exchange(request, response, options);
    // The protocol is not switched, and Node's parser loses what follows such a request in the same packet.
    if (asksForUpgrade(request)) exchange.isLast = true;
    prepare?.(exchange);
    connections.get(request.socket)?.begin(exchange);
  };
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) =>
    connections.set(socket, new Connection(socket, options)),
  );
  server.on('request', (request, response) => begin(request, response));
  server.on('checkContinue', (request, response) => begin(request, response, expect100));
  server.on('checkExpectation', (request, response) => begin(request, response, expect100));
  server.on('connect', (_request, socket) => {
    connections.get(socket)?.fail(new CatalogError('not_implemented', 'CONNECT is not served here'));
  });
  server.on('clientError', (error: ParserError, socket) => {
    if (isUnreadable(error) && socket.writable) connections.get(socket)?.fail(unreadable(error));
    else socket.destroy();
  });
  return server;
}

async function closeConnections(
  server: Server,
  { closed, deadline, sockets }: { closed: Promise<void>; deadline: AbortSignal; sockets: ReadonlySet<Socket> },
): Promise<void> {
  let isClosed = false;
  closed.then(() => {
    isClosed = true;
  });
  await Promise.race([closed, wait(IDLE_ON_STOP_MS)]);
  while (!isClosed) {
    if (deadline.aborted) {
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
    } else {
      server.closeIdleConnections();
    }
    await Promise.race([closed, wait(STOP_CHECK_INTERVAL_MS)]);
  }
}

/**
 * Closing the port resets the connections that the system has made and nobody has accepted yet, with the requests that
 * they may carry: it is closed right after a turn of the event loop that brought none.
 */
async function untilNoneWaits(server: Server): Promise<void> {
  let isQuiet = false;
  const onConnection = () => {
    isQuiet = false;
  };
  server.on('connection', onConnection);
  // The turn that is under way may have looked for connections already.
  await nextTurn();
  for (let turn = 0; turn < TURNS_MAX && !isQuiet; turn += 1) {
    isQuiet = true;
    await nextTurn();
  }
  server.off('connection', onConnection);
}

function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

function expect100(exchange: Exchange): void {
  if (CONTINUE_ONLY.test(exchange.request.headers.expect ?? '')) exchange.awaitsContinue = true;
  else exchange.fail(new CatalogError('expectation_failed', 'The only expectation that is met is 100-continue'));
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Whether the parser or its clock complains; anything else is the system's word that the peer is gone. */
function isUnreadable({ code }: ParserError): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' || code?.startsWith('HPE_') === true;
}

/** What the parser's (llhttp's) complaint is to the caller. */
function unreadable(error: ParserError): CatalogError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new CatalogError(
        'headers_too_large',
        `The request line and headers exceed ${HEAD_BYTES_MAX} bytes or 1,000 headers; send less`,
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new CatalogError('request_timeout', 'The request did not arrive in time; send it without pausing');
    case 'HPE_INVALID_VERSION':
      // The version itself was good: a bare line feed, say.
      if (error.reason === 'Expected CRLF after version') break;
      return unsupportedVersion();
    case 'HPE_PAUSED_H2_UPGRADE':
      return unsupportedVersion();
    case 'HPE_INVALID_METHOD':
      if (startsWithToken(error)) return unknownMethod();
      break;
    case 'HPE_INVALID_CONSTANT':
      // Methods that the parser knows from other protocols only.
      if (error.reason === 'Invalid method for HTTP/x.x request') return unknownMethod();
      break;
  }
  return new CatalogError('malformed_request', 'The request is not valid HTTP');
}

function unsupportedVersion(): CatalogError {
  return new CatalogError('http_version_not_supported', 'Only HTTP/1.1 and HTTP/1.0 are served');
}

function unknownMethod(): CatalogError {
  return new CatalogError('not_implemented', 'The method is unknown here');
}

/** Whether the line that the parser stopped in begins like a request: a method of any name, and a space. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (!rawPacket) return false;
  const lineStart = bytesParsed > 0 ? rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1 : 0;
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ /.test(rawPacket.toString('latin1', lineStart, lineStart + 256));
}
