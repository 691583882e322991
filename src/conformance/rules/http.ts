import { type Exchange, jsonOf } from '../exchange.ts';
import { create, createdOf, head, itemsOf, list, notModified } from '../probes.ts';
import { expect, expectStatus, known, type Rule, Skipped } from '../rule.ts';
import type { RawTarget } from '../trial.ts';

/** Rules of HTTP itself: framing, validators, pages, ids of requests, repeated creates, deprecation. */
export const HTTP: readonly Rule[] = [
  {
    id: 'http.one-answer',
    level: 'ours',
    sentence: 'A message that two servers could read differently gets one answer (RFC 9112, section 11.2).',
    expected: 'one answer to a GET with another request for a body, and one to Content-Length beside Transfer-Encoding',
    brokenBy: 'two answers to one smuggled request',
    async judge(trial) {
      for (const { name, compose, answers } of SMUGGLED) {
        const statuses = await trial.sendRaw(compose);
        const sent: Exchange['sent'] = { method: 'GET', path: name, headers: {}, body: undefined };
        const exchange = { sent, answer: { status: statuses[0] ?? 0, headers: new Map(), body: '' } };
        if (statuses.length === 0) throw new Skipped(`no answer to ${name}`);
        expect(statuses.length <= answers, `${name}: ${statuses.length} answers, ${statuses.join(', ')}`, exchange);
      }
    },
  },
  {
    id: 'http.304',
    level: 'ours',
    sentence: 'Strong ETag on the whole list; If-None-Match gives 304.',
    expected: '304 without a body for the ETag of the list, and 200 for another',
    brokenBy: 'an If-None-Match that is ignored',
    async judge(trial) {
      const { answer } = await trial.once(list);
      expect(/^"[^"]+"$/.test(answer.headers.get('etag') ?? ''), 'the list has no strong ETag', await trial.once(list));
      const current = await trial.once(notModified);
      expectStatus(current, 304);
      expect(current.answer.body === '', 'there is a body', current);
      expectStatus(await trial.send({ headers: { 'if-none-match': '"another"' } }), 200);
    },
  },
  {
    id: 'http.head',
    level: 'ours',
    sentence: 'HEAD wherever there is GET.',
    expected: '200 without a body',
    brokenBy: 'a 405',
    async judge(trial) {
      const exchange = await trial.once(head);
      expectStatus(exchange, 200);
      expect(exchange.answer.body === '', 'there is a body', exchange);
    },
  },
  {
    id: 'http.pages',
    level: 'ours',
    sentence: '?limit=1..1000 and ?cursor= give a page, a plain array, with Link: <…>; rel="next".',
    expected: 'one category and a Link to the next, 400 for limit=0',
    brokenBy: 'a limit that is ignored',
    async judge(trial) {
      const whole = await trial.once(list);
      const first = known(itemsOf(whole)[0], 'the list was empty');
      const page = await trial.send({ path: '/categories?limit=1' });
      expectStatus(page, 200);
      expect(Array.isArray(jsonOf(page.answer)) && itemsOf(page).length === 1, 'the page is another', page);
      expect(itemsOf(page)[0]?.id === first.id, 'it is not the first category', page);
      const link = page.answer.headers.get('link') ?? '';
      expect(/rel="next"/.test(link) || itemsOf(whole).length === 1, 'there is no Link', page);
      expectStatus(await trial.send({ path: '/categories?limit=0' }), 400);
    },
  },
  {
    id: 'http.request-id',
    level: 'ours',
    sentence: "X-Request-Id: the caller's if it is 1–128 characters of [A-Za-z0-9._-], otherwise a new one.",
    expected: 'the id that was sent, and another for one with a space',
    brokenBy: 'an id that is echoed as it came',
    async judge(trial) {
      const idOf = async (sent: string) => {
        const exchange = await trial.send({ path: '/rate_limit', headers: { 'x-request-id': sent } });
        return { exchange, id: exchange.answer.headers.get('x-request-id') ?? '' };
      };
      const kept = await idOf('conformance.A-1_');
      expect(kept.id === 'conformance.A-1_', `the id is ${kept.id}`, kept.exchange);
      const replaced = await idOf('two words');
      expect(/^[A-Za-z0-9._-]{1,128}$/.test(replaced.id), `the id is ${replaced.id}`, replaced.exchange);
    },
  },
  {
    id: 'http.idempotency-key',
    level: 'ours',
    sentence: 'The first outcome of a POST with an Idempotency-Key is replayed; with another body the answer is 422.',
    expected: 'the same category twice, the second with Idempotency-Replayed: true, and 422',
    brokenBy: 'an Idempotency-Key that is ignored',
    async judge(trial) {
      const headers = { 'idempotency-key': trial.newName() };
      const body = { name: trial.newName() };
      const first = await trial.post(body, headers);
      const second = await trial.post(body, headers);
      const isSame = createdOf(first).id === createdOf(second).id;
      const isReplay = second.answer.headers.get('idempotency-replayed') === 'true';
      expect(isSame && isReplay, 'it is no replay', first, second);
      expectStatus(await trial.post({ name: trial.newName() }, headers), 422);
    },
  },
  {
    id: 'http.cache-control',
    level: 'ours',
    sentence: 'Cache-Control: private, no-cache where there is an ETag, otherwise no-store.',
    expected: 'private, no-cache for the list, no-store for a create; nosniff for both',
    brokenBy: 'a list that a shared cache may keep',
    async judge(trial) {
      for (const [probe, wanted] of [[list, 'private, no-cache'] as const, [create, 'no-store'] as const]) {
        const exchange = await trial.once(probe);
        const { headers } = exchange.answer;
        expect(headers.get('cache-control') === wanted, `Cache-Control is not ${wanted}`, exchange);
        expect(headers.get('x-content-type-options') === 'nosniff', 'nosniff is missing', exchange);
      }
    },
  },
  {
    id: 'deprecation.headers',
    level: 'ours',
    sentence: 'The pet-by-identifier read operation is announced as deprecated with a sunset date.',
    expected: 'Deprecation (RFC 9745), Sunset (RFC 8594) and a Link to the successor on GET /pets/{petId}',
    brokenBy: 'no Sunset on the deprecated read',
    async judge(trial) {
      const exchange = await trial.send({ path: '/pets/1' });
      const { headers } = exchange.answer;
      expect(/^@\d+$/.test(headers.get('deprecation') ?? ''), 'there is no Deprecation', exchange);
      expect(!Number.isNaN(Date.parse(headers.get('sunset') ?? '')), 'there is no Sunset', exchange);
      expect(/rel="successor-version"/.test(headers.get('link') ?? ''), 'there is no successor', exchange);
    },
  },
];

/** What each is for a server that reads it right, and how many answers that makes. */
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

function get({ path, headers }: RawTarget, more?: string): string {
  return `GET ${path} HTTP/1.1\r\n${headers}${more === undefined ? '' : `${more}\r\n`}\r\n`;
}
