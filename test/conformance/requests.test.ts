import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { testService } from '../kit/service.ts';
import { refereed } from './referee.ts';

const SENT = String.raw`
1 GET /categories Basic KEY
1 GET /categories Bearer
1 GET /categories CHANGED
1 GET /categories CUT
1 GET /categories KEY if-none-match: "another"
1 GET /categories KEY if-none-match: ETAG
1 GET /categories KEY x
1 GET /categories KEY, Bearer KEY
1 GET /categories KEYx
1 GET /categories bEARER   KEY
1 GET /categories pck_other
1 GET /categories x
1 GET /categories/ KEY
1 GET /categories?colour=red KEY
1 GET /categories?limit=0 KEY
1 GET /categories?limit=1&limit=2 KEY
1 GET /categories?limit=4 KEY
1 GET /categories?limit=4&cursor=after_4 KEY
1 GET /categories?limit=4&cursor=after_8 KEY
1 GET /categories?limit=4&cursor=after_c KEY
1 GET /categories?limit=4&cursor=after_g KEY
1 GET /categories?limit=4&cursor=after_k KEY
1 GET /categories?limit=4&cursor=after_o KEY
1 GET /inventory KEY
1 GET /pets KEY
1 GET /pets?ids=1&ids=2 KEY
1 GET /rate_limit KEY
1 GET /rate_limit KEY x-request-id: conformance.A-1_
1 GET /rate_limit KEY x-request-id: two words
1 GET /store/orders KEY
1 HEAD /categories KEY
1 OPTIONS /categories KEY
1 PATCH /categories KEY
1 PATCH /pets/1 KEY content-type: application/json if-match: "another" {"status":"pending"}
1 PATCH /pets/1 KEY content-type: application/json if-match: ETAG {"status":"pending"}
1 POST /categories KEY
1 POST /categories KEY "text"
1 POST /categories KEY 300002 bytes
1 POST /categories KEY [{"name":"NAME"}]
1 POST /categories KEY content-type: text/plain {"name":"NAME"}
1 POST /categories KEY null
1 POST /categories KEY {"name":
1 POST /categories KEY {"name":" 　"}
1 POST /categories KEY {"name":""}
1 POST /categories KEY {"name":"255 code points","description":"2000 code points"}
1 POST /categories KEY {"name":"256 code points"}
1 POST /categories KEY {"name":"NAME é 🐕  ","description":""}
1 POST /categories KEY {"name":"NAME é ß 猫 🐕","description":"A \"species\"\\breed, <b>& more</b>"}
1 POST /categories KEY {"name":"NAME"
1 POST /categories KEY {"name":"NAME","description":"A species"}
1 POST /categories KEY {"name":"NAME","description":7}
1 POST /categories KEY {"name":"NAME","description":["a"]}
1 POST /categories KEY {"name":"NAME","description":null}
1 POST /categories KEY {"name":"NAME","id":9007199254740881,"extra":[]}
1 POST /categories KEY {"name":"NAME",}
1 POST /categories KEY {"name":"conformance-\n"}
1 POST /categories KEY {"name":"conformance-\u0000"}
1 POST /categories KEY {"name":1}
1 POST /categories KEY {"name":["a"]}
1 POST /categories KEY {"name":null}
1 POST /categories KEY {"name":true}
1 POST /categories KEY {"name":{"a":"b"}}
1 POST /categories UNKNOWN {"name":"NAME"}
1 POST /categories no key {"name":"NAME"}
1 POST /pets KEY {"name":"NAME","categoryId":1}
14 GET /categories KEY
16 GET /categories LIMITED connection: close
187 GET /categories LIMITED
2 GET /categories no key
2 GET /categories/1 KEY
2 GET /conformance-nothing-is-here KEY
2 GET /pets/1 KEY
2 GET /rate_limit LIMITED
2 POST /categories KEY {}
23 GET /categories UNKNOWN
3 POST /categories KEY idempotency-key: NAME {"name":"NAME"}
5 POST /categories KEY {"name":"NAME"}
8 POST /categories KEY connection: close {"name":"NAME","description":"The description of NAME"}
9 POST /categories KEY connection: close {"name":"NAME"}
`;

/** A probe that asks for less than it says would find nothing, and no server would show it. */
test('a whole judgement sends these requests, so many times, and no others', async () => {
  await using service = await testService();
  const secrets: string[] = [];
  const counts = new Map<string, number>();
  const gateway = createServer(async (request, response) => {
    const body = await buffer(request);
    const line = lineOf(request, body.toString(), secrets);
    counts.set(line, (counts.get(line) ?? 0) + 1);
    const { method, headers, url = '' } = request;
    const passed = send(new URL(url, service.url), { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
      answer.pipe(response);
    });
    // A refused body may be more than the service reads.
    passed.on('error', () => response.destroy());
    passed.end(body);
  }).listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/v1`;
  const issue = async (...args: Parameters<typeof service.issue>) => {
    const issued = await service.issue(...args);
    secrets.push(issued.secret);
    return issued;
  };
  const { rules } = await refereed(
    { url, clock: service.clock, issue },
    { otherEnvironmentKey: 'pck_other', skip: ['http.one-answer', 'errors.any-method'] },
  );
  gateway.closeAllConnections();
  gateway.close();
  assert.deepEqual(
    rules.filter(({ verdict }) => verdict === 'failed').map(({ id, seen }) => `${id}: ${seen}`),
    [],
  );
  const lines = [...counts].map(([line, count]) => `${count} ${line}`).sort();
  assert.deepEqual(lines, SENT.trim().split('\n'));
});

/** A request in one line, with names for what differs from run to run. */
function lineOf(
  {
    method,
    url = '',
    headers: { authorization = 'no key', ...headers },
  }: {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: NodeJS.Dict<string | string[]>;
  },
  body: string,
  [key = '', limited = '']: readonly string[],
): string {
  const middle = Math.floor(key.length / 2);
  const changed = key.slice(0, middle) + (key[middle] === 'x' ? 'y' : 'x') + key.slice(middle + 1);
  const unknown = key.slice(0, key.lastIndexOf('_') + 1) + 'unknown'.repeat(9);
  const names = [
    [limited, 'LIMITED'],
    [`${key}x`, 'KEYx'],
    [key, 'KEY'],
    [key.slice(0, -1), 'CUT'],
    [changed, 'CHANGED'],
  ];
  const who = [...names, [unknown.slice(0, key.length), 'UNKNOWN']].reduce(
    (text, [secret = '', name = '']) => text.replaceAll(secret, name),
    `${authorization}`,
  );
  const kept = Object.entries(headers).filter(([name]) => !/^(host|content-length)$/.test(name));
  const usual: Record<string, string> = { connection: 'keep-alive', 'accept-encoding': 'identity' };
  if (method === 'POST') usual['content-type'] = 'application/json';
  const shown = kept.filter(([name, value]) => usual[name] !== value).map(([name, value]) => `${name}: ${value}`);
  const short = body.length > 100_000 ? `${body.length} bytes` : body.replaceAll(/"((?:[^"\\]|\\.){200,})"/g, inPoints);
  const line = [method, url.replace('/v1', ''), who.replace(/^Bearer /, ''), ...shown, short].join(' ').trim();
  return line.replaceAll(/conformance-[0-9a-f]{8}-\d+/g, 'NAME').replace(/match: "[\w-]{10,}"/, 'match: ETAG');
}

function inPoints(text: string): string {
  return `"${[...JSON.parse(text)].length} code points"`;
}
