import { CatalogError } from '../catalog/error.ts';
import type { Storage } from '../catalog/storage.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Answer } from './transport/exchange.ts';

/** How long a finding is told again before storage is asked anew, so that probes cost nothing. */
const FINDING_MS = 1_000;

/** Whether the process lives, and whether it can serve. */
export class Health {
  readonly #storage: Storage;
  readonly #limiter: Limiter;
  /** Whether the limiter counts in Redis. */
  readonly #usesRedis: boolean;
  #finding: Promise<void> | undefined;
  #foundAtMs = 0;
  #stopping = false;

  constructor(storage: Storage, limiter: Limiter, { usesRedis }: { usesRedis: boolean }) {
    this.#storage = storage;
    this.#limiter = limiter;
    this.#usesRedis = usesRedis;
  }

  /** From now on not ready, so that no new work is sent here. */
  stop(): void {
    this.#stopping = true;
  }

  /** /livez: the process answers. Asks nothing else of anybody. */
  live(): Answer {
    return { status: 200, body: '{"status":"live"}' };
  }

  /**
   * /readyz: 200 if requests can be served, as they can without Redis: then each instance admits its share of every
   * limit. Throws `unavailable` saying why not.
   */
  async ready(): Promise<Answer> {
    if (this.#stopping) throw new CatalogError('unavailable', 'The service is stopping');
    if (!this.#finding || performance.now() - this.#foundAtMs > FINDING_MS) {
      this.#foundAtMs = performance.now();
      this.#finding = this.#storage.check();
      this.#finding.catch(() => {});
    }
    try {
      await this.#finding;
    } catch {
      throw new CatalogError('unavailable', 'The database does not answer');
    }
    const redis = this.#usesRedis ? { redis: this.#limiter.state } : {};
    return { status: 200, body: JSON.stringify({ status: 'ready', database: 'ok', ...redis }) };
  }
}
