import { type Html, html } from '../../http/html.ts';
import { placeText } from '../../http/operations/paging.ts';
import { type Column, call, type OperatorOperation, parametersOf, type Result } from '../api/operation.ts';
import { type ConsoleContext, type ConsoleRoute, onGet, type View } from './frame/context.ts';
import { cardTable, counted, empty, foreign, moment, pager } from './frame/element.ts';
import { addressOf, csvLink, optionList, searchText, textField, wholeText } from './frame/list.ts';

/** The pages of lists: the JSON of an operation as a table, with a form of its parameters, and CSV. */

const ROWS_PER_PAGE = 50;
/** A moment in JSON. */
const MOMENT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

const STATE_TONES: Readonly<Record<string, string>> = { active: 'good', paused: 'warning', banned: 'danger' };

/** A row, as the API gives it. */
// biome-ignore lint/suspicious/noExplicitAny: its operation has the schema.
export type Row = any;

/** A column of a page: a member of the operation's columns, or one of the page alone. */
type Shown = string | { readonly label: string; cell(row: Row, context: ConsoleContext): Html };

export interface ListPage {
  /** Its address below `/console`. */
  readonly path: string;
  readonly title: string;
  /** Those of the operation without it. */
  readonly columns?: readonly Shown[];
  /** Cells with more than the text of the member. */
  readonly cells?: Readonly<Record<string, (row: Row, context: ConsoleContext) => Html>>;
  /** Draws the rows in place of the table of columns. */
  table?(rows: readonly Row[], context: ConsoleContext): Html | Promise<Html>;
  /** Beside the heading. */
  head?(context: ConsoleContext): Html;
  lead?(context: ConsoleContext): Html;
  /** Where there is none at all. */
  none(context: ConsoleContext): Html;
}

/** Makes the page of a list and its CSV. */
export function listPages(operation: OperatorOperation, page: ListPage): ConsoleRoute[] {
  const routes = [onGet(page.path, (context) => listPage(operation, page, context), operation.permission)];
  return operation.list?.csv ? [...routes, exportRoute(operation, page.path)] : routes;
}

/** Makes the CSV of a list, with the parameters of its page. */
export function exportRoute(operation: OperatorOperation, path: string): ConsoleRoute {
  const file = `attachment; filename="${path.slice(1)}.csv"`;
  const handle: ConsoleRoute['handle'] = (context) => {
    const { exchange, caller } = context;
    const request = { query: new URLSearchParams(requested(operation, context)) };
    return context.exports.answer(operation, caller, { exchange, request, headers: ['Content-Disposition', file] });
  };
  return onGet(`${path}/export`, handle, operation.permission);
}

/** The parameters that an address asks for, without empty fields. */
function requested(operation: OperatorOperation, { exchange: { query } }: ConsoleContext): Record<string, string> {
  const all = Object.entries(parametersOf(operation)).map(([name, filter]) => [name, textIn(query, name, filter)]);
  return Object.fromEntries(all.filter(([, text]) => text !== ''));
}

async function listPage(operation: OperatorOperation, page: ListPage, context: ConsoleContext): Promise<View> {
  const { path, title } = page;
  const { noun = ['', ''] as const, csv } = operation.list ?? {};
  const texts = requested(operation, context);
  const cursor = context.exchange.query.get('cursor') ?? '';
  const asked = new URLSearchParams({ ...texts, limit: `${ROWS_PER_PAGE}` });
  if (cursor !== '') asked.set('cursor', cursor);
  const { json, last, total }: Result = await call(operation, context.caller, { query: asked });
  const rows = json as readonly Row[];
  const { sort: _, ...filtered } = texts;
  const isFiltered = Object.keys(filtered).length > 0;
  const hasNone = rows.length === 0 && !isFiltered && cursor === '';
  const listed = hasNone
    ? page.none(context)
    : rows.length === 0
      ? empty(`No ${noun[0]} found.`, html`<a href="/console${path}">Show all ${noun[1]}</a>`)
      : await (page.table?.(rows, context) ?? rowsTable(operation, page, { context, rows }));
  const next = last && addressOf(path, { ...texts, cursor: placeText(last) });
  const count = total === undefined ? '' : counted(total, ...noun);
  const content = html`<div class="heading"><h1>${title}</h1>${page.head?.(context) ?? ''}</div>
${page.lead?.(context) ?? ''}
${hasNone ? '' : filtersOf(operation, page, { context, isFiltered })}
${hasNone || (count === '' && !csv) ? '' : html`<div class="heading"><p class="soft">${count}</p>${csv ? csvLink(`${path}/export`, texts) : ''}</div>`}
${listed}
${pager(cursor === '' ? undefined : addressOf(path, texts), next)}`;
  return { section: path, title, content };
}

