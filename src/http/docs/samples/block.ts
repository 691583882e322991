import { type Html, html } from '../../html.ts';
import { highlight } from './highlight.ts';

export interface Sample {
  /** As in `highlight`. */
  readonly language: string;
  readonly label: string;
  readonly code: string;
}

/** A block of code under its label, with a place for the copy button. */
export function codeBlock({ language, label, code }: Sample): Html {
  return html`<figure class="sample"><figcaption>${label}</figcaption>${pre(code, language)}</figure>`;
}

/**
 * Samples of the same thing in several languages, of which one is shown at a time. The tabs are radio buttons, so that
 * they work without scripts; `group` names them and must be unique in the page.
 */
export function sampleTabs(group: string, samples: readonly Sample[]): Html {
  const tabs = samples.map(
    ({ language, label }, index) =>
      html`<label><input type="radio" name="${group}" value="${language}"${index === 0 ? html` checked` : ''}><span>${label}</span></label>`,
  );
  const panels = samples.map(
    ({ language, code }) => html`<div data-language="${language}">${pre(code, language)}</div>`,
  );
  return html`<fieldset class="sample tabs"><legend class="unseen">Language of the sample</legend><div class="row">${tabs}</div>${panels}</fieldset>`;
}

function pre(code: string, language: string): Html {
  return html`<pre><code>${highlight(code, language)}</code></pre>`;
}
