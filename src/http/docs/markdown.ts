import { Marked, type Token, type Tokens } from 'marked';
import { Html, html } from '../html.ts';
import { codeBlock, type Sample, sampleTabs } from './samples/block.ts';
import { LANGUAGES } from './samples/languages.ts';
import { pathOf } from './site.ts';

/** The languages of fenced code, as readers call them. */
const LABELS = new Map(LANGUAGES.map(({ id, label }) => [id, label]));

const marked = new Marked({
  renderer: {
    /** Links between the files of the pages lead to the pages. */
    link({ href, tokens }) {
      const target = href.replace(/^([\w-]+)\.md(?=#|$)/, (_all, file) => pathOf(file));
      return html`<a href="${target}">${new Html(this.parser.parseInline(tokens))}</a>`.text;
    },
    tablecell({ header, align, tokens }) {
      const text = new Html(this.parser.parseInline(tokens));
      const kind = align === 'right' ? html` class="number"` : '';
      return header ? html`<th scope="col"${kind}>${text}</th>`.text : html`<td${kind}>${text}</td>`.text;
    },
  },
});

/** A heading with what follows it, down to the next heading. */
export interface Section {
  readonly depth: number;
  readonly title: string;
  readonly id: string;
  /** The whole section as plain text, without code blocks. */
  readonly text: string;
  readonly html: Html;
}

/** Renders Markdown of a few words, such as a description. */
export function inline(markdown: string): Html {
  return new Html(marked.parseInline(markdown, { async: false }));
}

/**
 * Renders a page, a section for each heading. A heading that is one piece of code keeps it as its id. Fenced code in
 * several languages with nothing in between is shown one language at a time.
 */
export function sectionsOf(markdown: string): Section[] {
  const parts: { heading: Tokens.Heading; tokens: Token[] }[] = [];
  for (const token of marked.lexer(markdown)) {
    if (token.type === 'heading') parts.push({ heading: token as Tokens.Heading, tokens: [] });
    else parts.at(-1)?.tokens.push(token);
  }
  return parts.map(({ heading, tokens: inside }) => {
    const title = plain(heading);
    const [only, ...more] = heading.tokens;
    const id = only?.type === 'codespan' && more.length === 0 ? title : slug(title);
    const text = inside.map((token) => (token.type === 'code' ? '' : plain(token))).join(' ');
    return { depth: heading.depth, title, id, text, html: sectionHtml(heading, id, inside) };
  });
}

/** Rewrites the links between the files of the pages to the Markdown that is served. */
export function withServedLinks(markdown: string): string {
  return markdown.replaceAll(/\]\(([\w-]+)\.md(?=[#)])/g, (_all, file) => `](${pathOf(file)}.md`);
}

function sectionHtml({ depth, tokens }: Tokens.Heading, id: string, inside: readonly Token[]): Html {
  const title = new Html(marked.Parser.parseInline(tokens, marked.defaults));
  const body = bodyOf(inside, id);
  if (depth === 1) return html`<h1>${title}</h1>\n<div class="intro">${body}</div>\n`;
  const heading = html`<a href="#${id}">${title}</a>`;
  return html`<section id="${id}" aria-labelledby="${id}-heading" class="${depth === 2 ? 'chapter' : 'entry'}">
${depth === 2 ? html`<h2 id="${id}-heading">${heading}</h2>` : html`<h3 id="${id}-heading">${heading}</h3>`}
${body}</section>
`;
}

function bodyOf(tokens: readonly Token[], id: string): Html {
  const parts: Html[] = [];
  let together: Sample[] = [];
  for (const token of tokens) {
    if (token.type === 'code') together.push(sampleOf(token as Tokens.Code));
    else if (token.type !== 'space') {
      parts.push(codeOf(together, `${id}-${parts.length}`), new Html(marked.parser([token])));
      together = [];
    }
  }
  return html`${parts}${codeOf(together, `${id}-${parts.length}`)}`;
}

function codeOf(written: readonly Sample[], group: string): Html {
  const languages = new Set(written.map(({ language }) => language));
  return languages.size > 1 ? sampleTabs(group, written) : html`${written.map(codeBlock)}`;
}

function sampleOf({ lang = '', text }: Tokens.Code): Sample {
  const label = lang === 'sh' && !text.includes('curl ') ? 'Shell' : (LABELS.get(lang) ?? lang.toUpperCase());
  // JSON is shown in one style, that of the reference.
  const code = lang === 'json' ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return { language: lang, label, code };
}

/** The text of a token, without its markup. */
function plain(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flatMap((row) => row.map((cell) => cell.tokens.map(plain).join(''))).join(' ');
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(plain).join(' ');
  const { tokens } = token as { tokens?: Token[] };
  return tokens ? tokens.map(plain).join('') : ((token as { text?: string }).text ?? '');
}

function slug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-');
}
