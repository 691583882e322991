import { type Exchange, jsonOf, membersOf, momentOf, Skipped } from '../../trial/exchange.ts';
import { idOf } from '../../trial/list-reader.ts';
import { each, expect, expectStatus, given, ours, type RuleTable, statuses } from '../../trial/rule.ts';
import { creating, type RawTarget, type Trial } from '../../trial/trial.ts';
import { create, createdOf, head, list, listOf, notModified, unknownPath } from '../probes.ts';

const PAGES_MAX = 8;

/** Rules of HTTP itself: framing, validators, pages, ids of requests, repeated creates, deprecation. */
export const HTTP: RuleTable = {
  'http.one-answer': {
    ...ours(
      'RFC 9112, section 11.2',
      'A message that two servers could read differently gets one answer (RFC 9112, section 11.2).',
    ),
    expected: 'one answer to a GET with another request for a body, and one to Content-Length beside Transfer-Encoding',
    async judge(trial) {
      for (const { name, compose, answers } of SMUGGLED) {
        const statuses = await trial.sendRaw(compose);
        const sent: Exchange['sent'] = { method: 'GET', path: name, headers: {}, body: undefined };
        const answer = { status: statuses[0] ?? 0, headers: new Map(), body: '', isCut: false, list: undefined };
        const exchange = { ...answer, sent, seconds: 0 };
        if (statuses.length === 0) throw new Skipped(`there was no answer to ${name}`);
        expect(statuses.length <= answers, `${name}: ${statuses.length} answers, ${statuses.join(', ')}`, exchange);
      }
    },
  },
  'http.304': {
    ...ours('RFC 9110, section 13.1.2; wire.md, Categories', 'Strong ETag on the whole list; If-None-Match gives 304.'),
    expected: '304 for the ETag of the list, another ETag after a create, and 200 for one that never was',
    judge: given(list, async (listed, trial) => {
      expect(/^"[^"]+"$/.test(listed.headers.get('etag') ?? ''), 'the list has no strong ETag', listed);
      const before = await trial.send();
      expectStatus(await trial.once(notModified), 304);
      createdOf(await create(trial));
      const after = await trial.send();
      const isOther = before.headers.get('etag') !== after.headers.get('etag');
      expect(isOther, 'the ETag of the list is the same after a create', before, after);
      expectStatus(await trial.send({ headers: { 'if-none-match': '"another"' } }), 200);
    }),
  },
  'http.head': {
    ...ours('RFC 9110, section 9.3.2; wire.md, Beyond a single request', 'HEAD wherever there is GET.'),
    expected: '200 without a body',
    judge: statuses(200, head),
  },
  'http.pages': {
    ...ours(
      'wire.md, Categories',
      '?limit=1..1000 and ?cursor= give a page, a plain array, with Link: <…>; rel="next".',
    ),
    expected: 'pages that have no more than the limit, and together the list; 400 for limit=0',
    async judge(trial) {
      const list = await trial.send();
      const { ids } = listOf(list);
      const count = ids.size;
      if (count === 0) throw new Skipped('the list was empty');
      const limit = Math.max(1, Math.ceil(count / (PAGES_MAX - 1)));
      const seen: unknown[] = [];
      let path: string | undefined = `/categories?limit=${limit}`;
      for (let pages = 0; path !== undefined && pages < PAGES_MAX; pages += 1) {
        const page: Exchange = await trial.send({ path });
        expectStatus(page, 200);
        const items = jsonOf(page);
        expect(Array.isArray(items), 'a page is no array', page);
        expect(items.length <= limit, `a page of ${limit} has ${items.length}`, page);
        const own = items.map((item) => idOf(membersOf(item)));
        const again = own.find((id) => seen.includes(id));
        expect(again === undefined, `the category ${again} is on two pages`, page);
        seen.push(...own);
        path = nextOf(trial, page);
        expect(path !== undefined || seen.length >= count, `the pages end after ${seen.length} of ${count}`, page);
      }
      const left = [...ids].find((id) => !seen.includes(id));
      expect(left === undefined, `the category ${left} is on no page`, list);
      expectStatus(await trial.send({ path: '/categories?limit=0' }), 400);
    },
  },
  'http.request-id': {
    ...ours(
      'wire.md, Headers',
      "X-Request-Id: the caller's if it is 1–128 characters of [A-Za-z0-9._-], otherwise a new one.",
    ),
    expected: 'the id that was sent, and another for one with a space',
    async judge(trial) {
      const idOf = async (sent: string) => {
        const exchange = await trial.send({ path: '/rate_limit', headers: { 'x-request-id': sent } });
        return { exchange, id: exchange.headers.get('x-request-id') ?? '' };
      };
      const kept = await idOf('conformance.A-1_');
      expect(kept.id === 'conformance.A-1_', `the id is ${kept.id}`, kept.exchange);
      const replaced = await idOf('two words');
      expect(/^[A-Za-z0-9._-]{1,128}$/.test(replaced.id), `the id is ${replaced.id}`, replaced.exchange);
    },
  },
  'http.idempotency-key': {
    ...ours(
      'wire.md, Beyond a single request',
      'The first outcome of a POST with an Idempotency-Key is replayed; with another body the answer is 422.',
    ),
    expected: 'the same category twice, the second with Idempotency-Replayed: true, and 422',
    async judge(trial) {
      const headers = { 'idempotency-key': trial.newName() };
      const body = { name: trial.newName() };
      const first = await trial.post(body, headers);
      const second = await trial.post(body, headers);
      expect(createdOf(first).id === createdOf(second).id, 'it was created twice', first, second);
      const isReplay = second.headers.get('idempotency-replayed') === 'true';
      expect(isReplay, 'Idempotency-Replayed is missing', first, second);
      expectStatus(await trial.post({ name: trial.newName() }, headers), 422);
    },
  },
  'http.cache-control': {
    ...ours('wire.md, Headers', 'Cache-Control: private, no-cache where there is an ETag, otherwise no-store.'),
    expected: 'private, no-cache for what has an ETag, no-store for the rest; nosniff for both',
    judge: each([list, create, unknownPath], (exchange) => {
      const { headers } = exchange;
      const wanted = headers.get('etag') === undefined ? 'no-store' : 'private, no-cache';
      expect(headers.get('cache-control') === wanted, `Cache-Control is not ${wanted}`, exchange);
      expect(headers.get('x-content-type-options') === 'nosniff', 'nosniff is missing', exchange);
    }),
  },
  'http.parameters': {
    ...ours(
      'wire.md, Addressing',
      'A query parameter that the operation does not have is 400, one that is given twice too, but for lists.',
    ),
    expected: '400 for ?colour=red and for ?limit=1&limit=2, 200 for /pets?ids=1&ids=2',
    async judge(trial) {
      expectStatus(await trial.send({ path: '/categories?colour=red' }), 400);
      expectStatus(await trial.send({ path: '/categories?limit=1&limit=2' }), 400);
      expectStatus(await trial.send({ path: '/pets?ids=1&ids=2' }), 200);
    },
  },
  'http.etag-of-one': {
    ...ours('wire.md, Pages', 'Every single resource has a strong ETag, sent by its GET and by the 201 that made it.'),
    expected: 'a strong ETag on a create, and the same one on a GET of its category',
    judge: given(create, async (made, trial) => {
      const etag = made.headers.get('etag') ?? '';
      expect(/^"[^"]+"$/.test(etag), 'the create has no strong ETag', made);
      const read = await trial.send({ path: `/categories/${createdOf(made).id}` });
      if (read.status >= 400) throw new Skipped('the category cannot be read');
      expect(read.headers.get('etag') === etag, 'the ETag of a GET is another', made, read);
    }),
  },
  'http.if-match': {
    ...ours(
      'wire.md, Pages; RFC 9110, section 13.1.1',
      'If-Match on PATCH: 412 when the present ETag is none of those sent (RFC 9110, section 13.1.1).',
    ),
    expected: 'for a pet that was created: 412 with another ETag, 200 with its own',
    async judge(trial) {
      const categoryId = createdOf(await trial.once(create)).id;
      const pet = { ...creating({ name: trial.newName(), categoryId }), path: '/pets' };
      const { id } = createdOf(await trial.send(pet));
      const path = `/pets/${id}`;
      const read = await trial.send({ path });
      const change = (etag: string) => ({
        ...creating({ status: 'pending' }, { 'if-match': etag }),
        method: 'PATCH',
        path,
      });
      expectStatus(await trial.send(change('"another"')), 412);
      expectStatus(await trial.send(change(read.headers.get('etag') ?? '')), 200);
    },
  },
  'deprecation.headers': {
    ...ours(
      'Versioning; RFC 9745; RFC 8594',
      'The pet-by-identifier read operation is announced as deprecated with a sunset date.',
    ),
    expected: 'Deprecation (RFC 9745), Sunset (RFC 8594) and a Link to the successor on GET /pets/{petId}',
    judge: each([{ path: '/pets/1' }], (exchange) => {
      const { headers } = exchange;
      expect(/^@\d+$/.test(headers.get('deprecation') ?? ''), 'there is no Deprecation', exchange);
      const [deprecation, sunset] = [Number(headers.get('deprecation')?.slice(1)), momentOf(headers.get('sunset'))];
      expect(sunset !== undefined, 'there is no Sunset, or no IMF-fixdate in it', exchange);
      expect(sunset > deprecation, 'Sunset is not after Deprecation', exchange);
      expect(/rel="successor-version"/.test(headers.get('link') ?? ''), 'there is no successor', exchange);
    }),
  },
};

