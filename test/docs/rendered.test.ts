import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Type } from 'typebox';
import { describeApi } from '../../src/http/docs/described.ts';
import { sectionsOf } from '../../src/http/docs/markdown.ts';
import { operationLinks, type ReferenceApi, referenceContent } from '../../src/http/docs/reference/reference.ts';
import { referenceText } from '../../src/http/docs/reference/text.ts';
import { searchIndex } from '../../src/http/docs/search.ts';
import { layout } from '../../src/http/docs/site.ts';
import { html } from '../../src/http/html.ts';
import type { Described } from '../../src/http/operations/operation.ts';

/**
 * What the documentation makes of a small API and a small page, to the character, in rendered/. After a change that is
 * meant: `npx node --test --test-update-snapshots test/docs/rendered.test.ts`, and read the difference.
 */

const Toy = Type.Object(
  {
    id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Its number' }),
    kind: Type.Unsafe({ type: 'string', enum: ['ball', 'rope'], description: 'Its kind.' }),
    owner: Type.Optional(
      Type.Union([Type.Object({ name: Type.String({ description: "Whose it is, as `O'Neil`" }) }), Type.Null()]),
    ),
  },
  { title: 'Toy' },
);
const EXAMPLE = { id: 7, kind: 'ball', owner: { name: 'Rex\'s "own"' } };
const NewToy = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 2_000, 'x-violation': { '^\\s*$': 'send a letter' }, description: '' }),
  weight: Type.Number({ minimum: 0, maximum: 9, default: 1, description: 'In kg, 0 to 9' }),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 3, description: 'Words' })),
});

const PATH = { name: 'toyId', description: 'The id of a toy', schema: Type.Integer({ minimum: 1, example: 7 }) };
const OPERATIONS: readonly Described[] = [
  {
    id: 'listToys',
    method: 'GET',
    path: '/toys',
    tag: 'toys',
    summary: 'List toys',
    description: 'One page. See `If-Match`.\n\nOnce it was **Beta**.',
    permission: 'pets:read',
    conditional: true,
    queryParameters: [
      { name: 'kind', description: 'Only of this kind', schema: Toy.properties.kind },
      { name: 'ids', description: 'Only these', schema: Type.Array(PATH.schema, { minItems: 1, maxItems: 5 }) },
      { name: 'limit', description: 'How many', schema: Type.Integer({ maximum: 50, default: 20, example: 20 }) },
    ],
    success: { status: 200, description: 'The toys', schema: Type.Array(Toy), example: [EXAMPLE] },
    errors: ['catalog_full'],
  },
  {
    id: 'createToy',
    method: 'POST',
    path: '/toys',
    tag: 'toys',
    summary: 'Create a toy',
    description: 'Stores a toy.',
    permission: 'pets:write',
    stability: 'beta',
    body: { schema: NewToy, example: { name: "Rex's ball", weight: 1, tags: ['new'] } },
    success: { status: 201, description: 'The toy', schema: Toy, example: EXAMPLE, headers: { Location: 'Its place' } },
    errors: ['catalog_full'],
  },
  {
    id: 'getToy',
    method: 'GET',
    path: '/toys/{toyId}',
    tag: 'store',
    summary: 'Get a toy',
    description: 'One.',
    permission: 'store:read',
    stability: 'experimental',
    pathParameters: [PATH],
    success: { status: 200, description: 'The toy', schema: Type.Object({}), example: {} },
  },
  {
    id: 'deleteToy',
    method: 'DELETE',
    path: '/toys/{toyId}',
    tag: 'store',
    summary: 'Delete a toy',
    description: 'Deletes it.',
    permission: 'any',
    deprecation: { since: 1_700_000_000, sunset: 1_900_000_000, successor: '/toys' },
    pathParameters: [PATH],
    success: { status: 204, description: 'It is gone' },
    errors: ['not_found', 'precondition_failed', 'gone'],
  },
];

