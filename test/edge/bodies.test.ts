import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertAnswer } from '../kit/edge/corpus.ts';
import { openRaw, type RawAnswer } from '../kit/edge/raw.ts';
import { testService } from '../kit/service.ts';

const BODY_BYTES_MAX = 256 * 1024;

const service = await testService();
const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 100_000, day: 100_000 } });
const raw = await openRaw(service.url);
after(async () => {
  await raw[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

describe('bodies', () => {
  async function send(text: string): Promise<RawAnswer> {
    const body = Buffer.from(text);
    const lines = ['POST /v1/categories HTTP/1.1', 'Host: a', `Authorization: Bearer ${secret}`];
    await raw.send(`${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`);
    await raw.send(body);
    const answer = await raw.answer();
    assertAnswer(answer);
    assert.equal(answer.headers.get('connection'), 'keep-alive');
    assert.equal(raw.unreadBytes, 0);
    return answer;
  }

  test('every character is stored unchanged or refused, in a name and in a description', async () => {
    for (let unit = 0; unit < 0x100; unit++) {
      const character = String.fromCharCode(unit);
      for (const category of [{ name: `a${character}b` }, { name: 'a', description: character }]) {
        const { status, body } = await send(JSON.stringify(category));
        if (status === 201) assert.deepEqual(JSON.parse(body), { id: JSON.parse(body).id, ...category });
        else assert.equal(JSON.parse(body).code, 'validation_failed');
        const isAllowed = unit >= 0x20 || ('description' in category && /[\t\n\r]/.test(character));
        assert.equal(status, isAllowed ? 201 : 400, `U+${unit.toString(16)}`);
      }
    }
  });

  test('a member name may be written in escapes, and the last of two members with one name counts', async () => {
    const { body } = await send('{"name":1,"description":"a","\\u006eame":"Dog","description":"b"}');
    const { name, description } = JSON.parse(body);
    assert.deepEqual([name, description], ['Dog', 'b']);
  });

  test('names like __proto__ are ordinary members and pollute no prototype', async () => {
    const hostile = '{"polluted":true,"name":"Cat","toString":1}';
    const names = [
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      'valueOf',
      'then',
      'toJSON',
      'id',
    ];
    for (const name of names) {
      const { status, body } = await send(`{"name":"Dog","${name}":${hostile}}`);
      assert.equal(status, 201, name);
      assert.deepEqual(Object.keys(JSON.parse(body)), ['id', 'name']);
    }
    assert.equal(Reflect.get({}, 'polluted'), undefined);
  });

  test('the deepest body within the size limit is handled without delay', async () => {
    const cpuFor = async (times: number, bytes: number) => {
      const depth = (bytes - 30) / 2;
      const body = `{"name":"Dog","x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const before = process.cpuUsage();
      for (let i = 0; i < times; i += 1) assert.equal((await send(body)).status, 201);
      return process.cpuUsage(before).user;
    };
    const inParts = await cpuFor(16, BODY_BYTES_MAX / 16);
    // As many bytes at once: only a different order of growth takes ten times the work.
    assert.ok((await cpuFor(1, BODY_BYTES_MAX)) < 10 * inParts);
  });

  test('no body was a defect, and each was counted', async () => {
    assert.deepEqual(service.events.failures, []);
    const before = Number((await send('{')).headers.get('x-ratelimit-remaining'));
    assert.equal(Number((await send('{"name":"Dog"}')).headers.get('x-ratelimit-remaining')), before - 1);
  });
});
