import { MISSING_DOCS, type PageHandler } from '../pages.ts';
import { fixedPage, keptOnceMade } from './delivery.ts';
import { GUIDE, pathOf } from './guide/pages.ts';
import { openApiDocument } from './openapi.ts';
import type { DocsOptions } from './render.ts';
import { CACHED, leadToDocs, SITE_ASSETS, sitePage } from './site.ts';
import { type WellKnownOptions, wellKnownPages } from './well-known.ts';

const PAGES = ['/docs/reference', ...GUIDE.map(({ file }) => pathOf(file))];
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  json: 'application/json',
};

/** The pages that describe the service: contract, documentation, well-known addresses. */
export function discoveryPages(options: DocsOptions & WellKnownOptions): [string, PageHandler][] {
  return [...contractPages(options), ...docsPages(options), ...wellKnownPages(options)];
}

/** The contract as JSON and YAML, with the addresses of both environments. */
function contractPages({ operations, servers }: DocsOptions): [string, PageHandler][] {
  const json = () => JSON.stringify(openApiDocument(operations, servers));
  const yaml = async () => (await import('yaml')).stringify(JSON.parse(json()));
  return [
    ['/openapi.json', fixedPage({ contentType: 'application/json', cacheControl: CACHED, content: json })],
    ['/openapi.yaml', fixedPage({ contentType: 'application/yaml', cacheControl: CACHED, content: yaml })],
  ];
}

/** The guide, the reference, their texts as Markdown, the index of the search, and what the pages load. */
function docsPages(options: DocsOptions): [string, PageHandler][] {
  // Loaded on the first request: a start does not need the texts and what renders them.
  const documents = keptOnceMade(async () => (await import('./render.ts')).documentation(options));
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
