import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { call, type OperatorOperation, type Result, tagOf } from '../api/operation.ts';
import { type FieldWords, fieldsOf, valuesOf } from './fields.ts';
import { type ConsoleContext, onGet, onPost, seeOther, type View } from './frame/context.ts';
import { foreign, post, secretBox, withCode } from './frame/element.ts';
import { field, type Mistakes, mistakeSummary, NO_MISTAKES } from './frame/form.ts';
import { wholeText } from './frame/list.ts';
import type { Row } from './list-pages.ts';

/** The pages of changes: a form or a question made from an operation, what is sent from there, and a new secret. */

/** The codes of failures that the form shows again. */
const IN_THE_FORM = ['validation_failed', 'catalog_full', 'category_in_use', 'precondition_failed'];

interface FormPage extends FieldWords {
  /** The noun's address below `/console`. */
  readonly path: string;
  /** The last part of the form's address; that of the operation's name without it. */
  readonly verb?: string;
  /** The operation that shows the target; none for a creation. */
  readonly of?: OperatorOperation;
  readonly button: string;
  /** The button as a question without it. */
  readonly title?: string;
  readonly isDangerous?: true;
  /** The page of a target, to which a change leads back; the list without it. */
  readonly hasPage?: true;
  /** The page that it leads back to, where that is neither the target's nor the list. */
  back?(context: ConsoleContext): string;
  /** Below what the operation does to the target. */
  ask?(row: Row): Html;
  /** The form as it is first shown, where that is not the target. */
  first?(row: Row): object;
  /** Drops from the body what the form sends without need. */
  read?(body: Record<string, unknown>): object;
  readonly done: string;
}

/** Makes the pages of a change, and its button without further question. */
export function formPages(operation: OperatorOperation, page: FormPage) {
  const { button, isDangerous } = page;
  const pathOf = (id: string | number = '') => addressOf(operation, page, id);
  const route = pathOf(':id');
  return {
    routes: [
      onGet(route, (context) => formPage(operation, page, { context }), operation.permission),
      onPost(route, (context) => sent(operation, page, context), operation.permission),
    ],
    /** The notice after it, by the `done` parameter. */
    notice: [operation.name, page.done] as const,
    pathOf,
    button(context: ConsoleContext, { id, about }: { id: string; about?: string }) {
      const label = about === undefined ? '' : html` aria-label="${about}"`;
      const kind = isDangerous ? html` class="danger"` : '';
      return post(context, pathOf(id), html`<button${kind}${label}>${button}</button>`);
    },
  };
}

function addressOf({ name, parameter }: OperatorOperation, { path, ...page }: FormPage, id: string | number): string {
  const { verb = name.split('.')[1] } = page;
  return parameter ? `${path}/${id}/${verb}` : `${path}/${verb}`;
}

interface Shown {
  readonly context: ConsoleContext;
  readonly values?: object;
  readonly mistakes?: Mistakes;
  readonly status?: number;
}

async function formPage(
  operation: OperatorOperation,
  page: FormPage,
  { context, values, mistakes = NO_MISTAKES, status = 200 }: Shown,
): Promise<View> {
  const { of, path, button, title = `${button}?`, isDangerous } = page;
  const { id } = context;
  const target = of && (await call(of, context.caller, { id }));
  const row = target?.json as Row;
  const seen =
    of && target && html`<input type="hidden" name="seen" value="${tagOf(of, target)?.replaceAll('"', '') ?? ''}">`;
  const name = target ? nameOf(row) : wholeText(context.exchange.query, 'owner');
  const effect =
    name === '' || operation.method === 'PATCH'
      ? ''
      : html`<p class="lead"><strong>${foreign(name)}</strong>: ${withCode(operation.description)}</p>`;
  const back = backTo(page, context);
  const crumb = name === '' || page.back ? '' : html` <a href="/console${back}">${foreign(name)}</a>`;
  const form = html`${seen ?? ''}<div class="fields">${fieldsOf(operation, page, { values: { ...operation.usual, ...(operation.method === 'PATCH' && row), ...page.first?.(row), ...values }, mistakes })}<div class="row"><button class="${isDangerous ? 'danger' : 'primary'}">${button}</button><a class="button" href="/console${back}">Cancel</a></div></div>`;
  const section = path.charAt(1).toUpperCase() + path.slice(2);
  const query = operation.filters ? `?${context.exchange.query}` : '';
  const content = html`<p class="crumb"><a href="/console${page.back ? back : path}">${section}</a>${crumb}</p>
<h1>${title}</h1>
${mistakeSummary(mistakes)}
${effect}${page.ask?.(row) ?? ''}
${post(context, `${addressOf(operation, page, id)}${query}`, form)}`;
  return { section: path, title: `${title.replace('?', '')}${name && ` ${name}`}`, content, status };
}

/** The name of a target; of a session that of its actor. */
function nameOf({ name, actor }: Row): string {
  return name ?? actor;
}

/** The page that a form leads back to. */
function backTo({ path, hasPage, back }: FormPage, context: ConsoleContext, id = context.id): string {
  return back?.(context) ?? (hasPage && id !== '' ? `${path}/${id}` : path);
}

async function sent(operation: OperatorOperation, page: FormPage, context: ConsoleContext): Promise<View | Answer> {
  const { form, id, caller } = context;
  const { of } = page;
  const values = valuesOf(operation, form);
  const body = operation.body && (page.read?.(values) ?? values);
  const seen = field(form, 'seen');
  try {
    const before = of && operation.method === 'PATCH' && tagOf(of, await call(of, caller, { id }));
    const { query } = context.exchange;
    const result = await call(operation, caller, { id, query, body, ifMatch: seen === '' ? undefined : `"${seen}"` });
    if (result.secret !== undefined) return secretPage(operation, page, { context, result });
    const isSame = before !== undefined && tagOf(operation, result) === before;
    const isGone = operation.method === 'DELETE' && result.row === undefined;
    return seeOther(isGone ? page.path : backTo(page, context), isSame ? 'unchanged' : operation.name);
  } catch (error) {
    if (!(error instanceof CatalogError) || !IN_THE_FORM.includes(error.code)) throw error;
    if (error.code === 'precondition_failed') {
      const message = 'It was changed in the meantime. The form shows its current state; make your change again';
      return formPage(operation, page, { context, mistakes: new Map([['', message]]), status: 409 });
    }
    const status = error.code === 'validation_failed' ? 400 : 409;
    const mistakes = error.mistakes ?? new Map([['', error.message]]);
    return formPage(operation, page, { context, values, mistakes, status });
  }
}

/**
 * The only page that shows a secret. A script changes its URL to that of the key, so a reload does not create another.
 */
function secretPage(
  { secret: member }: OperatorOperation,
  page: FormPage,
  { context, result }: { context: ConsoleContext; result: Result },
): View {
  const { done, path } = page;
  const row = result.json as Row;
  const back = backTo(page, context, `${row.id}`);
  const isKey = member === 'key';
  const label = html`${isKey ? 'API key' : 'Token'} of <strong>${foreign(nameOf(row))}</strong>`;
  const content = html`<h1>${done}</h1>
<p class="lead">Copy it now: it is shown only once.</p>
${secretBox(result.secret ?? '', { label, become: back })}
${isKey ? tryIt(context, result.secret ?? '', back) : ''}`;
  return { section: path, title: done, content };
}

function tryIt({ url }: ConsoleContext, secret: string, back: string): Html {
  return html`<h2>Try it</h2>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer ${secret}' ${url()}/categories</code></pre>
<p><a href="/console${back}">Go to the key</a>: the request appears there and on the <a href="/console">overview</a> within seconds.</p>`;
}
