import { refusal } from '../../http/errors.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Decision } from '../../limits/limiter.ts';
import { type Defect, defect, type Fault, jsonIn, withHeader } from './defect.ts';
import { changed, rewriting } from './errors.ts';
import { waiting } from './headers.ts';
import { limiting } from './limits.ts';

const PATH = '/v1/categories';
const BAN_SECONDS = 60;

/** Keys, errors, validators, pages and bans that are not as HTTP or the interface has them. */
export const PROTOCOL_DEFECTS: readonly Defect[] = [
  defect('auth.401-missing', 'empty-key-is-403', 'a bearer token of nothing is 403', {
    answer: (answer, { request }) =>
      answer.status === 401 && request.headers.authorization?.trim() === 'Bearer'
        ? { ...answer, status: 403, body: changed(answer, { status: 403 }) }
        : answer,
  }),
  authorizing('auth.401-invalid', 'key-of-one-more', 'a key with one more character is valid', (text) =>
    text.replace(/^(Bearer \w{48})x$/, '$1'),
  ),
  authorizing('auth.scheme-any-case', 'scheme-in-one-case', 'the scheme must be written Bearer', (text) =>
    /^bEARER/.test(text) ? 'x' : text,
  ),
  authorizing('auth.bearer-only', 'word-after-the-key', 'a word after the key is passed over', (text) =>
    text.replace(/^(Bearer \w{48}) x$/, '$1'),
  ),
  defect('auth.challenge', 'no-reason-in-challenge', 'a 401 for a bad key has a plain challenge', {
    ...rewriting('invalid_api_key', (answer) => withHeader(answer, 'WWW-Authenticate', 'Bearer realm="pet-catalog"')),
  }),
  defect(
    'auth.other-environment',
    'other-environment-is-403',
    'a key of the other environment is 403',
    ofOther((answer) => ({ ...answer, status: 403 })),
  ),
  defect(
    'auth.other-environment',
    'other-environment-told',
    'a key of the other environment gets a message of its own',
    ofOther((answer) => ({ ...answer, body: changed(answer, { message: 'This is a key of production' }) })),
  ),
  defect(
    'errors.shape',
    'code-is-a-number',
    'the code of a 413 is a number',
    shaped((body) => ({ ...body, code: 413 })),
  ),
  defect(
    'errors.shape',
    'no-message',
    'a 413 has no message',
    shaped(({ message: _, ...rest }) => rest),
  ),
  defect(
    'errors.shape',
    'no-status',
    'a 413 has no status',
    shaped(({ status: _, ...rest }) => rest),
  ),
  defect('errors.404', 'unknown-path-is-403', 'an unknown path is 403', {
    answer: (answer, { path }) =>
      answer.code === 'not_found' && path.startsWith('/v1/conformance-')
        ? { ...answer, status: 403, body: changed(answer, { status: 403 }) }
        : answer,
  }),
  defect('errors.404', 'trailing-slash-redirects', 'a slash at the end is a redirect', {
    answer: (answer, { path }) => (path === `${PATH}/` ? { status: 308, headers: ['Location', PATH] } : answer),
  }),
  defect('errors.405', 'wrong-method-is-404', 'PATCH where there is none is 404', {
    answer: (answer, { request }) =>
      answer.code === 'method_not_allowed' && request.method === 'PATCH'
        ? refusal('not_found', 'Nothing is here')
        : answer,
  }),
  defect('errors.405', 'allow-without-post', 'Allow forgets POST', {
    answer: (answer) => (answer.status === 405 ? withHeader(answer, 'Allow', 'GET, HEAD, OPTIONS') : answer),
  }),
  defect(
    'errors.any-method',
    'query-is-404',
    'QUERY is 404',
    querying(() => refusal('not_found', 'Nothing is here')),
  ),
  defect(
    'errors.any-method',
    'query-without-allow',
    'a 405 for QUERY has no Allow',
    querying((answer) => withHeader(answer, 'Allow')),
  ),
  defect('errors.413', 'large-body-is-400', 'a body that is too large is 400', {
    answer: (answer) =>
      answer.code === 'payload_too_large'
        ? { ...refusal('validation_failed', 'The body is too large'), closes: true }
        : answer,
  }),
  defect(
    'errors.codes',
    'code-repeats-status',
    'the code of a 404 is "404"',
    rewriting('not_found', (answer) => ({ ...answer, body: changed(answer, { code: '404' }) })),
  ),
  defect(
    'http.304',
    'weak-etag',
    'the ETag of the list is weak',
    heading('ETag', (tag, { path, request }) => (path === PATH && tag && request.method === 'GET' ? `W/${tag}` : tag)),
  ),
  defect('http.304', 'etag-stays', 'the ETag of the list never changes', () => {
    let real = '';
    return {
      request: ({ request }) => {
        if (request.headers['if-none-match'] === '"same"') request.headers['if-none-match'] = real;
      },
      head: (headers, { path, request }) => {
        const tag = headers.get('ETag');
        if (tag === undefined || path !== PATH || request.method !== 'GET') return;
        real = tag;
        headers.set('ETag', '"same"');
      },
    };
  }),
  defect('http.304', 'any-etag-matches', 'a list is 304 for any If-None-Match', {
    answer: (answer, { path, request }) =>
      path === PATH && answer.status === 200 && request.headers['if-none-match']
        ? { ...answer, status: 304, body: '' }
        : answer,
  }),
  defect('http.head', 'head-is-405', 'HEAD is 405', {
    answer: (answer, { request }) => (request.method === 'HEAD' ? refusal('method_not_allowed', 'No') : answer),
  }),
  paging('page-is-404', 'a page is 404', () => refusal('not_found', 'There are no pages')),
  paging('page-in-an-object', 'a page is an object', (answer) => ({
    ...answer,
    body: JSON.stringify({ items: jsonIn(answer) }),
  })),
  paging('next-loops', 'the next page is the same one', (answer, url) =>
    withHeader(answer, 'Link', `<${url}>; rel="next"`),
  ),
  paging('no-next', 'a page has no link to the next', (answer) => withHeader(answer, 'Link')),
  paging('next-elsewhere', 'the next page is on another host', (answer) =>
    withHeader(answer, 'Link', '<https://example.invalid/v1/categories>; rel="next"'),
  ),
  paging('pages-of-others', 'the pages have other ids than the list', (answer) => ({
    ...answer,
    body: JSON.stringify((jsonIn(answer) as { id: number }[]).map((each) => ({ ...each, id: each.id + 100_000 }))),
  })),
  defect('http.pages', 'limit-of-zero', 'a limit of 0 is the usual one', {
    request: ({ request }) => {
      if (request.url?.endsWith('limit=0')) request.url = PATH;
    },
  }),
  defect(
    'http.request-id',
    'request-id-ignored',
    "the caller's id is ignored",
    heading('X-Request-Id', () => 'ours'),
  ),
  defect(
    'http.request-id',
    'request-id-echoed',
    'any id is echoed',
    heading('X-Request-Id', (id, { request }) => `${request.headers['x-request-id'] ?? id}`),
  ),
  defect(
    'http.idempotency-key',
    'replay-not-told',
    'a replay has no Idempotency-Replayed',
    heading('Idempotency-Replayed', () => undefined),
  ),
  defect('http.idempotency-key', 'reused-key-is-409', 'another body under a used Idempotency-Key is 409', {
    answer: (answer) =>
      answer.status === 422 ? { ...answer, status: 409, body: changed(answer, { status: 409 }) } : answer,
  }),
  defect(
    'http.cache-control',
    'sniffed',
    'X-Content-Type-Options is missing',
    heading('X-Content-Type-Options', () => undefined),
  ),
  defect('http.parameters', 'unknown-parameter-ignored', 'an unknown parameter is passed over', {
    request: ({ request }) => {
      request.url = request.url?.replace('?colour=red', '') ?? '';
    },
  }),
  defect('http.parameters', 'first-of-two-taken', 'of a parameter that is given twice the first counts', {
    request: ({ request }) => {
      request.url = request.url?.replace('&limit=2', '') ?? '';
    },
  }),
  defect('http.parameters', 'ids-once-only', 'ids that are given twice are 400', {
    answer: (answer, { request }) =>
      request.url?.includes('&ids=') ? refusal('validation_failed', 'ids is given twice; give it once') : answer,
  }),
  defect('http.etag-of-one', 'created-weak-etag', 'the ETag of a create is weak', {
    head: (headers, _, status) => {
      if (status === 201) headers.set('ETag', `W/${headers.get('ETag')}`);
    },
  }),
  defect(
    'http.etag-of-one',
    'etag-of-another',
    'a GET of a category has another ETag than its create',
    heading('ETag', (tag, { path }) => (tag && /^.v1.categories.\d+$/.test(path) ? '"other"' : tag)),
  ),
  defect('http.if-match', 'if-match-ignored', 'If-Match is ignored', {
    request: ({ request }) => {
      delete request.headers['if-match'];
    },
  }),
  defect('http.if-match', 'if-match-is-412', 'any If-Match is 412', {
    answer: (answer, { request }) =>
      request.headers['if-match'] && answer.status === 200 ? refusal('precondition_failed', 'It has changed') : answer,
  }),
  defect(
    'deprecation.headers',
    'no-deprecation',
    'the deprecated read has no Deprecation',
    heading('Deprecation', () => undefined),
  ),
  defect(
    'deprecation.headers',
    'sunset-of-1970',
    'the Sunset of the deprecated read is 1970',
    heading('Sunset', (text) => text && 'Thu, 01 Jan 1970 00:00:00 GMT'),
  ),
  defect(
    'deprecation.headers',
    'no-successor',
    'the deprecated read names no successor',
    heading('Link', (text) => text?.replace('successor-version', 'next')),
  ),
  banning('bans.repeated-refusals', 'no-bans', 'a key is never banned', (decision) => {
    const { ban: _, ...rest } = decision;
    return decision.ban ? { ...rest, refusal: 'rate_limit_exceeded' } : decision;
  }),
  waiting(
    defect('bans.repeated-refusals', 'ban-at-once', 'a key is banned after twenty refusals', () => {
      let [refusals, until] = [0, 0];
      return deciding(
        (decision) => {
          const { now } = decision;
          if (!decision.refusal) return now < until ? banned(decision, until) : decision;
          refusals += 1;
          if (refusals > 40 && until === 0) until = now + BAN_SECONDS;
          return now < until ? banned(decision, until) : decision;
        },
        (seen) => (seen.now < until ? banned(seen, until) : seen),
      );
    }),
  ),
  banning('bans.calls-do-not-lengthen', 'ban-lengthened', 'a call during a ban lengthens it', (decision) =>
    decision.ban ? { ...decision, reset: decision.now + BAN_SECONDS } : decision,
  ),
  waiting(
    defect(
      'bans.rate-limit-operation',
      'banned-state-is-403',
      'GET /rate_limit is 403 during a ban',
      ofBan((body) => body, 403),
    ),
  ),
  waiting(
    defect(
      'bans.rate-limit-operation',
      'ban-of-another-end',
      'GET /rate_limit tells of another end of a ban',
      ofBan((body) => ({ ...body, ban: { ...(body.ban as object), until: 1 } })),
    ),
  ),
  waiting(
    defect(
      'bans.rate-limit-operation',
      'ban-without-reason',
      'GET /rate_limit tells no reason of a ban',
      ofBan((body) => ({ ...body, ban: { ...(body.ban as object), reason: null } })),
    ),
  ),
  waiting(
    defect('bans.end', 'ban-outlasts-retry-after', 'a ban goes on for a minute after its Retry-After', () => {
      let ends = 0;
      return deciding((decision) => {
        if (decision.ban) ends = decision.reset;
        return ends > 0 && decision.now >= ends ? banned(decision, ends + BAN_SECONDS) : decision;
      });
    }),
  ),
];

