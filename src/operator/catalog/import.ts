import {
  FILE_FORMATS,
  type FileFormat,
  type FileMistake,
  formatOf,
  readCategories,
} from '../../catalog/category-file.ts';
import { CatalogError, invalid } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { type ConsoleContext, nothingHere, onGet, onPost, seeOther, type View } from '../frame/context.ts';
import { count, counted, csrfField, foreign, numeric, table } from '../frame/element.ts';
import { described, field, fieldMistake, mistakeSummary, mistakesIn } from '../frame/form.ts';
import type { ImportJob } from './import-job.ts';

/** Read in one go, within 50 ms. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const MISTAKES_SHOWN_MAX = 100;
const RELOAD_SECONDS = 1;

export const importRoutes = [
  onGet('/categories/import', (context) => importPage(context), 'admin'),
  { ...onPost('/categories/import', begin), bodyBytesMax: FILE_BYTES_MAX },
  onGet('/categories/import/:job', showJob, 'admin'),
];

function importPage(context: ConsoleContext, wrong?: string, records: readonly FileMistake[] = []): View {
  const mistakes = mistakesIn('file', wrong);
  const formats = FILE_FORMATS.map((format) => html`<option value="${format}">${format.toUpperCase()}</option>`);
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a></p>
<h1>Import categories</h1>
<p class="lead">Adds all categories of the file, or none if one of them is invalid.</p>
${mistakeSummary(mistakes)}
${recordTable(records)}
<form method="post" action="/console/categories/import" enctype="multipart/form-data">${csrfField(context)}<div class="fields">
<div><label for="file">File</label><input id="file" name="file" type="file" accept=".json,.ndjson,.jsonl,.csv" required${described(mistakes, 'file', { hasHint: true })}>
<p class="hint" id="file-hint">JSON: an array of objects. NDJSON: one object per line. CSV: the columns <code>name</code> and <code>description</code>; one <code>'</code> at the beginning of a cell is removed. UTF-8, up to 8 MiB; <code>pet-catalog categories import</code> takes larger files.</p>${fieldMistake(mistakes, 'file')}</div>
<div><label for="format">Format</label><select id="format" name="format"><option value="">from the file name</option>${formats}</select></div>
<div class="row"><button class="primary">Import</button><a class="button" href="/console/categories">Cancel</a></div></div></form>`;
  const status = wrong === undefined ? 200 : 400;
  return { section: '/categories', title: 'Import categories', content, status };
}

async function begin(context: ConsoleContext): Promise<View | Answer> {
  const { imports, by, events, exchange } = context;
  try {
    const { categories, mistakes } = await readUpload(context);
    if (mistakes.length > 0) {
      const invalid = counted(mistakes.length, 'record is', 'records are');
      return importPage(context, `${invalid} invalid. Correct the file and try again.`, mistakes);
    }
    const job = imports.start(categories, by, (error) => events.requestFailed(exchange.requestId, error));
    return seeOther(`/categories/import/${job}`);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    return importPage(context, error.message);
  }
}

async function readUpload({ form, file }: ConsoleContext) {
  if (!file?.name) throw invalid('Choose a file');
  const format = FILE_FORMATS.find((each: FileFormat) => each === field(form, 'format')) ?? formatOf(file.name);
  if (!format) throw invalid('The file name does not show the format; choose one');
  return readCategories(file.bytes, format);
}

function recordTable(records: readonly FileMistake[]): Html {
  if (records.length === 0) return html``;
  const rows = records
    .slice(0, MISTAKES_SHOWN_MAX)
    .map(({ line, message }) => html`<tr><td class="number">${count(line)}</td><td>${foreign(message)}</td></tr>\n`);
  const more = records.length - MISTAKES_SHOWN_MAX;
  return html`<h2>Invalid records</h2>
${table('Invalid records', [numeric('Line'), 'Error'], rows)}
${more > 0 ? html`<p class="soft">And ${count(more)} more.</p>` : ''}`;
}

function showJob(context: ConsoleContext): View {
  const job = context.imports.find(context.id);
  if (!job) throw nothingHere('import');
  const content = html`<p class="crumb"><a href="/console/categories">Categories</a></p>
<h1>Import</h1>
<div id="job" data-live>${progress(job)}</div>`;
  const view = { section: '/categories', title: 'Import', content } as const;
  return job.failure === undefined ? { ...view, reloadSeconds: RELOAD_SECONDS } : view;
}

function progress({ total, inserted, failure }: ImportJob): Html {
  if (failure === undefined) {
    return html`<label for="progress">${count(inserted)} of ${count(total)}</label>
<progress id="progress" max="${total}" value="${inserted}" data-hurry></progress>
<p class="soft">The import continues if you leave this page.</p>`;
  }
  if (failure !== null) {
    return html`<p class="mistake" role="alert">${failure}.</p>
<p><a class="button" href="/console/categories/import">Try another file</a></p>`;
  }
  return html`<p class="notice" role="status">${counted(total, 'category was', 'categories were')} imported.</p>
<p><a class="button primary" href="/console/categories">Show the categories</a></p>`;
}
