import type { AuditEntry } from '../catalog/audit.ts';
import { type Html, html } from '../http/docs/html.ts';
import type { Answer } from '../http/transport/exchange.ts';
import { utc } from '../stdx/clock.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { type ConsoleContext, type ConsoleRoute, numberIn } from './frame/context.ts';
import { foreign, moment, pager, table } from './frame/element.ts';
import { page } from './frame/layout.ts';

const ENTRIES_PER_PAGE = 50;
const TARGET_CHARACTERS_MAX = 20;
const SPANS = [
  { word: '24h', label: 'last 24 hours', seconds: DAY_SECONDS },
  { word: '7d', label: 'last 7 days', seconds: 7 * DAY_SECONDS },
  { word: '30d', label: 'last 30 days', seconds: 30 * DAY_SECONDS },
  { word: 'all', label: 'ever', seconds: Number.POSITIVE_INFINITY },
] as const;
const SPAN_AT_FIRST = SPANS[2];

/** What operators did. */
export const auditRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/audit', handle: listAudit }];

async function listAudit(context: ConsoleContext): Promise<Answer> {
  const { storage, exchange, now } = context;
  const span = SPANS.find(({ word }) => word === exchange.query.get('since')) ?? SPAN_AT_FIRST;
  const before = numberIn(exchange.query, 'before', 0);
  const since = Math.max(0, now - span.seconds);
  const found = await storage.audit.list({ since, limit: ENTRIES_PER_PAGE + 1, ...(before > 0 && { before }) });
  const entries = found.slice(0, ENTRIES_PER_PAGE);
  const options = SPANS.map(
    ({ word, label }) => html`<option value="${word}"${word === span.word ? html` selected` : ''}>${label}</option>`,
  );
  const last = found.length > ENTRIES_PER_PAGE ? entries.at(-1) : undefined;
  const content = html`<h1>Audit</h1>
<p class="lead">Every change that an operator made, here or on the command line. Nobody can alter it.</p>
<form class="search" action="/console/audit"><label for="since">Since</label><div class="row"><select id="since" name="since">${options}</select><button>Show</button></div></form>
${auditTable(entries, { withTarget: true })}
${pager(before > 0 ? `/audit?since=${span.word}` : undefined, last && `/audit?since=${span.word}&before=${last.id}`, ['Newest', 'Older'])}`;
  return page(context, { section: '/audit', title: 'Audit', content });
}

/** Entries of the audit, what was changed in each spelled out. */
export function auditTable(entries: readonly AuditEntry[], { withTarget }: { withTarget: boolean }): Html {
  if (entries.length === 0) return html`<p class="soft">No operator changed anything in this time.</p>`;
  const rows = entries.map(
    ({ at, operator, action, target, before, after }) => html`<tr><th scope="row">${moment(at)}</th>
<td>${foreign(operator.actor)} <span class="soft">${operator.via === 'cli' ? 'command line' : 'console'}</span></td><td><code>${action}</code></td>
${withTarget ? html`<td>${targetLink(action, target)}</td>` : ''}<td>${difference(before, after)}</td></tr>\n`,
  );
  const columns = ['When', 'Who', 'Did', ...(withTarget ? ['To'] : []), 'Change'].map((name) => ({ name }));
  return table('Audit', columns, rows);
}

function targetLink(action: string, target: string): Html {
  if (/^(key|ban)\./.test(action)) return html`<a href="/console/keys/${target}"><code>${target}</code></a>`;
  if (action.startsWith('category.')) return html`<a href="/console/categories/${target}">category ${target}</a>`;
  return html`<code>${target.length > TARGET_CHARACTERS_MAX ? `${target.slice(0, TARGET_CHARACTERS_MAX)}…` : target}</code>`;
}

/** Each field that is on either side, as it was and as it became. */
function difference(before: unknown, after: unknown): Html {
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const lines = names.map((name) => {
    const became = name in is ? html`<ins>${foreign(shown(name, is[name]))}</ins>` : '';
    const old = name in was && was[name] !== null ? html`<del>${foreign(shown(name, was[name]))}</del> ` : '';
    return html`<li>${name}: ${old}${became}</li>`;
  });
  return html`<ul class="difference">${lines}</ul>`;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

function shown(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number' && /At$/.test(name)) return utc(value);
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([part, of]) => `${of} per ${part}`)
      .join(', ');
  }
  return String(value);
}
