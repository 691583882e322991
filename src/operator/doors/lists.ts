import { csvOf } from '../../catalog/operator/csv.ts';
import type { Place } from '../../catalog/resource.ts';
import { type Html, html } from '../../http/html.ts';
import {
  PLACE_PARAMETERS,
  pageLimit,
  pageOf,
  placeAnswer,
  placeOf,
  placeText,
  readLimit,
  readPlace,
} from '../../http/operations/paging.ts';
import { readParameter } from '../../http/operations/query.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { type ApiOperation, apiOperation } from '../api/operation.ts';
import { type ConsoleContext, type ConsoleRoute, download, onGet, type View } from '../frame/context.ts';
import { cardTable, counted, empty, pager } from '../frame/element.ts';
import {
  ANY,
  addressOf,
  choiceField,
  csvLink,
  filters as filterForm,
  type ListQuery,
  searchText,
  textField,
  wholeText,
} from '../frame/list.ts';
import { type AnyResource, byChoice, everyRow, type Filters, select } from '../resource.ts';

/** A list at each door: its page in the console, its operation in the API, its command. */

const ROWS_PER_PAGE = 50;
const ALL = Number.POSITIVE_INFINITY;

/** The filters of a resource and its order. */
export function parametersOf({ filters, sorts }: Pick<AnyResource, 'filters' | 'sorts'>): Filters {
  if (!sorts) return filters;
  const values = sorts.map(({ value }) => value);
  return {
    ...filters,
    sort: byChoice(`The order: ${values[0]} if it is missing`, values, { label: 'Order', choices: sorts }),
  };
}

/** Makes the operation of the API that lists a resource. */
export function listOperation(resource: AnyResource): ApiOperation {
  const { api, path, apiRole: role = 'viewer' } = resource;
  if (!api) throw new Error(`${path} has no operation`);
  const { limitMax, limitUsual } = { limitMax: 100, limitUsual: 20, ...api };
  const parameters = parametersOf(resource);
  const pathName = /\{(\w+)\}/.exec(api.route ?? '')?.[1];
  const inQuery = Object.entries(parameters).filter(([name]) => name !== pathName);
  return apiOperation(api.id, `GET /${api.route ?? path}`, {
    tag: api.tag,
    summary: api.summary,
    description: api.description,
    permission: role,
    queryParameters: [
      ...inQuery.map(([name, { about, schema }]) => ({ name, description: about, schema })),
      pageLimit(limitMax, limitUsual),
      ...PLACE_PARAMETERS.slice(1),
    ],
    success: pageOf(api.schema, `The ${resource.noun[1]}`, api.example),
    async handle(context, exchange) {
      const { query } = exchange;
      const { sort = sortOf(resource), ...selected } = select(parameters, {
        textOf: (name) => readParameter(query, name),
        now: context.now,
      });
      const limit = readLimit(query, limitMax, limitUsual);
      const { rows, last } = await resource.page(context, {
        ...selected,
        sort: `${sort}`,
        limit,
        behind: readPlace(query),
      });
      return placeAnswer(exchange, await resource.json(context, rows), last);
    },
  });
}

/** The usual order of a resource. */
export function sortOf({ sorts = [] }: Pick<AnyResource, 'sorts'>): string {
  return sorts[0]?.value ?? '';
}

/** Makes the page of a resource in the console, with its filters, and its CSV. */
export function listRoutes(resource: AnyResource): ConsoleRoute[] {
  const { path, csv } = resource;
  const page = onGet(`/${path}`, (context) => listPage(resource, context));
  return csv ? [page, onGet(`/${path}/export`, (context) => exported(resource, csv, context))] : [page];
}

/** Reads the filters of an address. One that cannot be read is left out, which its field says. */
function selectedIn(resource: AnyResource, { exchange: { query }, now }: ConsoleContext) {
  const parameters = parametersOf(resource);
  const texts: Record<string, string | undefined> = {};
  const selected: Record<string, unknown> = {};
  const wrong = new Map<string, string>();
  for (const [name, filter] of Object.entries(parameters)) {
    const text = textIn(query, name, filter);
    if (text === '' || (name === 'sort' && text === sortOf(resource))) continue;
    texts[name] = text;
    try {
      selected[name] = filter.read(text, name, now);
    } catch (error) {
      wrong.set(name, (error as Error).message);
    }
  }
  return { parameters, texts, selected, wrong };
}

