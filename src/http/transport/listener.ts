import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { Turns } from './event-loop-turns.ts';
import { type Context, Exchange, requestIds, type Serve } from './exchange.ts';
import { Ledger } from './ledger.ts';

// An import of node:http would evaluate all its exports, and so load an HTTP client that is not used here.
const { createServer } = process.getBuiltinModule('node:http');

const HEAD_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 12_000;
/** Parts in which large bodies are sent. With TLS each is a copy, encrypted. */
const PART_BYTES = 1024 * 1024;
const TLS_PART_BYTES = 64 * 1024;
/** TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325, section 4.2). */
const TLS_SETTINGS = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE+AESGCM',
    'ECDHE+CHACHA20',
  ].join(':'),
} as const;
/** Not to be sent without TLS (RFC 6797, section 7.2). */
const TLS_HEADERS = ['Strict-Transport-Security', `max-age=${365 * DAY_SECONDS}`] as const;
/** Exact, because Node accepts any expectation that contains the word. */
const CONTINUE_ONLY = /^100-continue$/i;
const TIMED_OUT = 'ERR_HTTP_REQUEST_TIMEOUT';
/** Idle connections stay open for this long while stopping: a request may be in transit. */
const IDLE_ON_STOP_MS = 500;
/** Upper bound for the wait before the port closes, for a load that never pauses. */
const TURNS_MAX = 1_000;
const STOP_CHECK_INTERVAL_MS = 50;

export interface Timeouts {
  /** From the first byte of a request, or from the connect, to the end of the head. */
  readonly headMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestMs: number;
  /** The interval at which the two above are checked. */
  readonly checkIntervalMs: number;
  /** From an answer to the next request. */
  readonly keepAliveMs: number;
}

/**
 * With the check interval, 10 s for a head and 30 s for a request. Keep-alive outlasts the 60 s of common proxies, so
 * that the proxy closes first and never writes into a closed connection.
 */
const TIMEOUTS: Timeouts = { headMs: 9_000, requestMs: 29_000, checkIntervalMs: 500, keepAliveMs: 65_000 };

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly timeouts?: Timeouts;
  /** Enables TLS, 1.2 or later. */
  readonly certificate?: Certificate;
}

/** A certificate chain and its private key, in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An open port that answers every request exactly once, also malformed ones. */
export interface Listener {
  readonly port: number;
  /** Uses this certificate for new connections. Throws if it is invalid, and keeps the old one. */
  replaceCertificate(certificate: Certificate): void;
  /** Stops accepting connections, lets requests in flight finish, and destroys the rest after the grace. */
  stop(graceMs: number): Promise<void>;
}

/** Opens a port. Rejects with the system error if that fails. */
export async function openListener(
  serve: Serve,
  context: Context & { readonly ledger?: Ledger },
  { host, port, timeouts = TIMEOUTS, certificate }: ListenOptions,
): Promise<Listener> {
  let isStopping = false;
  const server = createHttpServer(
    {
      ledger: new Ledger(),
      ...context,
      serve,
      isStopping: () => isStopping,
      newRequestId: requestIds(),
      turns: new Turns(),
      headers: certificate ? TLS_HEADERS : [],
      partBytes: certificate ? TLS_PART_BYTES : PART_BYTES,
    },
    { timeouts, certificate },
  );
  // During the TLS handshake the HTTP server does not know the socket, so closeAllConnections would miss it.
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
      if (certificate) (server as TlsServer).setSecureContext({ ...TLS_SETTINGS, ...replacement });
    },
    stop: async (graceMs) => {
      const deadline = AbortSignal.timeout(graceMs);
      await drainBacklog(server);
      // The HTTP server's own close would end idle connections at once.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      // Only after the port is closed: a client told to close reconnects at once and must not get through.
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
    // The gates, not Node, answer a missing or second Host and a second Authorization.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
    // A request without a body has none of a stream's events, which take time.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: () => false,
  };
  // Loaded only for a certificate: TLS takes a megabyte.
  const server = certificate
    ? process
        .getBuiltinModule('node:https')
        .createServer({ ...settings, ...TLS_SETTINGS, ...certificate, handshakeTimeout: timeouts.headMs })
    : createServer(settings);
  server.maxConnections = CONNECTIONS_MAX;
  // A client that half-closes after its request still gets the answer. Node's types lack the property.
  Object.assign(server, { httpAllowHalfOpen: true });

  const begin = (request: IncomingMessage, response: ServerResponse, prepare?: (exchange: Exchange) => void) => {
    const exchange = new Exchange(request, response, options);
    // Upgrades are not supported, and Node's parser loses what follows such a request in the same packet.
    const { upgrade, connection = '' } = request.headers;
    if (upgrade !== undefined && /\bupgrade\b/i.test(connection)) exchange.isLast = true;
    prepare?.(exchange);
    connections.get(request.socket)?.begin(exchange);
  };
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
    // With TLS only from here on: a handshake that the client ends is over.
    socket.allowHalfOpen = true;
    connections.set(socket, new Connection(socket, options));
  });
  server.on('request', (request, response) => begin(request, response));
  server.on('checkContinue', (request, response) => begin(request, response, expect100));
  server.on('checkExpectation', (request, response) => begin(request, response, expect100));
  server.on('connect', (_request, socket) => {
    connections.get(socket)?.fail(new CatalogError('not_implemented', 'CONNECT is not supported'));
  });
  server.on('clientError', (error: ParserError, socket) => {
    const connection = connections.get(socket);
    const isLate = error.code === TIMED_OUT;
    // Any error but the parser's or a timeout means that the peer is gone.
    if (!socket.writable || !(isLate || error.code?.startsWith('HPE_'))) socket.destroy();
    else if (isLate) connection?.timeOut(unreadable(error));
    else connection?.fail(unreadable(error));
  });
  return server;
}

