import type { Defect } from './defect.ts';

const SECOND_ANSWER = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]';

/** What is wrong around the operations: framing, media types, validators, pages, deprecation. */
export const HTTP_DEFECTS: readonly Defect[] = [
  {
    name: 'smuggled-answer',
    rule: 'http.one-answer',
    description: 'the body of a GET is taken for the next request, and answered',
    inject: () => ({
      answer: (answer, { request }) => {
        const hasBody = request.method === 'GET' && Number(request.headers['content-length'] ?? 0) > 0;
        // After this answer was written, which happens at once.
        if (hasBody) queueMicrotask(() => request.socket.write(SECOND_ANSWER));
        return answer;
      },
    }),
  },
  {
    name: 'lenient-media-type',
    rule: 'create.415',
    description: 'a body is parsed whatever its media type',
    inject: () => ({
      request: ({ request }) => {
        if (request.headers['content-type'] !== undefined) request.headers['content-type'] = 'application/json';
      },
    }),
  },
  {
    name: 'etag-ignored',
    rule: 'http.304',
    description: 'If-None-Match is ignored',
    inject: () => ({
      request: ({ request }) => {
        delete request.headers['if-none-match'];
      },
    }),
  },
  {
    name: 'idempotency-key-ignored',
    rule: 'http.idempotency-key',
    description: 'Idempotency-Key is ignored',
    inject: () => ({
      request: ({ request }) => {
        delete request.headers['idempotency-key'];
      },
    }),
  },
  {
    name: 'page-limit-ignored',
    rule: 'http.pages',
    description: 'the parameter limit is ignored',
    inject: () => ({
      request: ({ request }) => {
        request.url = request.url?.replace(/([?&])limit=[1-9]\d*/, '$1limit=1000') ?? '';
      },
    }),
  },
  {
    name: 'list-may-be-shared',
    rule: 'http.cache-control',
    description: 'shared caches may keep the list for a minute',
    inject: () => ({
      answer: (answer) => (answer.cacheControl ? { ...answer, cacheControl: 'public, max-age=60' } : answer),
    }),
  },
  {
    name: 'no-sunset',
    rule: 'deprecation.headers',
    description: 'the deprecated read has no Sunset',
    inject: () => ({
      answer: (answer, exchange) => {
        const { ownHeaders } = exchange;
        const at = ownHeaders.indexOf('Sunset');
        if (at >= 0) exchange.ownHeaders = ownHeaders.toSpliced(at, 2);
        return answer;
      },
    }),
  },
];
