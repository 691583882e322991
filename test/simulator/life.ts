import type { IncomingMessage } from 'node:http';
import type { ApiKey } from '../../src/catalog/api-key.ts';
import type { RunningBan } from '../../src/catalog/ban.ts';
import { CategoryList } from '../../src/catalog/category-list.ts';
import { type AnyErrorCode, CatalogError } from '../../src/catalog/error.ts';
import { follow } from '../../src/follow.ts';
import { Authenticator } from '../../src/http/authenticate.ts';
import { STATUS_OF } from '../../src/http/errors.ts';
import { CREATE_CATEGORY, LIST_CATEGORIES } from '../../src/http/operations/categories.ts';
import type { AdmittedExchange, Answer } from '../../src/http/transport/exchange.ts';
import { Bans } from '../../src/limits/bans.ts';
import type { Decision, Limiter } from '../../src/limits/limiter.ts';
import { LocalLimiter } from '../../src/limits/local-limiter.ts';
import { RedisLimiter } from '../../src/limits/redis/limiter.ts';
import { SqlStorage } from '../../src/storage/sql/storage.ts';
import type { Events } from '../../src/telemetry/events.ts';
import { UsageRecorder } from '../../src/telemetry/usage-recorder.ts';
import { isDefect, recordedEvents } from '../kit/events.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Connection, SimulatedRedis } from './redis.ts';
import type { ProcessTime, VirtualTime } from './virtual-time.ts';
import type { Weather } from './weather.ts';

/** What an instance stands on. */
export interface Place {
  readonly time: VirtualTime;
  readonly database: SimulatedDatabase;
  /** Undefined where one instance counts alone. */
  readonly redis: SimulatedRedis | undefined;
  readonly instances: number;
  readonly banAfter: number;
  readonly categoriesMax: number;
  readonly categoriesBytesMax: number;
}

/** What the models are told of an instance as it happens. */
export interface Observer {
  onBan(life: Life, ban: RunningBan & { readonly keyId: string }): void;
  onDefect(error: unknown): void;
  /** It counts without Redis from now on, or with it again. */
  onDegraded(life: Life, isDegraded: boolean): void;
}

export interface Call {
  readonly secret: string;
  readonly operation: 'list' | 'create' | 'peek';
  readonly name?: string;
  readonly idempotencyKey?: string | undefined;
}

export interface Answered {
  readonly status: number;
  readonly code?: AnyErrorCode;
  readonly key?: ApiKey;
  readonly body?: string;
  readonly isReplay?: boolean;
}

/** What the limiter decided on a request. */
export interface Charged {
  readonly key: ApiKey;
  readonly decision: Decision;
  /** Whether it refused without asking Redis. */
  readonly isFromMemory: boolean;
}

/** One process from its start to its end: the real parts, wired as the service wires them. */
export class Life implements AsyncDisposable {
  readonly clock: ProcessTime;
  readonly storage: SqlStorage;
  readonly limiter: Limiter;
  readonly usage: UsageRecorder;
  readonly categories = new CategoryList();
  /** How far its steady seconds are ahead of true time. */
  readonly aheadSeconds: number;
  readonly #engine: ReturnType<SimulatedDatabase['engine']>;
  readonly #authenticator: Authenticator;
  readonly #events: Events;
  readonly #connect: () => Promise<void>;
  readonly #clients: Connection[] = [];
  /** The one connection that every request of the life comes over, as from a proxy. */
  readonly #connection = {};
  #catchUp: () => Promise<void> = async () => {};
  #fromMemory = 0;
  isDead = false;

