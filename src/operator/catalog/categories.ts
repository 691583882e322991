import type { Category } from '../../catalog/category.ts';
import { FILE_FORMATS, type FileFormat, writeCategories } from '../../catalog/category-file.ts';
import { deleteCategory, renameCategory } from '../../catalog/operator/changes.ts';
import { type Html, html } from '../../http/html.ts';
import { readId } from '../../http/operations/query.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { latestChanges } from '../audit.ts';
import {
  type ConsoleContext,
  download,
  may,
  nothingHere,
  onGet,
  onPost,
  seeOther,
  type View,
} from '../frame/context.ts';
import { cardTable, empty, foreign, long, mistake, numeric, post } from '../frame/element.ts';
import { described, fieldMistake, mistakeIn, mistakeSummary, mistakesIn } from '../frame/form.ts';
import { addressOf, filters, onePage, searchText, textField } from '../frame/list.ts';

const CONTENT_TYPES: Readonly<Record<FileFormat, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

export const categoryRoutes = [
  onGet('/categories', listCategories),
  onGet('/categories/export', exportCategories),
  onGet('/categories/:id', async (context) => categoryPage(context, await categoryOf(context))),
  onPost('/categories/:id', rename),
  onGet('/categories/:id/delete', async (context) => deletePage(context, await categoryOf(context)), 'admin'),
  onPost('/categories/:id/delete', remove),
];

async function listCategories(context: ConsoleContext): Promise<View> {
  const { categories } = context.storage;
  const text = searchText(context.exchange.query, 'q');
  const { items, pages, isFirst } = await onePage(context, { filter: { q: text } }, (at) =>
    text ? categories.search({ ...at, text }) : categories.list(at),
  );
  const hasNone = items.length === 0 && isFirst && text === '';
  const content = html`<div class="heading"><h1>Categories</h1>${may(context, 'admin') ? html`<a class="button primary" href="/console/categories/import">Import a file</a>` : ''}</div>
${hasNone ? '' : filters('/categories', [textField('q', 'Name, description or id', text, { isWide: true })], { isFiltered: text !== '' })}
${items.length === 0 ? noCategories(context, hasNone) : categoryTable(items)}
${pages}
${hasNone ? '' : html`<section aria-labelledby="export-heading"><h2 id="export-heading">Export</h2><p class="soft">All categories in one file, which can be imported again.</p><div class="row">${downloads()}</div></section>`}`;
  return { section: '/categories', title: 'Categories', content };
}

function categoryTable(categories: readonly Category[]): Html {
  const rows = categories.map(({ id, name, description = '' }) => [
    html`<a href="/console/categories/${id}">${foreign(name)}</a>`,
    html`${id}`,
    description === '' ? html`<span class="soft">none</span>` : foreign(description),
    html`<a href="/console${addressOf('/pets', { category: `${id}` })}" aria-label="Pets of category ${id}">Pets</a>`,
  ]);
  const columns = ['Name', numeric('Id'), long('Description'), 'Linked'];
  return cardTable('Categories', columns, rows);
}

function noCategories(context: ConsoleContext, hasNone: boolean): Html {
  if (!hasNone) return empty('No category found.', html`<a href="/console/categories">Show all categories</a>`);
  return empty(
    'There are no categories yet.',
    html`${may(context, 'admin') ? html`<a href="/console/categories/import">Import a file</a>. ` : ''}Create them through the API: <code>POST ${context.url()}/categories</code>`,
  );
}

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

async function categoryPage(
  context: ConsoleContext,
  category: Category,
  name = category.name,
  wrong?: string,
): Promise<View> {
  const mistakes = mistakesIn('name', wrong);
  const form = html`<div class="fields"><div><label for="name">Name</label><input id="name" name="name" value="${name}" required autocomplete="off"${described(mistakes, 'name')}>${fieldMistake(mistakes, 'name')}</div>
<div class="row"><button class="primary">Rename</button></div></div>`;
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a></p>
<div class="heading"><h1>${foreign(category.name)}</h1>${may(context, 'admin') ? html`<a class="button danger" href="/console/categories/${category.id}/delete">Delete</a>` : ''}</div>
<dl class="facts"><dt>Id</dt><dd>${category.id}</dd><dt>Description</dt><dd>${category.description ? foreign(category.description) : html`<span class="soft">none</span>`}</dd>
<dt>Pets</dt><dd><a href="/console${addressOf('/pets', { category: `${category.id}` })}">Pets of this category</a></dd></dl>
${mistakeSummary(mistakes)}
${may(context, 'admin') ? post(context, `/categories/${category.id}`, form) : ''}
<section aria-labelledby="history-heading"><h2 id="history-heading">History</h2>
${await latestChanges(context, `${category.id}`)}</section>`;
  const status = wrong === undefined ? 200 : 400;
  return { section: '/categories', title: category.name, content, status };
}

async function rename(context: ConsoleContext): Promise<View | Answer> {
  const category = await categoryOf(context);
  // Not trimmed: the API allows surrounding spaces in a name.
  const submitted = context.form.get('name') ?? '';
  try {
    if (submitted === category.name) return seeOther(`/categories/${category.id}`, 'unchanged');
    await renameCategory(context, category.id, submitted);
    return seeOther(`/categories/${category.id}`, 'renamed');
  } catch (error) {
    return categoryPage(context, category, submitted, mistakeIn(error, 'catalog_full'));
  }
}

function deletePage(context: ConsoleContext, category: Category, wrong?: string): View {
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a> <a href="/console/categories/${category.id}">${foreign(category.name)}</a></p>
<h1>Delete the category?</h1>
${mistake(wrong)}
<p class="lead"><strong>${foreign(category.name)}</strong> is deleted permanently, unless a pet belongs to it. Its id, ${category.id}, is never reused.</p>
${post(context, `/categories/${category.id}/delete`, html`<div class="row"><button class="danger">Delete the category</button><a class="button" href="/console/categories/${category.id}">Keep it</a></div>`)}`;
  const status = wrong === undefined ? 200 : 409;
  return { section: '/categories', title: `Delete ${category.name}`, content, status };
}

async function remove(context: ConsoleContext): Promise<View | Answer> {
  const category = await categoryOf(context);
  try {
    await deleteCategory(context, category.id);
    return seeOther('/categories', 'deleted');
  } catch (error) {
    return deletePage(context, category, mistakeIn(error, 'category_in_use'));
  }
}

async function categoryOf({ storage, id }: ConsoleContext): Promise<Category> {
  const category = await storage.categories.find(readId(id) ?? 0);
  if (!category) throw nothingHere('category');
  return category;
}
