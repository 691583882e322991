import { inWords } from '../../catalog/validate.ts';
import { shippedFile } from '../../shipped.ts';
import { type Html, html } from '../html.ts';
import type { Operation } from '../operations/operation.ts';
import { MISSING_DOCS } from '../pages.ts';
import type { ContractServer } from './described.ts';
import { type Section, sectionsOf, withServedLinks } from './markdown.ts';
import { publicApi } from './openapi.ts';
import { operationLinks, type ReferenceApi, referenceContent } from './reference/reference.ts';
import { referenceText } from './reference/text.ts';
import { capitalized } from './reference/words.ts';
import { searchIndex } from './search.ts';
import { GUIDE, layout, pathOf } from './site.ts';

/** The origin that the texts name; readers see that of the service. */
const WRITTEN_ORIGIN = 'http://127.0.0.1:8080';
const REFERENCE = {
  path: '/docs/reference',
  title: 'Reference',
  about: 'every operation with its fields, bounds, errors and samples, and a form to try it',
};

export interface DocsOptions {
  readonly operations: readonly Operation[];
  readonly servers: readonly ContractServer[];
  /** The public address of this environment, including `/v1`. */
  readonly baseUrl: string;
  readonly banAfterRefusals: number;
}

/** Prepares everything that is served under /docs, by address; each is rendered when its function is called. */
export function documentation({ operations, servers, baseUrl, banAfterRefusals }: DocsOptions) {
  const api = { ...publicApi(operations, servers), heading: REFERENCE.title, baseUrl, basePath: '/v1' };
  const pages = Object.entries(GUIDE).map(([file, about]) => {
    const text = finished(file, { ...api, banAfterRefusals });
    return { path: pathOf(file), title: /^# (.+)/.exec(text)?.[1] ?? '', about, text };
  });
  const navigation = [{ title: 'Guide', links: [...pages, REFERENCE] }, ...operationLinks(api, REFERENCE.path)];
  const documents = new Map<string, () => string>();
  for (const [index, { path, title, about, text }] of pages.entries()) {
    documents.set(path, () => {
      const sections = sectionsOf(text);
      return layout({
        path,
        title,
        about: capitalized(about),
        content: contentOf(path, sections),
        navigation,
        chapters: sections.filter(({ depth }) => depth === 2).map(({ id, title }) => ({ path: `#${id}`, title })),
        previous: pages[index - 1],
        next: pages[index + 1] ?? REFERENCE,
      });
    });
    documents.set(`${path}.md`, () => withServedLinks(text));
  }
  documents.set(REFERENCE.path, () =>
    layout({
      ...REFERENCE,
      about: capitalized(REFERENCE.about),
      content: referenceContent(api),
      navigation,
      isReference: true,
    }),
  );
  documents.set(`${REFERENCE.path}.md`, () => referenceText(api));
  documents.set(MISSING_DOCS, () => layout({ path: '', title: 'Not found', content: NOT_FOUND, navigation }));
  documents.set('/docs/search.json', () => JSON.stringify(searchIndex(pages, api.operations)));
  documents.set('/llms.txt', () => llmsText(api, pages));
  return documents;
}

type Known = Pick<ReferenceApi, 'operations' | 'baseUrl'> & Pick<DocsOptions, 'banAfterRefusals'>;

/** The Markdown of a page, with what this service knows. */
function finished(file: string, { operations, baseUrl, banAfterRefusals }: Known): string {
  const written = shippedFile(`http/docs/pages/${file}.md`).toString().replaceAll(WRITTEN_ORIGIN, baseUrl.slice(0, -3));
  if (file === 'deprecations') return `${written}\n${deprecatedOperations(operations)}`;
  if (file !== 'limits') return written;
  if (banAfterRefusals === 0) return written.replace(/^## Bans\n[\s\S]*?(?=^## )/m, '');
  return written.replace('at least 60 refusals', `at least ${inWords(banAfterRefusals)} refusals`);
}

/** Every deprecated operation with its dates and successor, as Markdown. */
function deprecatedOperations(operations: Known['operations']): string {
  const deprecated = operations.filter(({ sunset }) => sunset !== undefined);
  if (deprecated.length === 0) return 'No operation is deprecated.\n';
  return deprecated
    .map(
      ({ id, method, path, description }) => `### \`${id}\`

\`${method} /v1${path}\` in the [reference](/docs/reference#${id})

${description}
`,
    )
    .join('\n');
}

function contentOf(path: string, found: readonly Section[]): Html {
  const sections = found.map((section) => section.html);
  const codes = path === '/docs/errors' ? found.findIndex(({ id }) => id === 'codes') + 1 : 0;
  return html`${sections.slice(0, codes)}${codes > 0 ? ERROR_FILTER : ''}${sections.slice(codes)}`;
}

const NOT_FOUND = html`<h1>Not found</h1>
<div class="intro"><p>There is no page of the documentation at this address. Search for it, or begin with <a href="/docs">Get started</a> or the <a href="/docs/reference">reference</a>.</p></div>
`;

/** The page's script hides the codes that do not match. */
const ERROR_FILTER = html`<div class="filter scripted"><label class="input"><span>Filter by code, status or word</span>
<input type="search" id="ui-filter" autocomplete="off" spellcheck="false"></label>
<p class="soft" role="status" id="ui-filtered"></p></div>
`;

/** A list of the pages for programs that read (llmstxt.org). */
function llmsText(
  { info }: ReferenceApi,
  pages: readonly { readonly path: string; readonly title: string; readonly about: string }[],
): string {
  const lines = pages.map(({ path, title, about }) => `- [${title}](${path}.md): ${about}`);
  return `# ${info.title}

> ${info.description}

## Documentation

${lines.join('\n')}
- [Reference](${REFERENCE.path}.md): every operation with its fields, errors and a sample

## Contract

- [OpenAPI 3.1](/openapi.json): also as [YAML](/openapi.yaml)
`;
}