  constructor(place: Place, ways: { database: Weather; redis: Weather; skewMs: () => number }, observer: Observer) {
    const { time, database, redis, banAfter, instances, categoriesMax, categoriesBytesMax } = place;
    this.aheadSeconds = ways.skewMs() / 1_000;
    this.clock = time.process(ways.skewMs);
    this.#engine = database.engine({ time, own: this.clock, weather: ways.database });
    this.#events = {
      ...recordedEvents(),
      keyBanned: (ban) => observer.onBan(this, ban as RunningBan & { readonly keyId: string }),
      requestFailed: (_id, error) => observer.onDefect(error),
      requestAnswered: ({ cause }) => {
        if (isDefect(cause)) observer.onDefect(cause);
      },
      refusedFromMemory: () => {
        this.#fromMemory += 1;
      },
      limiterDegraded: () => observer.onDegraded(this, true),
      limiterRecovered: () => observer.onDegraded(this, false),
    };
    const events = this.#events;
    this.storage = new SqlStorage(this.#engine, { time: this.clock, categoriesMax, categoriesBytesMax, events });
    const { storage } = this;
    if (redis) {
      const url = 'redis://simulated';
      const newClient = () => {
        const client = redis.client(ways.redis);
        this.#clients.push(client);
        return client;
      };
      const limiter = new RedisLimiter({ storage, time: this.clock, events, url, instances, newClient });
      this.limiter = new Bans(limiter, { storage, time: this.clock, events, banAfter });
      this.#connect = () => limiter.connect();
    } else {
      const limiter = new LocalLimiter({ storage, time: this.clock, events });
      this.limiter = new Bans(limiter, { storage, time: this.clock, events, banAfter });
      this.#connect = async () => {};
    }
    this.#authenticator = new Authenticator(storage, { environment: 'production', time: this.clock });
    this.usage = new UsageRecorder({ storage, time: this.clock, onFailure: () => {} });
  }

  /** Rejects if the database cannot be read now. */
  async start(): Promise<void> {
    await this.#connect();
    const { storage, categories } = this;
    this.#catchUp = await follow({
      storage,
      categories,
      authenticator: this.#authenticator,
      events: this.#events,
    });
  }

  /** Stops gracefully. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.usage[Symbol.asyncDispose]();
    await this.limiter[Symbol.asyncDispose]();
    await this.storage[Symbol.asyncDispose]();
    this.kill();
  }

  /** `kill -9`: nothing of it happens from now on. */
  kill(): void {
    this.isDead = true;
    this.clock.kill();
    for (const client of this.#clients) client.sever();
    this.#engine.kill();
  }

  /** Serves a request through the gates of `http/gates.ts`: key, limits, handler. */
  async serve(call: Call, onCharged: (charged: Charged) => void): Promise<Answered> {
    const headers = {
      authorization: `Bearer ${call.secret}`,
      ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
    };
    const method = call.operation === 'create' ? 'POST' : 'GET';
    const request = { method, headers, headersDistinct: {}, socket: this.#connection };
    let known: { key?: ApiKey } = {};
    try {
      const { key } = await this.#authenticator.authenticate(request as unknown as IncomingMessage);
      if (!key) return { status: 401 };
      known = { key };
      const before = this.#fromMemory;
      const charging = call.operation === 'peek' ? this.limiter.peek(key) : this.limiter.charge(key);
      const isFromMemory = this.#fromMemory > before;
      const decision = await charging;
      onCharged({ key, decision, isFromMemory });
      if (call.operation === 'peek') return { status: 200, key };
      if (decision.refusal) return { status: 429, code: decision.refusal, key };
      const { status, headers = [], body } = await this.#handle(call, { request, key });
      return { status, body: textOf(body), key, isReplay: headers.includes('Idempotency-Replayed') };
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      return { status: STATUS_OF[error.code], code: error.code, ...known };
    }
  }

  async #handle({ operation, name }: Call, { request, key }: { request: object; key: ApiKey }): Promise<Answer> {
    const body = { name };
    const exchange = {
      request,
      key,
      body,
      bodyBytes: Buffer.from(JSON.stringify(body)),
      path: '/categories',
      query: new URLSearchParams(),
    } as unknown as AdmittedExchange;
    const { storage, categories } = this;
    const { handle } = operation === 'create' ? CREATE_CATEGORY : LIST_CATEGORIES;
    return handle({ storage, categories, catchUp: () => this.#catchUp() }, exchange);
  }
}

function textOf(body: Answer['body']): string {
  if (typeof body === 'string') return body;
  return Buffer.concat([...((body ?? []) as Uint8Array[])]).toString('utf8');
}
