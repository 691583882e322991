import { MISSING_DOCS, type PageHandler } from '../pages.ts';
import { fixedPage, once } from './delivery.ts';
import { GUIDE, pathOf } from './guide/pages.ts';
import type { DocsOptions } from './render.ts';
import { CACHED, leadToDocs, SITE_ASSETS, sitePage } from './site.ts';

const PAGES = ['/docs/reference', ...GUIDE.map(({ file }) => pathOf(file))];
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  json: 'application/json',
};

/** The guide, the reference, their texts as Markdown, the index of the search, and what the pages load. */
export function docsPages(options: DocsOptions): [string, PageHandler][] {
  // Loaded on the first request: a start does not need the texts and what renders them.
  const documents = once(async () => (await import('./render.ts')).documentation(options));
  const contentOf = async (path: string) => (await documents()).get(path)?.() ?? '';
  const pages = PAGES.map((path): [string, PageHandler] => [path, sitePage(() => contentOf(path))]);
  const texts = [...PAGES.map((path) => `${path}.md`), '/docs/search.json', '/llms.txt'].map(
    (path): [string, PageHandler] => [
      path,
      fixedPage({
        contentType: CONTENT_TYPES[path.replace(/^.*\./, '')] ?? '',
        cacheControl: CACHED,
        content: () => contentOf(path),
      }),
    ],
  );
  return [
    ...pages,
    ...texts,
    ['/docs/', leadToDocs],
    [MISSING_DOCS, sitePage(() => contentOf(MISSING_DOCS), 404)],
    ...SITE_ASSETS.map(({ path, page }): [string, PageHandler] => [path, page]),
  ];
}
