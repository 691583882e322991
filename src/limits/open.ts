import type { Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../stdx/clock.ts';
import type { Events } from '../telemetry/events.ts';
import type { Limiter } from './limiter.ts';
import { LocalLimiter } from './local-limiter.ts';

export interface LimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** Rules in Redis instead of its own time; for tests. */
  readonly time?: Clock;
}

/** The limiter that the settings ask for. A Redis that does not answer is tried again; until then it is degraded. */
export async function openLimiter(
  { redis, banAfterRefusals }: Pick<Config, 'redis' | 'banAfterRefusals'>,
  { time, ...options }: LimiterOptions,
): Promise<Limiter> {
  if (!redis) return new LocalLimiter({ ...options, banAfter: banAfterRefusals });
  // Loaded only where it is used: its client takes as long to load as a third of the rest.
  const { RedisLimiter } = await import('./redis/limiter.ts');
  const limiter = new RedisLimiter({ ...options, ...redis, banAfter: banAfterRefusals, ...(time && { time }) });
  await limiter.connect();
  return limiter;
}
