import { withoutSecret } from '../../../catalog/api-key.ts';
import { type Html, html } from '../../../http/html.ts';
import type { Exchange } from '../../../http/transport/exchange.ts';

/** Parts that lists have in common: addresses, filters, pages. */

/** The parameters of a list, in the address of each of its pages. */
export type ListQuery = Readonly<Record<string, string | undefined>>;

/** The address of a list with these parameters; those that are undefined or empty are left out. */
export function addressOf(path: string, query: ListQuery): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** The options of a field, one of them chosen. */
export function optionList(options: readonly Option[], chosen = ''): Html[] {
  return options.map(
    ({ value, label }) => html`<option value="${value}"${value === chosen ? html` selected` : ''}>${label}</option>`,
  );
}

/** A field of a filter with a text; a wide one searches in several members. */
export function textField(
  name: string,
  label: string,
  value = '',
  { isWide = false, placeholder = '' }: { isWide?: boolean; placeholder?: string } = {},
): Html {
  const max = isWide ? SEARCH_CHARACTERS_MAX : 255;
  return html`<div${isWide ? html` class="wider"` : ''}><label for="${name}">${label}</label><input id="${name}" name="${name}" type="search" value="${value}" maxlength="${max}" autocomplete="off"${placeholder === '' ? '' : html` placeholder="${placeholder}"`}></div>`;
}

interface Choice {
  /** The parameter that they set. */
  readonly name: string;
  readonly label: string;
  /** The first one is the default. */
  readonly options: readonly Option[];
  /** The value that is in force; that of the address without it. */
  readonly chosen?: string;
  /** Other parameters that a link drops. */
  readonly drops?: readonly string[];
}

/** Links that set a parameter of the page, keep the others, and lead back to where they are on it. */
export function choiceLinks({ path, query }: Exchange, { name, label, options, drops = [], ...rest }: Choice): Html {
  const { chosen = (options.find(({ value }) => value === query.get(name)) ?? options[0])?.value } = rest;
  const dropped = Object.fromEntries(['done', ...drops].map((each) => [each, '']));
  const links = options.map((option) => {
    const address = addressOf(path, { ...Object.fromEntries(query), ...dropped, [name]: option.value });
    return html`<li><a href="${address}#${name}-links"${option.value === chosen ? html` aria-current="true"` : ''}>${option.label}</a></li>`;
  });
  return html`<nav class="ranges" id="${name}-links" aria-label="${label}"><ul>${links}</ul></nav>`;
}

/** A link that downloads a list as CSV: all of it that the filters select. */
export function csvLink(path: string, query: ListQuery, text = 'CSV'): Html {
  return html`<a class="button" href="/console${addressOf(path, query)}" download>${text}</a>`;
}

export const SEARCH_CHARACTERS_MAX = 128;

/** The text that a request searches for; empty for nothing. */
export function searchText(query: URLSearchParams, name: string): string {
  return [...wholeText(query, name).trim()].slice(0, SEARCH_CHARACTERS_MAX).join('');
}

/** The address of a page with the prefixes of the secrets that are in its parameters; undefined if none is. */
export function addressWithoutSecrets({ path, query }: Exchange): string | undefined {
  const cut = new URLSearchParams([...query].map(([name, text]) => [name, withoutSecret(text)]));
  return `${cut}` === `${query}` ? undefined : `${path}?${cut}`;
}

/** The text of a parameter as it is, without NUL, which PostgreSQL rejects; empty if it is missing. */
export function wholeText(query: URLSearchParams, name: string): string {
  return (query.get(name) ?? '').replaceAll('\0', '');
}
