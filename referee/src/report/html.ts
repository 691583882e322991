import { failuresOf, idsOf, isBad, type Suite, skippedOf, type Table, escaped as text, type Verdict } from './write.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5d6675; --line: #d7dce4; --bad: #b3261e; --good: #1b6e3c; --ground: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf1; --soft: #a3adbd; --line: #394252; --bad: #ff8a80; --good: #7fd6a0; --ground: #14181f } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem } .wide { overflow-x: auto }
table { border-collapse: collapse } th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap }
.broken, .failed { color: var(--bad); font-weight: 600 } .kept, .passed, .yes { color: var(--good) } .soft { color: var(--soft) }
article { border-left: 3px solid var(--bad); padding: .1rem 1rem; margin: 1rem 0 } pre { white-space: pre-wrap; overflow-wrap: anywhere; color: var(--soft) }
.fix { font-weight: 600 } summary { cursor: pointer }
`;

/** A report as a page of its own: no script, no other file. */
export function htmlOf(suites: readonly Suite[]): string {
  const title = suites.map(({ name }) => name).join(', ');
  const body = suites.map(suiteOf).join('\n');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><style>${STYLE}</style></head>
<body><main>
${body}
</main></body></html>`;
}

function suiteOf(suite: Suite): string {
  const { name, summary, table, verdicts, notes = [], timelines = [] } = suite;
  const isGood = !verdicts.some(isBad);
  const timeline = timelines.map(
    (each) => `<details><summary>${text(each.name)}</summary>${tableOf(each, each.name)}</details>`,
  );
  return [
    `<h1>${text(name)}</h1>`,
    `<p class="${isGood ? 'passed' : 'failed'}">${text(summary)}</p>`,
    tableOf(table, 'Verdicts'),
    ...failuresOf(suite).map(failureOf),
    ...skippedOf(suite).map(({ ids, message }) => `<p class="soft">${text(ids)}: ${text(message)}</p>`),
    ...notes.map((note) => `<p class="soft">${text(note)}</p>`),
    timeline.length > 0 ? `<h2>Requests</h2>${timeline.join('\n')}` : '',
  ].join('\n');
}

function tableOf({ columns, rows }: Table, label: string): string {
  const head = columns.map((column) => `<th scope="col">${text(column)}</th>`).join('');
  const lines = rows.map(([first = '', ...cells]) => {
    const others = cells.map((cell) => `<td class="${/^\w+$/.test(cell) ? cell : ''}">${text(cell)}</td>`).join('');
    return `<tr><th scope="row">${text(first)}</th>${others}</tr>`;
  });
  const name = `aria-label="${text(label)}"`;
  return `<div class="wide" tabindex="0" role="region" ${name}><table ${name}><thead><tr>${head}</tr></thead><tbody>
${lines.join('\n')}
</tbody></table></div>`;
}

function failureOf(same: readonly Verdict[]): string {
  const [first] = same;
  if (!first) return '';
  const details = first.details.length > 0 ? `<pre>${first.details.map(text).join('\n')}</pre>` : '';
  const fix = first.fix === undefined ? '' : `<p class="fix">fix: ${text(first.fix)}</p>`;
  return `<article><h2 class="failed">${text(idsOf(same))}</h2>
<p class="soft">${text(first.sentence)}</p><p>${text(first.message)}</p>${details}${fix}</article>`;
}
