import { CatalogError } from '../catalog/error.ts';
import type { Storage } from '../catalog/storage.ts';
import type { Limiter } from '../limits/limiter.ts';
import { utc } from '../stdx/time.ts';
import type { Outages } from '../telemetry/events.ts';
import type { PageHandler } from './pages.ts';
import type { Answer } from './transport/exchange.ts';

/** The time that a check's result is cached, so that frequent probes do not load the database. */
const CHECK_CACHED_MS = 1_000;

/** Liveness and readiness of the process. */
export class Health {
  readonly #storage: Storage;
  readonly #redis: Pick<Limiter, 'lost'> | undefined;
  readonly #outages: Outages;
  #check: ReturnType<Storage['check']> | undefined;
  #checkedAtMs = 0;
  /** Why no request is served. */
  #down: string | undefined = 'The service is starting';

  /** `redis` is the limiter if it counts there. */
  constructor(storage: Storage, redis: Pick<Limiter, 'lost'> | undefined, outages: Outages = new Map()) {
    this.#storage = storage;
    this.#redis = redis;
    this.#outages = outages;
  }

  /** The probes: `/livez`, `/readyz` and `/readyz/reads`. */
  pages(): [string, PageHandler][] {
    return [
      // Checks no dependency.
      ['/livez', () => ({ status: 200, body: '{"status":"live"}' })],
      ['/readyz', () => this.ready()],
      // Lists are in memory, so a proxy that asks this sends reads on while the database is away.
      ['/readyz/reads', () => this.#reads()],
    ];
  }

  /** The same for operators: `/readyz` also says what fails, since when and why, and which masters of a cluster. */
  operatorPages(): [string, PageHandler][] {
    const ready = async (): Promise<Answer> => {
      const inWords = () =>
        [...this.#outages].map(([fails, { since, cause }]) => `${fails} since ${utc(since)}: ${cause}`);
      const answer = await this.ready().catch((error: Error) => {
        throw new CatalogError('unavailable', [error.message, ...inWords()].join('; '));
      });
      if (this.#outages.size === 0) return answer;
      const { lost = [] } = this.#redis ?? {};
      const told = { ...(lost.length > 0 && { redisLost: lost }), outages: inWords() };
      return { ...answer, body: JSON.stringify({ ...JSON.parse(`${answer.body}`), ...told }) };
    };
    return [...this.pages(), ['/readyz', ready]];
  }

  /** Makes the service ready, once it listens. */
  start(): void {
    this.#down = undefined;
  }

  /** Makes the service not ready, so that load balancers send no new requests. */
  stop(): void {
    this.#down = 'The service is stopping';
  }

  #checkUp(): void {
    if (this.#down) throw new CatalogError('unavailable', this.#down);
  }

  #reads(): Answer {
    this.#checkUp();
    return { status: 200, body: '{"status":"ready"}' };
  }

  /**
   * /readyz: 200 if requests can be served. Redis is not needed: without it each instance admits its share of every
   * limit. Nor are writes, as on a full disk: readers are still served. Throws `unavailable` with the reason otherwise.
   */
  async ready(): Promise<Answer> {
    this.#checkUp();
    if (!this.#check || performance.now() - this.#checkedAtMs > CHECK_CACHED_MS) {
      this.#checkedAtMs = performance.now();
      this.#check = this.#storage.check();
    }
    const { isWriteFailing } = await this.#check.catch(() => {
      throw new CatalogError('unavailable', 'The database does not answer');
    });
    const writes = isWriteFailing ? { writes: 'failing' } : {};
    const redis = this.#redis ? { redis: this.#redis.lost.length > 0 ? 'degraded' : 'ok' } : {};
    return { status: 200, body: JSON.stringify({ status: 'ready', database: 'ok', ...writes, ...redis }) };
  }
}
