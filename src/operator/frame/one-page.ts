import type { Html } from '../../http/html.ts';
import type { ConsoleContext } from './context.ts';
import { pager } from './element.ts';
import { addressOf, type ListQuery, numberIn } from './list.ts';

const ROWS_PER_PAGE = 50;

interface Paged {
  readonly path: string;
  readonly filter: ListQuery;
  /** The parameter with the id at which the page begins. */
  readonly by?: 'after' | 'before';
}

/** The items of the page that the request asks for, and the links to the first page and the next. */
export async function onePage<Item extends { readonly id: number }>(
  { exchange }: Pick<ConsoleContext, 'exchange'>,
  { path, filter, by = 'after' }: Paged,
  read: (page: { after: number; limit: number }) => Promise<readonly Item[]>,
): Promise<{ items: readonly Item[]; pages: Html; isFirst: boolean }> {
  const after = numberIn(exchange.query, by, 0);
  const found = await read({ after, limit: ROWS_PER_PAGE + 1 });
  const items = found.slice(0, ROWS_PER_PAGE);
  const last = found.length > ROWS_PER_PAGE ? items.at(-1) : undefined;
  const first = after > 0 ? addressOf(path, filter) : undefined;
  const next = last && addressOf(path, { ...filter, [by]: `${last.id}` });
  const words = by === 'before' ? ['Newest', 'Older'] : ['First page', 'Next'];
  return { items, pages: pager(first, next, words), isFirst: after === 0 };
}
