import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';

/** The mistakes in a form, by the name of the field; by the empty name, with the form as a whole. */
export type Mistakes = ReadonlyMap<string, string>;

export const NO_MISTAKES: Mistakes = new Map();

/** Reads a form field by field and collects every mistake, so that all of them are shown at once. */
export class FormCheck {
  readonly mistakes = new Map<string, string>();

  /** The result of `read`; if it throws `validation_failed`, that is the mistake of the field. */
  field<T>(name: string, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof CatalogError && error.code === 'validation_failed')) throw error;
      this.mistakes.set(name, error.message);
      return undefined;
    }
  }
}

/** Every mistake with a link to its field, above the form; nothing without any. */
export function mistakeSummary(mistakes: Mistakes): Html {
  if (mistakes.size === 0) return html``;
  const items = [...mistakes].map(
    ([name, message]) => html`<li>${name === '' ? message : html`<a href="#${name}">${message}</a>`}</li>`,
  );
  return html`<div class="mistake" role="alert"><p>Nothing was saved.${mistakes.size > 1 ? ` ${mistakes.size} entries are not valid:` : ''}</p>
<ul>${items}</ul></div>`;
}

/** The attributes that tie a field to its hint and to its mistake. */
export function described(mistakes: Mistakes, name: string, { hasHint = false } = {}): Html {
  const ids = [...(mistakes.has(name) ? [`${name}-mistake`] : []), ...(hasHint ? [`${name}-hint`] : [])];
  return html`${mistakes.has(name) ? html` aria-invalid="true"` : ''}${ids.length > 0 ? html` aria-describedby="${ids.join(' ')}"` : ''}`;
}

/** The mistake of a field, to stand below it. */
export function fieldMistake(mistakes: Mistakes, name: string): Html {
  const message = mistakes.get(name);
  return message === undefined ? html`` : html`<p class="fault" id="${name}-mistake">${message}</p>`;
}
