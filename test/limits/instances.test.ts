import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { startInstances } from '../kit/instances.ts';
import { noPostgres } from '../kit/postgres.ts';
import { redisServerMissing } from '../kit/redis-server.ts';

const options = { skip: noPostgres || redisServerMissing() };

test('a ban, its lifting and a change of plan on one instance hold on all', options, async () => {
  await using instances = await startInstances(2);
  const { services, command } = instances;
  const created = JSON.parse(await command('keys', 'create', '--name', 'hammer', '--json')) as {
    id: string;
    secret?: string;
    key: string;
  };
  const secret = created.secret ?? created.key;
  const agent = new Agent({ keepAlive: true });
  const answers = () =>
    Promise.all(
      services.map(async ({ url }) => {
        const { status, headers, body } = await send(agent, `${url}/categories`, secret);
        const { code = 'ok' } = status === 200 ? {} : (JSON.parse(body) as { code: string });
        return { code, reset: headers['x-ratelimit-reset'], limit: headers['x-ratelimit-limit'] };
      }),
    );
  const until = async (code: string) => {
    let all: Awaited<ReturnType<typeof answers>> = [];
    await untilTrue(async () => {
      all = await answers();
      return all.every((each) => each.code === code);
    }, `${code} on all`);
    return all;
  };
  await until('rate_limit_exceeded');
  const [one, other] = await until('key_banned');
  assert.equal(one?.reset, other?.reset, 'one ban, not two');
  await command('keys', 'unban', created.id);
  await until('rate_limit_exceeded');
  await command('keys', 'set-plan', created.id, 'pro');
  const upgraded = await until('ok');
  assert.deepEqual(
    upgraded.map(({ limit }) => limit),
    ['300', '300'],
  );
  agent.destroy();
});
