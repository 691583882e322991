import { systemTime, type Time } from '../../stdx/time.ts';
import { type Finding, ok, problem } from '../../telemetry/finding.ts';
import { adviceOn } from './link.ts';
import { RedisServers } from './servers.ts';

const CHECK_MS = 5_000;
const BEAT_MS = 1_500;

/** Has Redis, or each master of its cluster, count on keys of the heartbeat as a service does, for five seconds. */
export async function inspectRedis(url: string, time: Time = systemTime()): Promise<Finding[]> {
  let failure = new Error('Redis did not answer');
  const events = {
    redisFailed() {},
    redisLate() {},
    requestCounted() {},
    limiterRecovered() {},
    limiterDegraded(error: unknown) {
      failure = error as Error;
    },
  };
  await using servers = new RedisServers({ url, time, events, onClockStep() {}, answerMs: CHECK_MS });
  await servers.connect();
  // A cluster that is slow to name its masters is asked again at the next heartbeat.
  if (servers.lost.length > 0) await new Promise<void>((resolve) => time.setTimeout(resolve, BEAT_MS));
  const { lost } = servers;
  if (lost.length === 0) return [ok('redis', 'It counts')];
  const todo = adviceOn(failure) ?? 'start it, or correct REDIS_URL';
  const why = failure.message.replace(`; ${todo}`, '');
  const masters = lost.includes('REDIS_URL') ? '' : ` (lost of its cluster: ${lost.join(', ')})`;
  const advice = `${todo}; until then each instance admits its share of every limit`;
  return [problem('redis', `It cannot count: ${why}${masters}`, advice)];
}