function authorizing(rule: string, name: string, description: string, change: (text: string) => string): Defect {
  return defect(rule, name, description, {
    request: ({ request }) => {
      const { authorization } = request.headers;
      if (authorization !== undefined) request.headers.authorization = change(authorization);
    },
  });
}

/** Changes answers to keys of production. */
function ofOther(change: (answer: Answer) => Answer): Fault {
  return rewriting('invalid_api_key', (answer, { request }) =>
    request.headers.authorization?.startsWith('Bearer petcat_live_') ? change(answer) : answer,
  );
}

function shaped(change: (body: Readonly<Record<string, unknown>>) => object): Fault {
  return rewriting('payload_too_large', (answer) => ({
    ...answer,
    body: JSON.stringify(change(jsonIn(answer) as Readonly<Record<string, unknown>>)),
  }));
}

function querying(change: (answer: Answer) => Answer): Fault {
  return { answer: (answer, { request }) => (request.method === 'QUERY' ? change(answer) : answer) };
}

/** Changes one header of every answer; undefined removes it. */
function heading(name: string, change: (value: string | undefined, exchange: Exchange) => string | undefined): Fault {
  return {
    head: (headers, exchange) => {
      const value = change(headers.get(name), exchange);
      if (value === undefined) headers.delete(name);
      else headers.set(name, value);
    },
  };
}

