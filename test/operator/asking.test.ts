import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiClient } from '../kit/operator.ts';
import { ABOUT_THE_LOCK, commandsOn, noteForCommands } from '../kit/process.ts';
import { json, testService } from '../kit/service.ts';

test(
  'the recent requests and the reason of a refusal are asked of the running service, by command and API',
  ABOUT_THE_LOCK,
  async () => {
    await using service = await testService();
    const command = commandsOn(service);
    const { key, secret } = await service.issue({
      name: 'shop',
      owner: 'cus_1',
      plan: 'enterprise',
      limits: { minute: 1, day: 9 },
    });
    await service.call(secret, '/categories', { headers: { 'x-request-id': 'first' } });
    await service.call(secret, '/categories', { headers: { 'x-request-id': 'second' } });
    const nothing = await command('why second');
    assert.deepEqual([nothing.code, nothing.stdout], [1, '']);
    assert.match(nothing.stderr, /No service runs here that could be asked; its log has a line/);

    noteForCommands(service);
    const listed = await command('requests --owner cus_1 --status 4xx --json');
    assert.equal(listed.code, 0, listed.stderr);
    assert.deepEqual(
      JSON.parse(listed.stdout).map(({ requestId }: { requestId: string }) => requestId),
      ['second'],
      listed.stderr,
    );
    assert.equal(listed.stderr, `Asked the instance at ${service.operatorUrl}\n`);
    assert.match((await command('requests first')).stdout, /200 +GET \/v1\/categories +key_\w+ +[\d.]+ +first/);
    for (const asked of ['second', key.id, key.prefix, secret]) {
      const why = await command(`why ${asked}`);
      assert.match(
        why.stdout,
        /^Over the limit of the minute: the key had used its 1 request\.\nA minute begins/,
        why.stderr,
      );
    }
    const unknown = await command('why none');
    assert.deepEqual([unknown.code, unknown.stdout], [1, '']);
    assert.match(unknown.stderr, /keeps no request "none", and no key is called that; the log has a line/);
    assert.deepEqual(await service.storage.tokens.list(), [], 'the token of a command is gone with it');
    const now = service.clock.now().unix;
    const [{ after } = { after: undefined }] = await service.storage.audit.list({
      since: 0,
      limit: 1,
      action: 'operator.create',
    });
    assert.deepEqual(
      [after].map((each) => ({ ...(each as object), name: '' })),
      [{ name: '', role: 'viewer', expiresAt: now + 60 }],
    );

    const client = await apiClient(service, 'viewer');
    const rest = await json<{ requestId: string }[]>(client.send('GET', '/requests?limit=1'));
    assert.deepEqual(
      rest.map(({ requestId }) => requestId),
      ['second'],
    );
    await service.storage.keys.pause(key.id, now, { actor: 'x', via: 'cli' });
    const { sentence } = await json<{ sentence: string }>(client.send('GET', `/why/${key.id}`));
    assert.equal(sentence, 'Paused at 2026-01-01T12:00:00Z: every request since then is a 401.');

    const { secret: other } = await service.issue({ name: 'till', owner: 'cus_2', plan: 'business' });
    for (let call = 0; call < 102; call += 1) await service.call(other, '/categories');
    const many = async (limit: string) =>
      JSON.parse((await command(`requests --owner cus_2 --json ${limit}`)).stdout).length;
    assert.deepEqual([await many(''), await many('--limit 101'), await many('--limit 1')], [102, 101, 1]);
    const wrong = await command('requests --since tomorrow');
    assert.deepEqual([wrong.code, wrong.stderr.slice(0, 34)], [2, 'pet-catalog: --since is "tomorrow"']);
  },
);
