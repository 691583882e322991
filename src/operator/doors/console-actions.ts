import { CatalogError } from '../../catalog/error.ts';
import { validator } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import { etagOf } from '../../http/operations/conditional.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import type { Action } from '../action.ts';
import { type ConsoleContext, type ConsoleRoute, onGet, onPost, seeOther, type View } from '../frame/context.ts';
import { foreign, post, secretBox } from '../frame/element.ts';
import { field, type Mistakes, mistakeSummary, NO_MISTAKES } from '../frame/form.ts';
import { fieldsOf, membersOf, valuesOf } from './fields.ts';

/** The codes of failures that the form shows again. */
const IN_THE_FORM = ['validation_failed', 'catalog_full', 'category_in_use', 'precondition_failed'];

/** Makes the pages of an action in the console: its form or question, and what is sent from there or a button. */
export function routesOf(action: Action): ConsoleRoute[] {
  const path = action.isNew
    ? `/${action.of.path}/${action.console.verb}`
    : `/${action.of.path}/:id/${action.console.verb}`;
  return [
    onGet(path, (context) => formPage(action, context), action.role),
    onPost(path, (context) => sent(action, context), action.role),
  ];
}

/** The path of an action, to which its form is sent. */
export function pathOf({ of, isNew, console: { verb } }: Action, id = ''): string {
  return isNew ? `/${of.path}/${verb}` : `/${of.path}/${id}/${verb}`;
}

/** A button that does an action without further question. */
export function actionButton(
  context: ConsoleContext,
  action: Action,
  { id, about }: { id: string; about?: string },
): Html {
  const { button, isDangerous } = action.console;
  const label = about === undefined ? '' : html` aria-label="${about}"`;
  const kind = isDangerous ? html` class="danger"` : '';
  return post(context, pathOf(action, id), html`<button${kind}${label}>${button}</button>`);
}

interface Shown {
  readonly values?: object;
  readonly mistakes?: Mistakes;
  readonly status?: number;
}

async function formPage(
  action: Action,
  context: ConsoleContext,
  { values, mistakes = NO_MISTAKES, status = 200 }: Shown = {},
): Promise<View> {
  const {
    of,
    isNew,
    console: { title, button, isDangerous, ask, first },
  } = action;
  const row = isNew ? undefined : await of.find(context, context.id);
  const crumb = row === undefined ? '' : html` <a href="/console${of.back(context.id)}">${foreign(of.nameOf(row))}</a>`;
  const seen = row === undefined ? '' : html`<input type="hidden" name="seen" value="${tagOf(action, row)}">`;
  const content = html`<p class="crumb"><a href="/console/${of.path}">${of.title}</a>${crumb}</p>
<h1>${title}</h1>
${mistakeSummary(mistakes)}
${row === undefined ? '' : ((await ask?.(context, row)) ?? '')}
${post(
  context,
  pathOf(action, context.id),
  html`${seen}<div class="fields">${fieldsOf(action, { ...first?.(row), ...values }, mistakes)}<div class="row"><button class="${isDangerous ? 'danger' : 'primary'}">${button}</button><a class="button" href="/console${isNew ? `/${of.path}` : of.back(context.id)}">Cancel</a></div></div>`,
)}`;
  const name = row === undefined ? '' : ` ${of.nameOf(row)}`;
  return { section: `/${of.path}`, title: `${title.replace('?', '')}${name}`, content, status };
}

async function sent(action: Action, context: ConsoleContext): Promise<View | Answer> {
  const { form, id, now } = context;
  const { of, isNew } = action;
  const body = valuesOf(action, form);
  const input = action.console.read?.(body) ?? body;
  const before = isNew ? undefined : await of.find(context, id).catch(() => undefined);
  const mistakes = mistakesIn(action, input, { now, row: before });
  if (mistakes.size > 0) return formPage(action, context, { values: body, mistakes, status: 400 });
  try {
    const { row, secret, nothing } = await action.run(guarded(action, context), id, input);
    if (secret !== undefined) return secretPage(action, context, { row, secret, input });
    const isSame =
      before && row && tagOf(action, before) === tagOf(action, row) && action.input?.required === undefined;
    const done = nothing !== undefined ? `${action.name}-nothing` : isSame && action.input ? 'unchanged' : action.name;
    return seeOther(row === undefined ? `/${of.path}` : of.back(id), done);
  } catch (error) {
    if (!(error instanceof CatalogError) || !IN_THE_FORM.includes(error.code)) throw error;
    if (error.code === 'precondition_failed') {
      const message = `The ${of.noun} was changed in the meantime. The form shows its current state; make your change again`;
      return formPage(action, context, { mistakes: new Map([['', message]]), status: 409 });
    }
    const status = error.code === 'validation_failed' ? 400 : 409;
    return formPage(action, context, { values: body, mistakes: new Map([['', error.message]]), status });
  }
}

/** Every mistake in the members of an input, each by its name. */
function mistakesIn(
  { input, checks = {} }: Action,
  values: object,
  { now, row }: { now: number; row: unknown },
): Mistakes {
  const mistakes = new Map<string, string>();
  if (!input) return mistakes;
  for (const [name, schema] of membersOf({ input })) {
    const value = (values as Record<string, unknown>)[name];
    const required = input.required?.includes(name) ? { required: [name] } : {};
    try {
      validator({ type: 'object', ...required, properties: { [name]: schema } })(
        value === undefined ? {} : { [name]: value },
      );
      if (value !== undefined) checks[name]?.(value as never, now, row);
    } catch (error) {
      if (!(error instanceof CatalogError) || error.code !== 'validation_failed') throw error;
      mistakes.set(name, error.message);
    }
  }
  return mistakes;
}

/** With the condition that the target is as the form showed it: a stale one would undo another operator's change. */
function guarded(action: Action, context: ConsoleContext): ConsoleContext {
  const seen = field(context.form, 'seen');
  if (seen === '') return context;
  const precondition = (row: object) => {
    if (tagOf(action, row) !== seen) throw new CatalogError('precondition_failed', 'It was changed in the meantime');
  };
  return { ...context, precondition };
}

function tagOf({ of }: Action, row: unknown): string {
  return etagOf(JSON.stringify(of.guarded(row))).replaceAll('"', '');
}

/**
 * The only page that shows a secret. A script changes its URL to that of the key, so a reload does not create another.
 */
function secretPage(
  { of, console: { done, after } }: Action,
  context: ConsoleContext,
  { row, secret, input }: { row: unknown; secret: string; input: object },
): View {
  const back = of.back(`${of.idOf(row)}`);
  const content = html`<h1>${done}</h1>
<p class="lead">Copy it now: it is shown only once.</p>
${secretBox(secret, { label: html`${of.secret === 'key' ? 'API key' : 'Token'} of <strong>${foreign(of.nameOf(row))}</strong>`, become: back })}
${after?.(context, row, input) ?? ''}
${of.secret === 'key' ? tryIt(context, secret, back) : ''}`;
  return { section: `/${of.path}`, title: done, content };
}

function tryIt({ url }: ConsoleContext, secret: string, back: string): Html {
  return html`<h2>Try it</h2>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer ${secret}' ${url()}/categories</code></pre>
<p><a href="/console${back}">Go to the key</a>: the request appears there and on the <a href="/console">overview</a> within seconds.</p>`;
}
