import type { Category } from '../../catalog/category.ts';
import { FILE_FORMATS, type FileFormat, writeCategories } from '../../catalog/category-file.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { pathOf } from '../doors/console-actions.ts';
import { type ConsoleContext, download, may, onGet, type View } from '../frame/context.ts';
import { empty, foreign } from '../frame/element.ts';
import { addressOf } from '../frame/list.ts';
import { byText, resource } from '../resource.ts';
import { deleteCategory, renameCategory } from './actions.ts';
import { categoryRecord, findRecorded, historySection } from './history.ts';

const CONTENT_TYPES: Readonly<Record<FileFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

export const categories = resource({
  path: 'categories',
  title: 'Categories',
  noun: ['category', 'categories'],
  filters: {
    q: byText('Part of a name or a description, regardless of case, or an id', {
      label: 'Name, description or id',
      isWide: true,
    }),
  },
  async page({ storage }, { q: text, limit, behind }) {
    const page = { after: behind?.number ?? 0, limit: limit + 1 };
    const rows = await (text ? storage.categories.search({ ...page, text }) : storage.categories.list(page));
    return pageById(rows, limit);
  },
  json: (_context, rows) => rows,
  columns: [
    {
      label: 'Name',
      cell: ({ id, name }: Category) => html`<a href="/console/categories/${id}">${foreign(name)}</a>`,
    },
    { label: 'Id', member: 'id', cell: ({ id }) => html`${id}`, isNumber: true },
    { label: 'Name', member: 'name' },
    {
      label: 'Description',
      member: 'description',
      cell: ({ description = '' }) =>
        description === '' ? html`<span class="soft">none</span>` : foreign(description),
      isLong: true,
    },
    {
      label: 'Linked',
      cell: ({ id }) =>
        html`<a href="/console${addressOf('/pets', { category: `${id}` })}" aria-label="Pets of category ${id}">Pets</a>`,
    },
  ],
  command: {
    usage: 'list',
    about: 'List the categories',
    none: 'No categories yet; `pet-catalog categories import FILE`',
  },
  console: {
    none: (context) =>
      empty(
        'There are no categories yet.',
        html`Import a file with <code>pet-catalog categories import</code>, or create them through the API: <code>POST ${context.url()}/categories</code>`,
      ),
    foot: () =>
      html`<section aria-labelledby="export-heading"><h2 id="export-heading">Export</h2><p class="soft">All categories in one file, which can be imported again.</p><div class="row">${downloads()}</div></section>`,
  },
});

/** A page of rows that ascend by their id, of which one more was read. */
export function pageById<Row extends { readonly id: number }>(rows: readonly Row[], limit: number) {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), last: last && { number: last.id, id: '' } };
}

/** The page of a category, and the file of all. */
export const categoryRoutes = [onGet('/categories/export', exportCategories), onGet('/categories/:id', categoryPage)];

function downloads(): Html[] {
  return FILE_FORMATS.map(
    (format) =>
      html`<a class="button" href="/console/categories/export?format=${format}" download="categories.${format}">${format.toUpperCase()}</a>`,
  );
}

async function exportCategories({ storage, exchange }: ConsoleContext): Promise<Answer> {
  const format = FILE_FORMATS.find((each) => each === exchange.query.get('format')) ?? 'json';
  const body = writeCategories(await storage.categories.list(), format);
  return download(`categories.${format}`, body, CONTENT_TYPES[format]);
}

async function categoryPage(context: ConsoleContext): Promise<View> {
  const { resource, isRemoved, lines } = await findRecorded(categoryRecord, context.storage, context.id);
  const { id, name, description } = resource;
  const actions =
    may(context, 'admin') && !isRemoved
      ? html`<div class="row"><a class="button" href="/console${pathOf(renameCategory, `${id}`)}">Rename</a><a class="button danger" href="/console${pathOf(deleteCategory, `${id}`)}">Delete</a></div>`
      : '';
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a></p>
<div class="heading"><h1>${foreign(name)}${isRemoved ? html` <span class="badge">deleted</span>` : ''}</h1>${actions}</div>
<dl class="facts"><dt>Id</dt><dd>${id}</dd><dt>Description</dt><dd>${description ? foreign(description) : html`<span class="soft">none</span>`}</dd>
<dt>Pets</dt><dd><a href="/console${addressOf('/pets', { category: `${id}` })}">Pets of this category</a></dd></dl>
${await historySection(context, lines)}`;
  return { section: '/categories', title: name, content };
}