async function listPage(resource: AnyResource, context: ConsoleContext): Promise<View> {
  const { path, title, noun, csv, console: shown } = resource;
  const { parameters, texts, selected, wrong } = selectedIn(resource, context);
  const { query } = context.exchange;
  const cursor = query.get('cursor') ?? '';
  const behind: Place | undefined = placeOf(cursor);
  const { sort = sortOf(resource), ...filter } = selected;
  const { rows, last, total } = await resource.page(context, {
    ...filter,
    sort: `${sort}`,
    limit: ROWS_PER_PAGE,
    behind,
  });
  const { sort: _, ...filtered } = texts;
  const isFiltered = Object.keys(filtered).length > 0;
  const hasNone = rows.length === 0 && !isFiltered && behind === undefined;
  const listed = hasNone
    ? (shown?.none(context) ?? '')
    : rows.length === 0
      ? empty(`No ${noun[0]} found.`, html`<a href="/console/${path}">Show all ${noun[1]}</a>`)
      : await rowsTable(resource, context, { rows, texts });
  const next = last && addressOf(`/${path}`, { ...texts, cursor: placeText(last) });
  const content = html`<div class="heading"><h1>${title}</h1>${shown?.head?.(context) ?? ''}</div>
${(await shown?.lead?.(context)) ?? ''}
${hasNone ? '' : filtersOf(resource, context, { parameters, isFiltered, wrong })}
${hasNone || (total === undefined && !csv) ? '' : html`<div class="heading"><p class="soft">${total === undefined ? '' : counted(total, ...noun)}</p>${csv ? csvLink(`/${path}/export`, texts) : ''}</div>`}
${listed}
${pager(behind && addressOf(`/${path}`, texts), next, ['First page', 'Next'])}
${hasNone ? '' : (shown?.foot?.(context) ?? '')}`;
  return { section: `/${path}`, title, content };
}

/** The rows of a resource as a table of the console. */
export async function rowsTable(
  resource: AnyResource,
  context: ConsoleContext,
  { rows, texts = {}, without = '' }: { rows: readonly object[]; texts?: ListQuery; without?: string },
): Promise<Html> {
  const columns = resource.columns.filter(({ cell, label }) => cell && label !== without);
  const related = (await resource.console?.related?.(context, rows)) as never;
  const heads = columns.map(({ label, isNumber, isLong, sorts }) => {
    const head = { name: label, ...(isNumber && { isNumber }), ...(isLong && { isLong }) };
    if (!sorts || !resource.sorts) return head;
    const [first, second] = sorts;
    const now = texts.sort ?? sortOf(resource);
    const order = now === first || now === second ? orderOf(now) : undefined;
    const to = now === first && second ? second : first;
    return { ...head, sort: { href: addressOf(`/${resource.path}`, { ...texts, sort: to }), order } };
  });
  const cells = rows.map((row) => columns.map(({ cell }) => cell?.(row, related, context) ?? html``));
  return cardTable(resource.title, heads, cells);
}

function orderOf(sort: string): 'ascending' | 'descending' {
  return ['newest', 'last-used', 'use'].includes(sort) ? 'descending' : 'ascending';
}

/** The text of a filter as it is sent. */
function textIn(query: URLSearchParams, name: string, { isWide }: { readonly isWide?: true | undefined }): string {
  return isWide ? searchText(query, name) : wholeText(query, name);
}

function filtersOf(
  resource: AnyResource,
  { exchange: { query } }: ConsoleContext,
  { parameters, isFiltered, wrong }: { parameters: Filters; isFiltered: boolean; wrong: ReadonlyMap<string, string> },
): Html {
  const fields = Object.entries(parameters).flatMap(([name, { label, values, choices, isWide }]) => {
    const text = textIn(query, name, { isWide });
    if (label === undefined) return text === '' ? [] : [textField(name, name, text)];
    const options = choices ?? values?.map((value) => ({ value, label: value }));
    if (!options) return [textField(name, label, text, { isWide: isWide ?? false, wrong: wrong.get(name) })];
    const usual = name === 'sort' ? sortOf(resource) : '';
    const all = name === 'sort' ? options : [ANY, ...options];
    // Any text may stand in the address, where the choices are only the usual ones.
    const isOther = !values && text !== '' && !wrong.has(name) && !options.some(({ value }) => value === text);
    return [
      choiceField(query, name, { label, options: isOther ? [...all, { value: text, label: text }] : all, usual }),
    ];
  });
  return fields.length === 0 ? html`` : filterForm(`/${resource.path}`, fields, { isFiltered });
}

async function exported(
  resource: AnyResource,
  csv: NonNullable<AnyResource['csv']>,
  context: ConsoleContext,
): Promise<Answer> {
  const { selected } = selectedIn(resource, context);
  const { sort = sortOf(resource), ...filter } = selected;
  const rows = await everyRow(resource, context, { ...filter, sort: `${sort}`, limit: ALL });
  return download(`${resource.path}.csv`, csvOf(csv.columns, rows.map(csv.row)));
}
