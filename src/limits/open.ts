import type { Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../stdx/clock.ts';
import type { Timers } from '../stdx/timers.ts';
import type { Events } from '../telemetry/events.ts';
import type { Limiter } from './limiter.ts';
import { LocalLimiter } from './local-limiter.ts';

export interface LimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** Replaces the Redis server's clock; for tests. */
  readonly time?: Clock;
  /** What deadlines are measured with; for tests. */
  readonly timers?: Timers;
}

/**
 * Opens the configured limiter. If Redis does not answer it starts degraded, and retries. Throws `LimiterNotOpened` if
 * Redis is a node of a cluster.
 */
export async function openLimiter(
  { redis, banAfterRefusals }: Pick<Config, 'redis' | 'banAfterRefusals'>,
  { time, timers, ...options }: LimiterOptions,
): Promise<Limiter> {
  if (!redis) return new LocalLimiter({ ...options, banAfter: banAfterRefusals });
  // Loaded on demand: the Redis client takes a third as long to load as everything else.
  const { RedisLimiter } = await import('./redis/limiter.ts');
  const forTests = { ...(time && { time }), ...(timers && { timers }) };
  const limiter = new RedisLimiter({ ...options, ...redis, banAfter: banAfterRefusals, ...forTests });
  try {
    await limiter.connect();
    return limiter;
  } catch (error) {
    await limiter[Symbol.asyncDispose]();
    throw error;
  }
}