async function closeConnections(
  server: Server,
  { closed, deadline, sockets }: { closed: Promise<void>; deadline: AbortSignal; sockets: ReadonlySet<Socket> },
): Promise<void> {
  for (
    let waitMs = IDLE_ON_STOP_MS;
    await Promise.race([closed, wait(waitMs, true)]);
    waitMs = STOP_CHECK_INTERVAL_MS
  ) {
    if (deadline.aborted) {
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
    } else {
      server.closeIdleConnections();
    }
  }
}

/**
 * Accepts the connections in the backlog, which closing the port would reset along with their requests. Resolves after
 * a turn of the event loop without a new connection.
 */
async function drainBacklog(server: Server): Promise<void> {
  let isQuiet = false;
  server.on('connection', () => {
    isQuiet = false;
  });
  // The current turn may have polled for connections already.
  await nextTurn();
  for (let turn = 0; turn < TURNS_MAX && !isQuiet; turn += 1) {
    isQuiet = true;
    await nextTurn();
  }
}

function expect100(exchange: Exchange): void {
  if (CONTINUE_ONLY.test(exchange.request.headers.expect ?? '')) exchange.awaitsContinue = true;
  else exchange.fail(new CatalogError('expectation_failed', 'The only supported expectation is 100-continue'));
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Maps an error of the parser (llhttp) to one for the client. */
function unreadable(error: ParserError): CatalogError {
  const { code, reason } = error;
  if (code === TIMED_OUT) {
    return new CatalogError('request_timeout', 'The request did not arrive in time; send it without pausing');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new CatalogError(
      'headers_too_large',
      `The request line and headers exceed ${HEAD_BYTES_MAX} bytes or 1,000 headers; send less`,
    );
  }
  // With that reason the version itself was valid, but for example a bare line feed followed.
  const isOtherVersion = code === 'HPE_INVALID_VERSION' && reason !== 'Expected CRLF after version';
  if (isOtherVersion || code === 'HPE_PAUSED_H2_UPGRADE') {
    return new CatalogError('http_version_not_supported', 'Only HTTP/1.1 and HTTP/1.0 are supported');
  }
  // Methods of other protocols that the parser knows.
  const isForeign = code === 'HPE_INVALID_CONSTANT' && reason === 'Invalid method for HTTP/x.x request';
  if (isForeign || (code === 'HPE_INVALID_METHOD' && startsWithToken(error))) {
    return new CatalogError('not_implemented', 'The method is not supported; methods are in capitals, such as PATCH');
  }
  return new CatalogError('malformed_request', 'The request is not valid HTTP');
}

/** True if the line at which the parser stopped begins with a token and a space, as a request line does. */
function startsWithToken({ rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (!rawPacket) return false;
  const lineStart = bytesParsed > 0 ? rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1 : 0;
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ /.test(rawPacket.toString('latin1', lineStart, lineStart + 256));
}