/** Rows of a list as a table. */
export function rowsTable(
  { list }: OperatorOperation,
  { title, columns, cells = {} }: Pick<ListPage, 'title' | 'columns' | 'cells'>,
  { context, rows }: { context: ConsoleContext; rows: readonly Row[] },
): Html {
  const known = new Map((list?.columns ?? []).map((column) => [column.member, column]));
  const shown = (columns ?? [...known.keys()]).map((column) => {
    if (typeof column !== 'string') return column;
    const of = known.get(column) ?? { member: column, label: column };
    return { ...of, cell: cells[column] ?? ((row: Row) => memberCell(of, row, context.now)) };
  });
  const lines = rows.map((row) => shown.map(({ cell }) => cell(row, context)));
  return cardTable(title, shown, lines);
}

/** The member of a row as its column writes it; a moment as the console shows one. */
function memberCell({ member, text }: Column, row: Row, now: number): Html {
  const written = text?.(row, now) ?? row[member] ?? '';
  if (typeof written === 'string' && MOMENT.test(written)) return isoMoment(written);
  return typeof written === 'string' ? foreign(written) : html`${written}`;
}

/** A state as its column writes it, such as `active until 2027-01-31T00:00:00Z`, with its first word as a badge. */
export function stateCell(text: string): Html {
  const [state = '', ...more] = text.split(' ');
  const rest = more.map((word) => (MOMENT.test(word) ? isoMoment(word) : html`${word} `));
  const tone = STATE_TONES[state] ?? '';
  return html`<span class="badge${tone && ` ${tone}`}">${state}</span>${more.length > 0 ? html`<span class="under soft">${rest}</span>` : ''}`;
}

/** A moment of JSON, as the console shows it. */
export function isoMoment(text: string): Html {
  return moment(secondsOf(text));
}

/** A moment of JSON in Unix seconds. */
export function secondsOf(text: string): number {
  return Math.floor(Date.parse(text) / 1_000);
}

/** The text of a filter as it is sent. */
function textIn(query: URLSearchParams, name: string, { isWide }: { readonly isWide?: true | undefined }): string {
  return isWide || name === 'since' || name === 'until' ? searchText(query, name) : wholeText(query, name);
}

function filtersOf(
  operation: OperatorOperation,
  { path }: ListPage,
  { context, isFiltered }: { context: ConsoleContext; isFiltered: boolean },
): Html {
  const { query } = context.exchange;
  const fields = Object.entries(parametersOf(operation)).flatMap(([name, { label, values, choices, isWide }]) => {
    const text = textIn(query, name, { isWide });
    if (label === undefined) return text === '' ? [] : [textField(name, name, text)];
    const usual = choices ?? values;
    if (!usual) return [textField(name, label, text, { isWide: isWide ?? false })];
    const isOrder = name === 'sort';
    // Any text may stand in the address, where the choices are only the usual ones.
    const offered = new Set([...(isOrder ? [] : ['']), ...usual, ...(text === '' ? [] : [text])]);
    const options = [...offered].map((value) => ({
      value,
      label: isOrder ? value.replaceAll('-', ' ') : value || 'any',
    }));
    return [
      html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}">${optionList(options, text || options[0]?.value)}</select></div>`,
    ];
  });
  if (fields.length === 0) return html``;
  const reset = isFiltered ? html`<a class="button" href="/console${path}">Reset</a>` : '';
  return html`<form class="list-filters" role="search" action="/console${path}">${fields}<div class="row"><button>Show</button>${reset}</div></form>`;
}