/** Changes pages of the list. */
function paging(name: string, description: string, change: (answer: Answer, url: string) => Answer): Defect {
  return defect('http.pages', name, description, {
    answer: (answer, { path, request }) =>
      path === PATH && request.method === 'GET' && request.url?.includes('?') && answer.status === 200
        ? change(answer, request.url)
        : answer,
  });
}

function deciding(change: (decision: Decision) => Decision, look = change): Fault {
  return limiting((limiter) => ({
    peek: (key) => {
      const seen = limiter.peek(key);
      return seen instanceof Promise ? seen.then(look) : look(seen);
    },
    charge: (key) => {
      const decide = (decision: Decision) => (key.plan === 'free' ? change(decision) : decision);
      const decision = limiter.charge(key);
      return decision instanceof Promise ? decision.then(decide) : decide(decision);
    },
    current: (_, decision) => decision,
  }));
}

function banning(rule: string, name: string, description: string, change: (decision: Decision) => Decision): Defect {
  return waiting(defect(rule, name, description, deciding(change)));
}

function banned(decision: Decision, until: number): Decision {
  return {
    ...decision,
    refusal: 'key_banned',
    remaining: 0,
    reset: until,
    ban: { until, reason: 'Too many refusals' },
  };
}

/** Changes the state that a banned key is told. */
function ofBan(change: (body: Readonly<Record<string, unknown>>) => object, status = 200): Fault {
  return {
    answer: (answer, { path }) => {
      if (path !== '/v1/rate_limit' || answer.status !== 200) return answer;
      const body = jsonIn(answer) as Readonly<Record<string, unknown>>;
      return body.ban ? { ...answer, status, body: JSON.stringify(change(body)) } : answer;
    },
  };
}
