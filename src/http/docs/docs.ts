import { DAY_SECONDS } from '../../stdx/duration.ts';
import { memoizeAsync } from '../../stdx/one-at-a-time.ts';
import { type Time, utc } from '../../stdx/time.ts';
import { MISSING_DOCS, type PageHandler } from '../pages.ts';
import type { Answer } from '../transport/exchange.ts';
import { fixedPage, mediaTypeOf } from './delivery.ts';
import type { DocsOptions } from './guide.ts';
import { contractOf, publicApi } from './openapi.ts';
import { CACHED, GUIDE, leadToDocs, pathOf, SITE_ASSETS, sitePage } from './site.ts';

const API_CATALOG = '/.well-known/api-catalog';
const SECURITY_TXT = '/.well-known/security.txt';
const YEAR_SECONDS = 365 * DAY_SECONDS;
const PAGES = ['/docs/reference', ...Object.keys(GUIDE).map(pathOf)];

/** The pages that describe the service: contract, documentation, well-known addresses. */
export function discoveryPages(options: DocsOptions & WellKnownOptions): [string, PageHandler][] {
  return [...contractPages(options), ...docsPages(options), ...wellKnownPages(options)];
}

/** The contract as JSON and YAML, with the addresses of both environments. */
function contractPages({ operations, servers }: DocsOptions): [string, PageHandler][] {
  const json = () => JSON.stringify(contractOf(publicApi(operations, servers)));
  const yaml = async () => (await import('yaml')).stringify(JSON.parse(json()));
  return [filePage('/openapi.json', json), filePage('/openapi.yaml', yaml)];
}

/** The path that a gateway has before `/v1` in a base address; empty if it has none. */
export function prefixOf(baseUrl: string): string {
  return (URL.parse(baseUrl)?.pathname ?? '').replace(/\/v1$/, '').replace(/^\/$/, '');
}

/** The content of a page with the prefix before the address of every page that it leads to or loads. */
function behindGateway(content: string, prefix: string): string {
  return content.replaceAll(/(?<=(?:href|src|data-path)="|\]\(|"path":")(?=\/(?!\/))/g, () => prefix);
}

/** The guide, the reference, their texts as Markdown, the index of the search, and what the pages load. */
function docsPages(options: DocsOptions): [string, PageHandler][] {
  // Loaded on the first request: a start does not need the texts and what renders them.
  const documents = memoizeAsync(async () => (await import('./guide.ts')).documentation(options));
  const prefix = prefixOf(options.baseUrl);
  const contentOf = async (path: string) => behindGateway((await documents()).get(path)?.() ?? '', prefix);
  const files = [...PAGES.map((path) => `${path}.md`), '/docs/search.json', '/llms.txt'];
  return [
    ...PAGES.map((path): [string, PageHandler] => [path, sitePage(() => contentOf(path))]),
    ...files.map((path) => filePage(path, () => contentOf(path))),
    ['/docs/', leadToDocs],
    [MISSING_DOCS, sitePage(() => contentOf(MISSING_DOCS), 404)],
    ...SITE_ASSETS.map(({ path, page }): [string, PageHandler] => [path, page]),
  ];
}

function filePage(path: string, content: () => string | Promise<string>): [string, PageHandler] {
  return [path, fixedPage({ contentType: mediaTypeOf(path), cacheControl: CACHED, content })];
}

interface WellKnownOptions {
  /** The public address of this environment, including `/v1`. */
  readonly baseUrl: string;
  /** URI for vulnerability reports; without it there is no security.txt. */
  readonly securityContact: string | undefined;
  readonly time: Time;
}

/** Pages at well-known addresses: `/`, the API catalog (RFC 9727) and security.txt (RFC 9116). */
function wellKnownPages({ baseUrl, securityContact, time }: WellKnownOptions): [string, PageHandler][] {
  const at = (path: string) => baseUrl.replace(/\/v1$/, path);
  const catalog = {
    anchor: baseUrl,
    'service-desc': [
      { href: at('/openapi.json'), type: 'application/json' },
      { href: at('/openapi.yaml'), type: 'application/yaml' },
    ],
    'service-doc': [{ href: at('/docs'), type: 'text/html' }],
    status: [{ href: at('/readyz'), type: 'application/json' }],
  };
  const catalogAnswer = {
    status: 200,
    contentType: 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    headers: ['Link', `<${at(API_CATALOG)}>; rel="api-catalog"`],
    cacheControl: CACHED,
    body: JSON.stringify({ linkset: [catalog] }),
  };
  const pages: [string, PageHandler][] = [
    ['/', () => ({ status: 303, headers: ['Location', '/docs'], cacheControl: CACHED })],
    [API_CATALOG, () => catalogAnswer],
  ];
  if (securityContact !== undefined) {
    pages.push([SECURITY_TXT, () => securityTxt(securityContact, at(SECURITY_TXT), time)]);
  }
  return pages;
}

/** Says where to report vulnerabilities. */
function securityTxt(contact: string, address: string, time: Time): Answer {
  const expires = utc(time.now().unix + YEAR_SECONDS);
  const lines = [`Contact: ${contact}`, `Expires: ${expires}`, 'Preferred-Languages: en'];
  // RFC 9116 requires https for web addresses.
  if (address.startsWith('https:')) lines.push(`Canonical: ${address}`);
  const body = `${lines.join('\n')}\n`;
  return { status: 200, contentType: 'text/plain; charset=utf-8', cacheControl: 'public, max-age=86400', body };
}
