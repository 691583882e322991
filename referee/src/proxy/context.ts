import type { Socket } from 'node:net';
import { CLOCK, type Clock } from './clock.ts';
import { Dialect } from './dialect.ts';
import { type Fields, Mover } from './headers.ts';
import type { Upstream } from './upstream.ts';

/** The headers that have the key of a create, unless told otherwise. */
const IDEMPOTENCY = ['Idempotency-Key', 'X-Idempotency-Key'] as const;

/** Customs of an API, and what is kept of it. */
export interface ContextOptions {
  /** The names of headers, or of members of a JSON body after `$.`, that have the key of a create. */
  readonly idempotency?: readonly string[];
  /** The folder of templates of made-up answers. */
  readonly dialect?: string | undefined;
  /** Sent with every request; they are in no report. */
  readonly headers?: Fields;
  /** The seed of unknown members. */
  readonly seed?: string;
}

interface Connection {
  readonly number: number;
  readonly openedAt: number;
  /** Called when the connection is reset. */
  onReset?: () => void;
}

/** State that the exchanges of one proxy share. */
export class ProxyContext {
  readonly clock: Clock = CLOCK;
  readonly upstream: Upstream;
  readonly dialect: Dialect;
  readonly mover: Mover;
  readonly idempotency: readonly string[];
  readonly headers: Fields;
  readonly seed: string;
  readonly closing: AbortSignal;
  readonly #connections = new WeakMap<Socket, Connection>();
  #count = 0;
  /** Requests that the upstream did not answer, and the reason of the first. */
  unanswered = 0;
  reason: string | undefined;
  /** Answers with an address of the upstream that could not be moved. */
  unmoved = 0;

  constructor(
    upstream: Upstream,
    options: ContextOptions & { readonly origin: string; readonly closing: AbortSignal },
  ) {
    this.upstream = upstream;
    this.dialect = new Dialect(options.dialect, this.clock);
    this.mover = new Mover(upstream.origin, options.origin);
    this.idempotency = options.idempotency ?? IDEMPOTENCY;
    this.headers = options.headers ?? [];
    this.seed = options.seed ?? '';
    this.closing = options.closing;
  }

  /** A connection, with its number in the order of their beginnings. */
  connection(socket: Socket): Connection {
    const known = this.#connections.get(socket);
    if (known) return known;
    this.#count += 1;
    const connection: Connection = { number: this.#count, openedAt: this.clock.steadyMs() };
    this.#connections.set(socket, connection);
    return connection;
  }
}