/** The meaning of each for a server that reads it right, and how many answers that makes. */
const SMUGGLED: readonly {
  readonly name: string;
  readonly compose: (target: RawTarget) => string;
  readonly answers: number;
}[] = [
  {
    name: 'a GET whose body is another request',
    // The last request ends the connection, so that nothing has to be waited for.
    compose: (target) => {
      const hidden = get(target);
      return get(target, `Content-Length: ${hidden.length}`) + hidden + get(target, 'Connection: close');
    },
    answers: 2,
  },
  {
    name: 'a POST with Content-Length and Transfer-Encoding',
    compose: (target) => {
      const hidden = `0\r\n\r\n${get(target, 'Connection: close')}`;
      const framing = `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked`;
      return `POST ${target.path} HTTP/1.1\r\n${target.headers}${framing}\r\n\r\n${hidden}`;
    },
    answers: 1,
  },
];

/** The path of the next page; undefined on the last. Throws `Broken` for a link that leads out of the interface. */
function nextOf(trial: Trial, page: Exchange): string | undefined {
  const target = /<([^<>]*)>; *rel="?next"?/.exec(page.headers.get('link') ?? '')?.[1];
  if (target === undefined) return undefined;
  const base = trial.client.addressOf('');
  const address = URL.parse(target, trial.client.addressOf(page.sent.path))?.href ?? '';
  expect(address.startsWith(`${base}/`), 'the next page is outside the base address', page);
  return address.slice(base.length);
}

function get({ path, headers }: RawTarget, more?: string): string {
  return `GET ${path} HTTP/1.1\r\n${headers}${more === undefined ? '' : `${more}\r\n`}\r\n`;
}
