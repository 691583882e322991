import { methodNotAllowed, refusal } from './errors.ts';
import type { Answer, Exchange } from './transport/exchange.ts';
import { hasFragment } from './transport/request.ts';

/** A page outside the API, served to GET and HEAD without a key. */
export type PageHandler = (exchange: Exchange) => Answer | Promise<Answer>;

/** The key of the page that answers for every address below `/docs/` that has none. No request names it. */
export const MISSING_DOCS = '/docs/*';

/** Answers a request outside the API at `apiBase` with its page, or with 404. */
export function respondPage(
  exchange: Exchange,
  pages: ReadonlyMap<string, PageHandler>,
  apiBase: string,
): Answer | Promise<Answer> {
  if (exchange.path === '*') return { status: 204, headers: ['Allow', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'] };
  exchange.hasLimitHeaders = false;
  const page = hasFragment(exchange) ? undefined : pages.get(exchange.path);
  const missing = exchange.path.startsWith('/docs/') ? pages.get(MISSING_DOCS) : undefined;
  if (!page && missing) return missing(exchange);
  if (!page)
    return refusal('not_found', `There is nothing at this address; the paths of the API begin with ${apiBase}`);
  exchange.route = exchange.path;
  const { method = '' } = exchange.request;
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(method, 'GET, HEAD');
  return page(exchange);
}
