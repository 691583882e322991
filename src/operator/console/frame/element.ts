import { type Html, html } from '../../../http/html.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../../stdx/duration.ts';
import { utc } from '../../../stdx/time.ts';

/** A point in time in UTC to the minute; a script converts it to the reader's zone and keeps UTC as the tooltip. */
export function moment(unixSeconds: number): Html {
  return timeElement(unixSeconds, 16, '');
}

/** The same to the second. */
export function secondOf(unixSeconds: number): Html {
  return timeElement(unixSeconds, 19, ' data-seconds');
}

/** A time of day in UTC; a script converts it to the reader's zone. */
export function clock(unixSeconds: number): Html {
  const iso = utc(unixSeconds);
  return html`<time datetime="${iso}" data-clock>${iso.slice(11, 16)}</time>`;
}

/** A UTC day, as quotas count them; not converted to the reader's zone. */
export function utcDay(unixSeconds: number): Html {
  const day = utc(unixSeconds).slice(0, 10);
  return html`<time datetime="${day}" title="day in UTC">${day}</time>`;
}

/** A duration, rounded to one number with its unit. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 90 * MINUTE_SECONDS) return `${Math.round(seconds / MINUTE_SECONDS)} min`;
  if (seconds < 2 * DAY_SECONDS) return `${Math.round(seconds / HOUR_SECONDS)} h`;
  return `${Math.round(seconds / DAY_SECONDS)} days`;
}

/** A whole number with thousands separators. */
export function count(number: number): string {
  return number.toLocaleString('en-US');
}

/** A number of things, such as “1 key” or “1,200 keys”. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Text from users, isolated so that its direction (right to left) does not affect the text around it. */
export function foreign(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

/** Renders what stands between backticks as code. */
export function withCode(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

function timeElement(unixSeconds: number, characters: number, attribute: '' | ' data-seconds'): Html {
  const iso = utc(unixSeconds);
  const text = iso.replace('T', ' ');
  return html`<time datetime="${iso}" title="${text.slice(0, 19)} UTC"${attribute}>${text.slice(0, characters)} UTC</time>`;
}

interface Column {
  readonly label: string;
  readonly isNumber?: boolean;
  /** Text that needs room. */
  readonly isLong?: boolean;
}

/** The columns of a table; a name alone stands for one of short texts. */
type Columns = readonly (string | Column)[];

/** A column of numbers. */
export function numeric(label: string): Column {
  return { label, isNumber: true };
}

/** A column of texts that need room. */
export function long(label: string): Column {
  return { label, isLong: true };
}

/** A table that scrolls sideways on narrow screens, also by keyboard. */
export function table(label: string, columns: Columns, rows: readonly Html[], id: string): Html {
  return tableOf(label, columns, html`<tbody id="${id}" data-live>${rows}</tbody>`);
}

/** A table whose rows become cards on a phone: there each cell names its column. The first cell heads its row. */
export function cardTable(label: string, columns: Columns, rows: readonly (readonly Html[])[]): Html {
  const lines = rows.map(([head = html``, ...cells]) => {
    const named = cells.map((cell, index) => {
      const { label: name, isNumber, isLong } = columnOf(columns[index + 1]);
      const kind = isNumber ? html` class="number"` : isLong ? html` class="long"` : '';
      return html`<td data-column="${name}"${kind}><div>${cell}</div></td>`;
    });
    return html`<tr><th scope="row">${head}</th>${named}</tr>\n`;
  });
  return tableOf(label, columns, html`<tbody>${lines}</tbody>`, 'wide cards');
}

function tableOf(label: string, columns: Columns, body: Html, kind = 'wide'): Html {
  const heads = columns
    .map(columnOf)
    .map((column) => html`<th scope="col"${column.isNumber ? html` class="number"` : ''}>${column.label}</th>`);
  return html`<div class="${kind}" tabindex="0" role="region" aria-label="${label}"><table>
<thead><tr>${heads}</tr></thead>
${body}</table></div>`;
}

function columnOf(column: Columns[number] = ''): Column {
  return typeof column === 'string' ? { label: column } : column;
}

/** The empty state of a list, with advice. */
export function empty(title: string, advice: Html): Html {
  return html`<div class="empty"><p><strong>${title}</strong></p><p>${advice}</p></div>`;
}

/** A POST form with the session's CSRF token. */
export function post(context: { readonly csrf: string }, action: string, content: Html): Html {
  return html`<form method="post" action="/console${action}">${csrfField(context)}${content}</form>`;
}

/** The hidden field with the CSRF token; forms are refused without it. */
export function csrfField({ csrf }: { readonly csrf: string }): Html {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

/** Links to the first and the next page; empty without both. */
export function pager(first: string | undefined, next: string | undefined): Html {
  if (first === undefined && next === undefined) return html``;
  const link = (href: string | undefined, rel: string, text: string) =>
    href === undefined ? '' : html`<a class="button" rel="${rel}" href="/console${href}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages">${link(first, 'first', 'First page')}${link(next, 'next', 'Next')}</nav>`;
}

/** A secret that is shown once, with a button that copies it; a script gives the page the address `become`. */
export function secretBox(secret: string, { label, become }: { label: Html; become: string }): Html {
  return html`<div class="secret" data-become="/console${become}"><label for="secret">${label}</label>
<div class="row"><input id="secret" readonly value="${secret}" autocomplete="off" spellcheck="false"><button type="button" data-copy="secret" hidden>Copy</button></div>
<p class="hint" id="copied" role="status"></p></div>`;
}
