import { createClient } from '@redis/client';
import { compareClocks, type Finding, ok, problem, warning } from '../../telemetry/finding.ts';
import { CLUSTER_REFUSED, isCluster, readInfo, type ServerInfo } from './link.ts';

const REDIS = 'redis';
const CONNECT_TIMEOUT_MS = 5_000;
/** Well below the 50 ms after which an instance counts alone. */
const ROUND_TRIP_MS_MAX = 10;

/** Checks a Redis or Valkey without changing anything in it. */
export async function inspectRedis(url: string): Promise<Finding[]> {
  const client = createClient({
    url,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
    commandOptions: { timeout: CONNECT_TIMEOUT_MS },
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const startedMs = performance.now();
    await client.ping();
    const roundTripMs = performance.now() - startedMs;
    const about = readInfo(String(await client.sendCommand(['INFO'])));
    const [seconds, micros] = (await client.sendCommand(['TIME'])) as unknown as string[];
    const now = Number(seconds) + Number(micros) / 1e6;
    return [reached(about, roundTripMs), ...retention(about), compareClocks('Redis', now, Date.now() / 1000)];
  } catch (error) {
    // Not the address: it may hold a password.
    const finding = `Redis cannot be used: ${(error as Error).message || (error as { code?: string }).code}`;
    const advice = 'start it, or correct REDIS_URL; until then each instance admits its share of every limit';
    return [problem(REDIS, finding, advice)];
  } finally {
    client.destroy();
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
