import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAnswer, HOST, request } from '../kit/edge/corpus.ts';
import { openRaw, type RawAnswer, type RawConnection } from '../kit/edge/raw.ts';
import { type TestService, testService } from '../kit/service.ts';

type Text = string | Uint8Array;
const INVALID = '400 invalid_json';
const WRONG = '400 validation_failed';
const DEPTH = 100_000;
const BODY_BYTES_MAX = 256 * 1024;

/** JSON text with the value in an ignored member. */
function beside(value: Text): Uint8Array {
  return Buffer.concat([Buffer.from('{"name":"Dog","x":'), Buffer.from(value as string), Buffer.from('}')]);
}

/** Bytes that are no UTF-8, in a string. */
function inString(...bytes: readonly number[]): Uint8Array {
  return beside(Buffer.from([0x22, ...bytes, 0x22]));
}

function utf16(text: string, { bigEndian = false, bom = false } = {}): Uint8Array {
  const bytes = Buffer.from(`${bom ? '\ufeff' : ''}${text}`, 'utf16le');
  return bigEndian ? bytes.swap16() : bytes;
}

/** Values for an ignored member: valid JSON, so the create succeeds. */
const VALUES: readonly [what: string, value: Text][] = [
  ['zero', '0'],
  ['minus zero', '-0'],
  ['a fraction', '-12.5e-3'],
  ['an exponent with a plus', '1E+2'],
  ['a number beyond all doubles', '1e400'],
  ['a number too small for a double', '1e-400'],
  ['an integer beyond 2^53', '123456789012345678901234567890'],
  ['a number of 10,000 digits', '7'.repeat(10_000)],
  ['true', 'true'],
  ['null', 'null'],
  ['an empty string', '""'],
  ['all escapes', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041"'],
  ['an escaped NUL', '"\\u0000"'],
  ['an escaped surrogate pair', '"\\uD83D\\uDC15"'],
  ['half of an escaped surrogate pair', '"\\uD83D"'],
  ['a DEL', '"\x7f"'],
  ['line separators', '"\u2028\u2029"'],
  ['a noncharacter', '"\uffff"'],
  ['a byte order mark within', '"\ufeff"'],
  ['four bytes of UTF-8', '"🐕"'],
  ['an empty array', '[]'],
  ['an empty object', '{}'],
  ['an empty member name', '{"":1}'],
  ['a member name twice', '{"a":1,"a":2}'],
  ['all white space', ' \t\r\n[ \t\r\n1 , 2\n]\r'],
  ['deep arrays', '['.repeat(DEPTH) + ']'.repeat(DEPTH)],
  ['deep objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
  ['100,000 elements', `[${'0,'.repeat(100_000)}0]`],
  ['20,000 members', `{${Array.from({ length: 20_000 }, (_, i) => `"${i}":0`).join(',')}}`],
  ['__proto__ as an object', '{"__proto__":{"polluted":true}}'],
];

/** What is not JSON, or not in UTF-8. */
const INVALID_TEXTS: readonly [what: string, text: Text][] = [
  ['nothing', ''],
  ['white space alone', ' \r\n\t'],
  ['an object that breaks off', '{"name":"Dog"'],
  ['an object that breaks off in a string', '{"name":"Do'],
  ['an object that breaks off in an escape', '{"name":"Do\\'],
  ['an object that breaks off in the middle of a character', Buffer.from('{"name":"🐕').subarray(0, -2)],
  ['a second text', '{"name":"Dog"}{}'],
  ['a text and a NUL', '{"name":"Dog"}\0'],
  ['a text and a comma', '{"name":"Dog"},'],
  ['a bracket too many', '{"name":"Dog"}}'],
  ['the wrong bracket', '{"name":"Dog"]'],
  ['an unquoted name', '{name:"Dog"}'],
  ['single quotes', "{'name':'Dog'}"],
  ['a form', 'name=Dog'],
  ['XML', '<name>Dog</name>'],
  ['a member without a colon', '{"name" "Dog"}'],
  ['a member without a value', '{"name":}'],
  ['a name that is a number', '{1:2}'],
  ['two commas', '{"name":"Dog",,"x":1}'],
  ['a comma in front', '{,"name":"Dog"}'],
  ['a comma at the end of an object', '{"name":"Dog",}'],
  ['a comma at the end of an array', beside('[1,]')],
  ['a comma alone', beside('[,]')],
  ['a comment', '{"name":"Dog"/* x */}'],
  ['a comment at the end', '{"name":"Dog"} // x'],
  ['NaN', 'NaN'],
  ['NaN as a value', beside('NaN')],
  ['Infinity', beside('-Infinity')],
  ['undefined', beside('undefined')],
  ['True', beside('True')],
  ['a zero in front', beside('012')],
  ['a plus in front', beside('+1')],
  ['a bare minus', beside('-')],
  ['a point in front', beside('.5')],
  ['a point at the end', beside('1.')],
  ['an exponent without digits', beside('1e')],
  ['a hexadecimal number', beside('0x10')],
  ['an underscore in a number', beside('1_000')],
  ['a line feed in a string', beside('"a\nb"')],
  ['a tab in a string', beside('"a\tb"')],
  ['a NUL in a string', beside('"a\0b"')],
  ['a unit separator in a string', beside('"\x1f"')],
  ['an escape that does not exist', beside('"\\x41"')],
  ['an escape in octal', beside('"\\101"')],
  ['an escape that is too short', beside('"\\u12"')],
  ['an escape that is not hexadecimal', beside('"\\u12G4"')],
  ['a form feed between', '{"name":\f"Dog"}'],
  ['a no-break space between', '{"name":\u00a0"Dog"}'],
  ['a byte order mark', '\ufeff{"name":"Dog"}'],
  ['UTF-16 with a byte order mark', utf16('{"name":"Dog"}', { bom: true })],
  ['UTF-16, little end first', utf16('{"name":"Dog"}')],
  ['UTF-16, big end first', utf16('{"name":"Dog"}', { bigEndian: true })],
  ['UTF-16, big end first, with a byte order mark', utf16('{"name":"Dog"}', { bigEndian: true, bom: true })],
  ['Latin-1', inString(0xe9)],
  ['a continuation byte alone', inString(0x80)],
  ['a sequence that breaks off', inString(0xe2, 0x82)],
  ['an overlong NUL', inString(0xc0, 0x80)],
  ['an overlong slash', inString(0xe0, 0x80, 0xaf)],
  ['half of a surrogate pair in UTF-8', inString(0xed, 0xa0, 0x80)],
  ['a surrogate pair in UTF-8', inString(0xed, 0xa0, 0xbd, 0xed, 0xb0, 0x95)],
  ['a character beyond Unicode', inString(0xf4, 0x90, 0x80, 0x80)],
  ['the byte FE', inString(0xfe)],
  ['the byte FF', inString(0xff)],
  ['a sequence of five bytes', inString(0xf8, 0x88, 0x80, 0x80, 0x80)],
  ['gzip', Buffer.from('1f8b0800000000000003', 'hex')],
  ['deep arrays that break off', '['.repeat(DEPTH)],
  ['deep arrays closed once too often', '['.repeat(DEPTH) + ']'.repeat(DEPTH + 1)],
  ['a quarter of a megabyte of quotes', '"'.repeat(BODY_BYTES_MAX)],
];

/** JSON that is no NewCategory. */
const WRONG_TEXTS: readonly [what: string, text: string, field: string][] = [
  ['an array', '[]', 'The body'],
  ['an array with a category', '[{"name":"Dog"}]', 'The body'],
  ['a string', '"Dog"', 'The body'],
  ['a number', '1', 'The body'],
  ['a number beyond all doubles', '1e999', 'The body'],
  ['true', 'true', 'The body'],
  ['null', 'null', 'The body'],
  ['deep arrays', '['.repeat(DEPTH) + ']'.repeat(DEPTH), 'The body'],
  ['an empty object', '{}', 'name'],
  ['a name in capitals', '{"Name":"Dog"}', 'name'],
  ['a name inherited from __proto__', '{"__proto__":{"name":"Dog"}}', 'name'],
  ['a name that is null', '{"name":null}', 'name'],
  ['a name that is a number', '{"name":1}', 'name'],
  ['a name that is an array', '{"name":["Dog"]}', 'name'],
  ['a name that is an object', '{"name":{}}', 'name'],
  ['a name that is a deep array', `{"name":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`, 'name'],
  ['an empty name', '{"name":""}', 'name'],
  ['a blank name', '{"name":" \u00a0\u3000"}', 'name'],
  ['a name of a byte order mark', '{"name":"\ufeff"}', 'name'],
  ['a name over 255 characters', `{"name":"${'x'.repeat(256)}"}`, 'name'],
  ['a name over 200,000 characters', `{"name":"${'x'.repeat(200_000)}"}`, 'name'],
  ['a name with a NUL', '{"name":"a\\u0000b"}', 'name'],
  ['a name with a line feed', '{"name":"a\\nb"}', 'name'],
  ['a name with a tab', '{"name":"a\\tb"}', 'name'],
  ['a name with an escape character', '{"name":"\\u001b[31m"}', 'name'],
  ['a name with the first half of a pair', '{"name":"a\\ud83d"}', 'name'],
  ['a name with the second half of a pair', '{"name":"\\udc15a"}', 'name'],
  ['a name with a pair the wrong way round', '{"name":"\\udc15\\ud83d"}', 'name'],
  ['a second name that is wrong', '{"name":"Dog","name":1}', 'name'],
  ['a description that is null', '{"name":"Dog","description":null}', 'description'],
  ['a description that is a number', '{"name":"Dog","description":0}', 'description'],
  ['a description over 2,000 characters', `{"name":"Dog","description":"${'x'.repeat(2001)}"}`, 'description'],
  ['a description with a NUL', '{"name":"Dog","description":"\\u0000"}', 'description'],
  ['a description with a bell', '{"name":"Dog","description":"\\u0007"}', 'description'],
  ['a description with half of a pair', '{"name":"Dog","description":"\\udfff"}', 'description'],
];

/** Names that must be returned unchanged. */
const HOSTILE_NAMES = [
  "Robert'); DROP TABLE categories;--",
  '" OR ""="',
  '\\',
  '\\u0000 \\n',
  '%00%s%n{0}$x{{7*7}}',
  '<script>alert(1)</script>',
  '</textarea><!--',
  '../../etc/passwd',
  '=1+1',
  'null',
  '[]',
  '{"name":"x"}',
  ' in front and behind ',
  'é and e\u0301 are two things',
  '\x7f',
  '\u0085\u2028\u2029x',
  '\u202ereversed\u202c',
  'zero\u200bwidth\u200d\ufeff',
  '\ufffe\uffff\u{10ffff}',
  'ﷺ',
  '👨‍👩‍👧‍👦🏳️‍🌈',
  'Z͑ͫ̓a̴̵l̴g̷o̷',
  '\u212b, \u00c5 and A\u030a',
  'ß ſ İ ı',
  '日本語テキスト',
  'مرحبا שלום',
  '𝔘𝔫𝔦𝔠𝔬𝔡𝔢',
  '🐕'.repeat(255),
];

/** Content-Type and Content-Encoding, and the answer to a valid body sent with them. */
const MEDIA: readonly [header: string, outcome: string][] = [
  ['Content-Type: application/json', '201'],
  ['Content-Type: APPLICATION/JSON', '201'],
  ['Content-Type:application/json ', '201'],
  ['Content-Type: application/json;charset=utf-8', '201'],
  ['Content-Type: application/json ; charset=UTF-8', '201'],
  ['Content-Type: application/json; Charset="utf-8"', '201'],
  ['Content-Type: application/json;', '201'],
  ['Content-Type: application/json; version=1; charset=utf-8', '201'],
  ['Content-Type: application/json; v="a\\"b"', '201'],
  ['Content-Type: application/json; charset=utf-16', '415 unsupported_media_type'],
  ['Content-Type: application/json; charset=iso-8859-1', '415 unsupported_media_type'],
  ['Content-Type: application/json; charset=utf8', '415 unsupported_media_type'],
  ['Content-Type: application/json; charset=', '415 unsupported_media_type'],
  ['Content-Type: application/json; charset', '415 unsupported_media_type'],
  ['Content-Type: application/json; charset=utf-8; charset=utf-16', '415 unsupported_media_type'],
  ['Content-Type: application/json, text/plain', '415 unsupported_media_type'],
  ['Content-Type: application/json charset=utf-8', '415 unsupported_media_type'],
  ['Content-Type: application/jsonp', '415 unsupported_media_type'],
  ['Content-Type: application/problem+json', '415 unsupported_media_type'],
  ['Content-Type: application/merge-patch+json', '415 unsupported_media_type'],
  ['Content-Type: text/json', '415 unsupported_media_type'],
  ['Content-Type: text/plain', '415 unsupported_media_type'],
  ['Content-Type: application/x-www-form-urlencoded', '415 unsupported_media_type'],
  ['Content-Type: multipart/form-data; boundary=x', '415 unsupported_media_type'],
  ['Content-Type: */*', '415 unsupported_media_type'],
  ['Content-Type: json', '415 unsupported_media_type'],
  ['Content-Type: /', '415 unsupported_media_type'],
  ['Content-Type:', '415 unsupported_media_type'],
  ['Content-Type: \xff\xfe', '415 unsupported_media_type'],
  [`Content-Type: application/json; x=${'a'.repeat(10_000)}`, '201'],
  [`Content-Type: application/json; x="${'\\a'.repeat(4_000)}`, '415 unsupported_media_type'],
  [`Content-Type: application/json${';'.repeat(10_000)}x`, '415 unsupported_media_type'],
  ['Content-Type: application/json; x="a;b"; charset=utf-8', '201'],
  ['Content-Type: application/json; x="a;b"; charset=latin1', '415 unsupported_media_type'],
  ['Content-Type: application/json\r\nContent-Type: application/json', '415 unsupported_media_type'],
  ['Content-Encoding: gzip', '415 unsupported_media_type'],
  ['Content-Encoding: deflate', '415 unsupported_media_type'],
  ['Content-Encoding: br', '415 unsupported_media_type'],
  ['Content-Encoding: zstd', '415 unsupported_media_type'],
  ['Content-Encoding: identity', '415 unsupported_media_type'],
  ['Content-Encoding: gzip, gzip', '415 unsupported_media_type'],
  ['Content-Encoding:', '415 unsupported_media_type'],
  ['Content-Type: text/plain\r\nContent-Encoding: gzip', '415 unsupported_media_type'],
  ['Accept: text/html', '201'],
  ['Accept-Encoding: gzip', '201'],
  ['Accept-Charset: utf-16', '201'],
  ['Content-Language: en', '201'],
];

describe('bodies', () => {
  let service: TestService;
  let secret: string;
  let raw: RawConnection;

  before(async () => {
    service = await testService();
    secret = (await service.issue({ plan: 'enterprise', limits: { minute: 100_000, day: 100_000 } })).secret;
    raw = await openRaw(service.url);
  });
  after(async () => {
    await raw[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });

  async function send(text: Text, header?: string): Promise<RawAnswer> {
    const body = Buffer.from(text as string);
    const lines = ['POST /v1/categories HTTP/1.1', 'Host: a', `Authorization: Bearer ${secret}`];
    if (header) lines.push(header);
    await raw.send(`${[...lines, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`);
    await raw.send(body);
    const answer = await raw.answer();
    assertAnswer(answer);
    assert.equal(answer.headers.get('connection'), 'keep-alive');
    assert.equal(raw.unreadBytes, 0);
    return answer;
  }

  async function outcome(text: Text, header?: string): Promise<string> {
    const { status, body } = await send(text, header);
    return status === 201 ? '201' : `${status} ${JSON.parse(body).code}`;
  }

  for (const [what, value] of VALUES) {
    test(`an ignored member may hold ${what}`, async () => {
      assert.equal(await outcome(beside(value)), '201');
    });
  }

  for (const [what, text] of INVALID_TEXTS) {
    test(`${what} is not JSON in UTF-8`, async () => {
      assert.equal(await outcome(text), INVALID);
    });
  }

  for (const [what, text, field] of WRONG_TEXTS) {
    test(`${what} is no category, and the message names ${field}`, async () => {
      const { status, body } = await send(text);
      const { code, message } = JSON.parse(body);
      assert.equal(`${status} ${code}`, WRONG);
      assert.ok(message.startsWith(`${field} `), message);
      assert.ok(message.length < 250, 'long input does not come back whole');
    });
  }

  for (const [header, expected] of MEDIA) {
    const shown = JSON.stringify(header.length > 70 ? `${header.slice(0, 70)}…` : header).slice(1, -1);
    test(`a valid body under ${shown} gets ${expected}`, async () => {
      assert.equal(await outcome('{"name":"Dog"}', header), expected);
    });
  }

  test('hostile names are returned byte for byte, by the create and by the list', async () => {
    for (const name of HOSTILE_NAMES) {
      const { status, body } = await send(JSON.stringify({ name, description: name }));
      assert.equal(status, 201, name);
      const made = JSON.parse(body);
      assert.deepEqual(made, { id: made.id, name, description: name });
      const one = await service.call(secret, `/categories/${made.id}`);
      assert.equal(await one.text(), body);
    }
    const list = await (await service.call(secret, '/categories')).text();
    await service.restart();
    await raw[Symbol.asyncDispose]();
    raw = await openRaw(service.url);
    assert.equal(await (await service.call(secret, '/categories')).text(), list);
    for (const name of HOSTILE_NAMES) assert.ok(list.includes(JSON.stringify(name)), name);
  });

  test('every character is stored unchanged or refused, in a name and in a description', async () => {
    for (let unit = 0; unit < 0x100; unit++) {
      const character = String.fromCharCode(unit);
      for (const category of [{ name: `a${character}b` }, { name: 'a', description: character }]) {
        const { status, body } = await send(JSON.stringify(category));
        if (status === 201) assert.deepEqual(JSON.parse(body), { id: JSON.parse(body).id, ...category });
        else assert.equal(`${status} ${JSON.parse(body).code}`, WRONG);
        const isAllowed = unit >= 0x20 || ('description' in category && /[\t\n\r]/.test(character));
        assert.equal(status, isAllowed ? 201 : 400, `U+${unit.toString(16)}`);
      }
    }
  });

  test('the last of two members with one name counts', async () => {
    const { body } = await send('{"name":1,"description":"a","name":"Dog","description":"b"}');
    const { name, description } = JSON.parse(body);
    assert.deepEqual([name, description], ['Dog', 'b']);
  });

  test('a member name may be written in escapes', async () => {
    const { body } = await send('{"\\u006eame":"Dog"}');
    assert.equal(JSON.parse(body).name, 'Dog');
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
      const body = beside('['.repeat((bytes - 30) / 2) + ']'.repeat((bytes - 30) / 2));
      const before = process.cpuUsage();
      for (let i = 0; i < times; i += 1) assert.equal(await outcome(body), '201');
      return process.cpuUsage(before).user;
    };
    const inParts = await cpuFor(16, BODY_BYTES_MAX / 16);
    // As many bytes at once: only a different order of growth takes ten times the work.
    assert.ok((await cpuFor(1, BODY_BYTES_MAX)) < 10 * inParts);
  });

  test('each body is stored as its own, although all connections are read into one buffer', async () => {
    const { secret } = await service.issue({ plan: 'business' });
    await using stack = new AsyncDisposableStack();
    const connections: RawConnection[] = [];
    for (let i = 0; i < 40; i += 1) connections.push(stack.use(await openRaw(service.url)));
    const create = (name: string) => {
      const body = JSON.stringify({ name });
      const headers = [HOST, `Authorization: Bearer ${secret}`, `Content-Length: ${body.length}`];
      return request('POST /v1/categories HTTP/1.1', ...headers) + body;
    };
    // Packets that are parsed where they were read, and such that are copied because they are longer.
    for (const characters of [60, 250, 60, 250]) {
      const sent = connections.map((raw, index) => {
        const names = ['first', 'second', 'third'].map((which) => `${which} of `.padEnd(characters, `${index}`));
        return { raw, names, bytes: names.map(create).join('') };
      });
      // While other connections are read, the second waits for the first, and half of the third has come.
      await Promise.all(sent.map(({ raw, bytes }) => raw.send(bytes.slice(0, -characters / 2))));
      await Promise.all(sent.map(({ raw, bytes }) => raw.send(bytes.slice(-characters / 2))));
      for (const { raw, names } of sent) {
        for (const name of names) assert.equal(JSON.parse((await raw.answer()).body).name, name);
      }
    }
  });

  test('no body was a defect, and each was counted', async () => {
    assert.deepEqual(service.events.failures, []);
    const before = Number((await send('{')).headers.get('x-ratelimit-remaining'));
    assert.equal(Number((await send('{"name":"Dog"}')).headers.get('x-ratelimit-remaining')), before - 1);
  });
});
