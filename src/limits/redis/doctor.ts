import { createClient } from '@redis/client';
import { MACHINE, type Time, within } from '../../stdx/time.ts';
import { compareClocks, type Finding, ok, problem, warning } from '../../telemetry/finding.ts';
import { RedisCounts } from './counts.ts';
import {
  adviceOn,
  CLUSTER_REFUSED,
  isCluster,
  KEY_PREFIX,
  type RedisClient,
  readInfo,
  type ServerInfo,
} from './link.ts';

const REDIS = 'redis';
const CHECK_MS = 5_000;
/** Well below the 50 ms after which an instance counts alone. */
const ROUND_TRIP_MS_MAX = 10;

/**
 * Checks a Redis or Valkey for five seconds at most. It has it count on the keys of the heartbeat, as a service does,
 * and changes nothing else in it.
 */
export async function inspectRedis(url: string, time: Pick<Time, 'setTimeout'> = MACHINE): Promise<Finding[]> {
  const client = createClient({
    url,
    RESP: 2,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    socket: { reconnectStrategy: false },
  });
  client.on('error', () => {});
  const lateness = () => new Error(`it did not answer within ${CHECK_MS / 1_000} s`);
  try {
    // The client's own deadline ends when a command is sent.
    return await within(inspect(client), { ms: CHECK_MS, lateness, time });
  } catch (error) {
    // Not the address: it may hold a password.
    const finding = `Redis cannot be used: ${(error as Error).message || (error as { code?: string }).code}`;
    const todo = adviceOn(error) ?? 'start it, or correct REDIS_URL';
    const advice = `${todo}; until then each instance admits its share of every limit`;
    return [problem(REDIS, finding, advice)];
  } finally {
    client.destroy();
  }
}

async function inspect(client: Pick<RedisClient, 'connect' | 'sendCommand'>): Promise<Finding[]> {
  await client.connect();
  const startedMs = performance.now();
  await client.sendCommand(['PING']);
  const roundTripMs = performance.now() - startedMs;
  const about = readInfo(String(await client.sendCommand(['INFO'])));
  const [seconds, micros] = (await client.sendCommand(['TIME'])) as unknown as string[];
  const now = Number(seconds) + Number(micros) / 1e6;
  const findings = [reached(about, roundTripMs), ...retention(about), compareClocks('Redis', now, Date.now() / 1000)];
  const isRefused = findings.some(({ status }) => status === 'problem');
  return isRefused ? findings : [...findings, await counting(client)];
}

/** Has it count, after each command of the script by itself: a script does not say which one it may not run. */
async function counting(client: Pick<RedisClient, 'sendCommand'>): Promise<Finding> {
  const { source, sha, beatKeys, beatArgs } = RedisCounts.SCRIPT;
  const given = [`${beatKeys.length}`, ...beatKeys.map((key) => `${KEY_PREFIX}:{${key}}`), ...beatArgs];
  const key = `${KEY_PREFIX}:{${beatKeys[0]}}`;
  try {
    await client.sendCommand(['GET', key]);
    await client.sendCommand(['SET', key, '0 0 0 0', 'EX', '60']);
    await client.sendCommand(['EVAL', source, ...given]);
    await client.sendCommand(['EVALSHA', sha, ...given]);
    return ok(REDIS, 'It counts');
  } catch (error) {
    const advice = adviceOn(error) ?? 'see its log';
    return problem(REDIS, `It cannot count: ${(error as Error).message}`, advice);
  }
}

function reached(about: ServerInfo, roundTripMs: number): Finding {
  const name =
    about.get('server_name') === 'valkey'
      ? `Valkey ${about.get('valkey_version')}`
      : `Redis ${about.get('redis_version')}`;
  const finding = `${name} answers within ${roundTripMs.toFixed(1)} ms`;
  if (roundTripMs <= ROUND_TRIP_MS_MAX) return ok(REDIS, finding);
  return warning(REDIS, finding, 'move it closer: every request asks it, and beyond 50 ms instances count alone');
}

function retention(about: ServerInfo): Finding[] {
  const findings: Finding[] = [];
  if (isCluster(about)) findings.push(problem(REDIS, CLUSTER_REFUSED.finding, CLUSTER_REFUSED.advice));
  if (about.get('role') !== undefined && about.get('role') !== 'master') {
    findings.push(problem(REDIS, 'It is a replica: nothing can be counted in it', 'set REDIS_URL to the primary'));
  }
  const policy = about.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction') {
    const finding = `It evicts counts when its memory is full (maxmemory-policy ${policy})`;
    findings.push(warning(REDIS, finding, 'set maxmemory-policy to noeviction'));
  }
  return findings;
}
