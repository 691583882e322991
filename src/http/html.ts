const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is already HTML, so it is not escaped again. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Part[];

/** Template tag that escapes every value except `Html`. Arrays are joined without a separator. */
export function html(fixed: TemplateStringsArray, ...values: readonly Part[]): Html {
  const text = fixed.map((part, index) => (index === 0 ? part : render(values[index - 1] ?? '') + part));
  return new Html(text.join(''));
}

function render(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** A Content-Security-Policy that allows only resources of this origin: no inline script or style, no framing. */
export function contentPolicy(forms: 'self' | 'none'): string {
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action '${forms}'`;
}