const DESCRIBED = describeApi({
  info: { title: 'Toys', version: '1.2.3', description: 'Manages `toys`' },
  servers: [
    { description: 'Production', url: 'https://toys.example/v1' },
    { description: 'Staging', url: 'https://staging.example/v1' },
  ],
  tags: [
    { name: 'toys', description: 'The toys' },
    { name: 'store', description: 'What goes' },
  ],
  operations: OPERATIONS,
  credential: {
    name: 'apiKey',
    format: '^petcat_',
    description: 'A key',
    noun: 'key',
    label: 'API key',
    prefix: 'petcat_',
    variable: 'PET_CATALOG_KEY',
  },
  codes: [],
  commonErrors: ({ permission }) =>
    permission === 'any' ? ['invalid_api_key'] : ['validation_failed', 'invalid_api_key', 'insufficient_scope'],
  failures: { createToy: { catalog_full: 'There are 9 toys', invalid_json: 'The body is not JSON' } },
  isPublic: true,
});
const API: ReferenceApi = {
  ...DESCRIBED,
  heading: 'Reference',
  baseUrl: 'https://toys.example/v1',
  basePath: '/v1',
};
/** As the reference of the operator API: alone, for tokens, without the guide. */
const ALONE: ReferenceApi = {
  ...API,
  operations: API.operations.slice(1, 2),
  credential: {
    ...API.credential,
    noun: 'token',
    label: 'Token',
    prefix: 'petops_',
    variable: 'PET_CATALOG_TOKEN',
  },
  isPublic: false,
};

const PAGE = `# First steps

An introduction with **weight**.

## Place an order

Send a [body](limits.md#plans), then \`wait=1,retry=2\`.

\`\`\`sh
curl -X PATCH 'https://toys.example/v1/toys/7?kind=ball,rope&limit=20' \\
  -H "Authorization: Bearer $PET_CATALOG_KEY" \\
  -H 'Idempotency-Key: toy-1' \\
  -d '{"name":"Max"}'
\`\`\`

\`\`\`py
# A comment
print(None, 1_000)
\`\`\`

Then a shell:

\`\`\`sh
sleep 5 # seconds
\`\`\`

\`\`\`json
{"a": [1, true]}
\`\`\`

### \`not_found\`

- One *item*
- Another

### \`code\` and words, that are: long

| Name | Number |
| ---- | -----: |
| a \`b\` | 1 |

## Bounds

\`\`\`go
if err == nil { return "x" } // done
\`\`\`

## Last

The end.
`;

test('the reference as HTML', (t) => sameAs(t, 'reference.html', referenceContent(API).text));

test('the reference of a listener without a guide', (t) => sameAs(t, 'alone.html', referenceContent(ALONE).text));

test('the reference as Markdown', (t) => sameAs(t, 'reference.md', referenceText(API)));

test('a page of the guide', (t) => {
  const sections = sectionsOf(PAGE).map(({ html, ...section }) => `${JSON.stringify(section)}\n${html.text}`);
  sameAs(t, 'guide.html', sections.join('\n'));
});

test('the index of the search', (t) => {
  const pages = [{ title: 'First', about: 'steps; SDKs', path: '/docs', text: PAGE }];
  sameAs(t, 'search.json', JSON.stringify(searchIndex(pages, API.operations), null, 2));
});

test('the document around a page', (t) => {
  const [content, previous] = [html`<h1>Content</h1>`, { path: '/docs', title: 'Before' }];
  const navigation = [{ title: 'Guide', links: [previous] }, ...operationLinks(API, '/docs/reference')];
  const chapter = { path: '#a', title: 'A' };
  const pages = [
    { path: '/docs', title: 'First', about: 'Steps', content, navigation, chapters: [chapter, chapter, chapter] },
    { path: '/docs/b', title: 'B', content, navigation, chapters: [chapter, chapter], previous, isReference: true },
    { path: '/docs/c', title: 'C', content, navigation, next: previous, isAlone: true },
  ];
  sameAs(
    t,
    'layout.html',
    pages
      .map(layout)
      .join('\n')
      .replaceAll(/-[0-9a-f]{16}(?=\.)/g, '-DIGEST'),
  );
});

function sameAs(t: TestContext, file: string, text: string): void {
  t.assert.fileSnapshot(text, join(import.meta.dirname, 'rendered', file), { serializers: [String] });
}
