import { type Html, html } from '../../html.ts';

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

const C_LIKE = ['//[^\\n]*'];
const SCRIPT_WORDS =
  'import|from|const|let|await|async|new|for|of|if|else|switch|case|break|default|throw|try|catch|return|while|instanceof|function|export';

const SYNTAXES: Readonly<Record<string, { readonly comments: readonly string[]; readonly words: string }>> = {
  sh: { comments: ['(?<=^|\\s)#[^\\n]*'], words: 'curl|export|for|in|do|done|if|then|fi|sleep|while|until' },
  ts: { comments: C_LIKE, words: SCRIPT_WORDS },
  js: { comments: C_LIKE, words: SCRIPT_WORDS },
  py: { comments: ['#[^\\n]*'], words: 'import|from|def|return|if|else|for|in|while|with|as|not|None|True|False' },
  go: { comments: C_LIKE, words: 'package|import|func|if|nil|defer|return|for|range|var' },
  json: { comments: [], words: 'true|false|null' },
};

/** The form in which samples write the key or token: as an expression, or as a part of a string. */
const BARE_KEY = ['os\\.Getenv\\("PET_CATALOG_(?:KEY|TOKEN)"\\)', 'process\\.env\\.PET_CATALOG_(?:KEY|TOKEN)\\b'];
const KEY_IN_STRING =
  /(\$\{process\.env\.PET_CATALOG_(?:KEY|TOKEN)\}|\{os\.environ\['PET_CATALOG_(?:KEY|TOKEN)'\]\}|\$PET_CATALOG_(?:KEY|TOKEN)\b)/;
const STRINGS = ['"(?:\\\\.|[^"\\\\])*"', "'(?:\\\\.|[^'\\\\])*'", '`(?:\\\\.|[^`\\\\])*`'];

/**
 * Marks comments, strings, keywords and numbers. The places where a sample reads the key become
 * `<span data-key>`, which the script of the page fills.
 */
function highlight(code: string, language: string): Html {
  const syntax = SYNTAXES[language];
  if (!syntax) return html`${code}`;
  const { comments, words } = syntax;
  const kinds = [
    ['key', BARE_KEY],
    ['c', comments],
    ['s', STRINGS],
    ['k', [`(?<![\\w.$-])(?:${words})(?![\\w-])`]],
    // In a shell most digits are parts of addresses.
    ['n', language === 'sh' ? [] : ['(?<![\\w.])\\d[\\d_]*(?![\\w.])']],
  ] as const;
  const pattern = new RegExp(
    kinds
      .filter(([, patterns]) => patterns.length > 0)
      .map(([kind, patterns]) => `(?<${kind}>${patterns.join('|')})`)
      .join('|'),
    'gm',
  );
  const parts: Html[] = [];
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const [text] = match;
    const [kind = ''] = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined) ?? [];
    parts.push(html`${code.slice(end, match.index)}`, marked(kind, text));
    end = match.index + text.length;
  }
  return html`${parts}${code.slice(end)}`;
}

function marked(kind: string, text: string): Html {
  if (kind === 'key') return html`<span data-key="expression">${text}</span>`;
  if (kind !== 's') return html`<span class="${kind}">${text}</span>`;
  // Every other part is a place for the key.
  const parts = text
    .split(KEY_IN_STRING)
    .map((part, index) => (index % 2 === 1 ? html`<span data-key="text">${part}</span>` : html`${part}`));
  return html`<span class="s">${parts}</span>`;
}
