import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { type Context, requestIds, type Serve } from './exchange.ts';
import { HEAD_BYTES_MAX, HEADERS_MAX, headTooLarge } from './request.ts';

// An import of node:http would evaluate all its exports, and so load an HTTP client that is not used here.
const { createServer } = process.getBuiltinModule('node:http');

const CONNECTIONS_MAX = 4_000;
/** Connections beyond the bound that are about to be closed. */
const CLOSING_MAX = 16;
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
 * With the check interval, 10 s for a head and 30 s for a request. Keep-alive outlasts that of common proxies (nginx
 * 60 s, Go 90, Caddy 120), so that the proxy closes first and never writes into a closed connection.
 */
const TIMEOUTS: Timeouts = { headMs: 9_000, requestMs: 29_000, checkIntervalMs: 500, keepAliveMs: 130_000 };

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Connections at once; beyond, the oldest that waits for its client is closed, else the new one. */
  readonly connectionsMax?: number;
  readonly timeouts?: Timeouts;
}

/** An open port that answers every request exactly once, also malformed ones. */
export interface Listener {
  readonly port: number;
  /** Stops accepting connections, lets requests in flight finish, and destroys the rest after the grace. */
  stop(graceMs: number): Promise<void>;
}

/** Opens a port. Rejects with the system error if that fails. */
export async function openListener(
  serve: Serve,
  context: Context,
  { host, port, connectionsMax = CONNECTIONS_MAX, timeouts = TIMEOUTS }: ListenOptions,
): Promise<Listener> {
  let isStopping = false;
  const server = createHttpServer(
    {
      ...context,
      serve,
      isStopping: () => isStopping,
      newRequestId: requestIds(),
      backlog: { waitingBytes: 0, unserved: 0 },
    },
    timeouts,
    connectionsMax,
  );
  server.maxConnections = connectionsMax + CLOSING_MAX;
  server.on('drop', () => context.events.connectionRefused());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: async (graceMs) => {
      const deadline = AbortSignal.timeout(graceMs);
      await drainBacklog(server);
      // The HTTP server's own close would end idle connections at once.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      // Only after the port is closed: a client told to close reconnects at once and must not get through.
      isStopping = true;
      await closeConnections(server, closed, deadline);
    },
  };
}

function createHttpServer(options: ConnectionOptions, timeouts: Timeouts, connectionsMax: number): Server {
  /** The open connections, oldest first. */
  const connections = new Map<Duplex, Connection>();
  const server = createServer({
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
  });
  // One more than allowed, so that it shows where Node drops those beyond (24).
  server.maxHeadersCount = HEADERS_MAX + 1;
  // A client that half-closes after its request still gets the answer. Node's types lack the property.
  Object.assign(server, { httpAllowHalfOpen: true });

  const take = (request: IncomingMessage, response: ServerResponse, hasExpectation = false) =>
    connections.get(request.socket)?.take(request, response, hasExpectation);
  server.on('connection', (socket: Socket) => {
    if (connections.size >= connectionsMax && !makeRoom(connections)) {
      options.events.connectionRefused();
      socket.destroy();
      return;
    }
    socket.allowHalfOpen = true;
    connections.set(socket, new Connection(socket, options));
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => take(request, response));
  server.on('checkContinue', (request, response) => take(request, response, true));
  server.on('checkExpectation', (request, response) => take(request, response, true));
  server.on('connect', (_request, socket) => {
    connections.get(socket)?.fail(new CatalogError('not_implemented', 'CONNECT is not supported'));
  });
  server.on('clientError', (error: ParserError, socket) => {
    // Any error but the parser's or a timeout means that the peer is gone.
    if (!socket.writable || !(error.code === TIMED_OUT || error.code?.startsWith('HPE_'))) socket.destroy();
    else connections.get(socket)?.fail(unreadable(error));
  });
  return server;
}

/** Closes the oldest connection that waits for its client; false if none does. */
function makeRoom(connections: Map<Duplex, Connection>): boolean {
  const oldest = connections.entries().find(([, connection]) => connection.makeRoom());
  return oldest !== undefined && connections.delete(oldest[0]);
}

async function closeConnections(server: Server, closed: Promise<void>, deadline: AbortSignal): Promise<void> {
  for (
    let waitMs = IDLE_ON_STOP_MS;
    await Promise.race([closed, wait(waitMs, true, { ref: false })]);
    waitMs = STOP_CHECK_INTERVAL_MS
  ) {
    if (deadline.aborted) server.closeAllConnections();
    else server.closeIdleConnections();
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
  if (code === 'HPE_HEADER_OVERFLOW') return headTooLarge();
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
