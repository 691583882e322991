import { ERROR_CODES, type ErrorCode } from '../../catalog/error.ts';
import { STATUS_OF } from '../errors.ts';
import { ERROR_GUIDE } from './error-guide.ts';
import { type Html, html } from './html.ts';

/** /docs/errors: the meaning, cause and remedy of every code. */
export function errorsContent(): Html {
  const byStatus = [...Map.groupBy(ERROR_CODES, (code) => STATUS_OF[code])].sort(([one], [other]) => one - other);
  const rows = byStatus.map(([status, codes]) => {
    const links = codes.map((code) => html`<li><a href="#${code}"><code>${code}</code></a></li>`);
    return html`<tr><th scope="row">${status}</th><td><ul class="inline">${links}</ul></td></tr>\n`;
  });
  return html`<h1>Errors</h1>
<p class="lead">Every error has the same body: a <code>code</code> for programs, a <code>message</code> for people, and the HTTP <code>status</code>.</p>
<pre tabindex="0"><code>{"code":"validation_failed","message":"name is missing; add it to the body","status":400}</code></pre>
<p>Branch on <code>code</code>, and for an unknown code on <code>status</code>. Messages may change at any time. When you report a failure, include the <code>X-Request-Id</code> of the response.</p>
<h2 id="codes">All codes</h2>
<table><thead><tr><th scope="col">Status</th><th scope="col">Codes</th></tr></thead>
<tbody>
${rows}</tbody></table>
${byStatus.flatMap(([, codes]) => codes.map(describe))}`;
}

function describe(code: ErrorCode): Html {
  const { meaning, cause, action } = ERROR_GUIDE[code];
  return html`<section id="${code}" aria-labelledby="${code}-heading" class="entry">
<h3 id="${code}-heading"><code>${code}</code> <span class="status">${STATUS_OF[code]}</span></h3>
<p>${meaning}</p>
<dl>
<dt>Cause</dt><dd>${cause}</dd>
<dt>What to do</dt><dd>${action}</dd>
</dl>
</section>
`;
}
