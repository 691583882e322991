import type { Storage } from '../catalog/storage.ts';
import type { Config } from '../config.ts';
import { Bans } from './bans.ts';
import type { Limiter } from './limiter.ts';
import { LocalLimiter } from './local-limiter.ts';
import type { RedisLimiterOptions } from './redis/limiter.ts';

type LimiterOptions = Pick<RedisLimiterOptions, 'time' | 'events' | 'serverTime' | 'answerMs'> & {
  readonly storage: Storage;
};

/** Opens the configured limiter. If Redis does not answer it starts degraded, and retries. */
export async function openLimiter(
  { redis, banAfterRefusals }: Pick<Config, 'redis' | 'banAfterRefusals'>,
  options: LimiterOptions,
): Promise<Limiter> {
  const withBans = (limiter: Limiter) => new Bans(limiter, { ...options, banAfter: banAfterRefusals });
  if (!redis) return withBans(new LocalLimiter(options));
  // Loaded on demand: the Redis client takes a third as long to load as everything else.
  const { RedisLimiter } = await import('./redis/limiter.ts');
  const limiter = new RedisLimiter({ ...options, ...redis });
  await limiter.connect();
  return withBans(limiter);
}
