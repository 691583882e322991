import { createClient } from '@redis/client';
import { MACHINE, type Time, within } from '../../stdx/time.ts';
import { type Finding, ok, problem, warning } from '../../telemetry/finding.ts';
import { adviceOn, isCluster, KEY_PREFIX, type RedisClient, readInfo, type ServerInfo } from './link.ts';
import { BEAT_KEYS, SCRIPT } from './script.ts';
import { nodeUrl, SLOT_COUNT, type SlotRange, slotOf } from './slots.ts';

const REDIS = 'redis';
const CHECK_MS = 5_000;

type Client = Pick<RedisClient, 'connect' | 'sendCommand'>;

/** A master of a cluster: its address, and a key of no client that is on it. */
interface Master {
  readonly url: string;
  readonly name: string;
  readonly beatKey: string;
}

/**
 * Checks a Redis or Valkey, or each master of its cluster, for five seconds at most. It has each count on keys of the
 * heartbeat, as a service does, and changes nothing else in it.
 */
export async function inspectRedis(url: string, time: Pick<Time, 'setTimeout'> = MACHINE): Promise<Finding[]> {
  return await connected(url, time, async (client) => {
    await client.connect();
    const about = readInfo(String(await client.sendCommand(['INFO', 'cluster'])));
    if (!isCluster(about)) return await inspect(client, BEAT_KEYS);
    const { masters, findings } = readMasters(url, (await client.sendCommand(['CLUSTER', 'SLOTS'])) as SlotRange[]);
    const ofEach = masters.map(async (master) => {
      const found = await connected(master.url, time, async (own) => {
        await own.connect();
        return await inspect(own, [master.beatKey]);
      });
      return found.map((each) => ({ ...each, finding: `${master.name}: ${each.finding}` }));
    });
    return [...findings, ...(await Promise.all(ofEach)).flat()];
  });
}

/** The masters of a cluster, and whether they have all slots. */
function readMasters(url: string, ranges: readonly SlotRange[]): { masters: Master[]; findings: Finding[] } {
  const slots = new Array<string>(SLOT_COUNT).fill('');
  for (const [from, to, [host, port]] of ranges) slots.fill(nodeUrl(url, host, port), from, to + 1);
  const masters = [...new Set(slots)].filter(Boolean).map((each) => {
    let beat = 1;
    while (slots[slotOf(`beat-${beat}`)] !== each) beat += 1;
    return { url: each, name: new URL(each).host, beatKey: `beat-${beat}` };
  });
  const unserved = slots.filter((each) => each === '').length;
  const cluster = `It is a cluster of ${masters.length} ${masters.length === 1 ? 'master' : 'masters'}`;
  const without = `${cluster}, and ${unserved} of its ${SLOT_COUNT} slots have none: of their keys each instance admits its share`;
  const finding =
    unserved === 0
      ? ok(REDIS, cluster)
      : problem(REDIS, without, 'see `redis-cli --cluster check` and `--cluster fix`');
  return { masters, findings: [finding] };
}

/** Works with a connection for five seconds at most; what fails is a finding. */
async function connected(
  url: string,
  time: Pick<Time, 'setTimeout'>,
  work: (client: Client) => Promise<Finding[]>,
): Promise<Finding[]> {
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
    return await within(work(client), { ms: CHECK_MS, lateness, time });
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

async function inspect(client: Client, beatKeys: readonly string[]): Promise<Finding[]> {
  const about = readInfo(String(await client.sendCommand(['INFO'])));
  return [reached(about), ...retention(about), await counting(client, beatKeys)];
}

/** Has it count, after each command of the script by itself: a script does not say which one it may not run. */
async function counting(client: Client, beatKeys: readonly string[]): Promise<Finding> {
  const { source, sha, beatArgs } = SCRIPT;
  const given = [`${beatKeys.length}`, ...beatKeys.map((key) => `${KEY_PREFIX}:{${key}}`), ...beatArgs(beatKeys)];
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

function reached(about: ServerInfo): Finding {
  const name =
    about.get('server_name') === 'valkey'
      ? `Valkey ${about.get('valkey_version')}`
      : `Redis ${about.get('redis_version')}`;
  return ok(REDIS, `${name} answers`);
}

/** A server that evicts counts when its memory is full admits more than the limits, without a word. */
function retention(about: ServerInfo): Finding[] {
  const policy = about.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return [];
  const finding = `It evicts counts when its memory is full (maxmemory-policy ${policy})`;
  return [warning(REDIS, finding, 'set maxmemory-policy to noeviction')];
}
