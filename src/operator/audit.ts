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
  { name: '24h', label: 'last 24 hours', seconds: DAY_SECONDS },
  { name: '7d', label: 'last 7 days', seconds: 7 * DAY_SECONDS },
  { name: '30d', label: 'last 30 days', seconds: 30 * DAY_SECONDS },
  { name: 'all', label: 'all time', seconds: Number.POSITIVE_INFINITY },
] as const;
const WAYS = { cli: 'command line', console: 'console', api: 'API' } as const;
const DEFAULT_SPAN = SPANS[2];

/** The audit log. */
export const auditRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/audit', handle: listAudit }];

async function listAudit(context: ConsoleContext): Promise<Answer> {
  const { storage, exchange, now } = context;
  const span = SPANS.find(({ name }) => name === exchange.query.get('since')) ?? DEFAULT_SPAN;
  const before = numberIn(exchange.query, 'before', 0);
  const since = Math.max(0, now - span.seconds);
  const found = await storage.audit.list({ since, limit: ENTRIES_PER_PAGE + 1, ...(before > 0 && { before }) });
  const entries = found.slice(0, ENTRIES_PER_PAGE);
  const options = SPANS.map(
    ({ name, label }) => html`<option value="${name}"${name === span.name ? html` selected` : ''}>${label}</option>`,
  );
  const last = found.length > ENTRIES_PER_PAGE ? entries.at(-1) : undefined;
  const content = html`<h1>Audit</h1>
<p class="lead">Every change made by an operator, in the console, on the command line or through the API. Entries cannot be edited.</p>
<form class="search" action="/console/audit"><label for="since">Since</label><div class="row"><select id="since" name="since">${options}</select><button>Show</button></div></form>
${auditTable(entries, { withTarget: true })}
${pager(before > 0 ? `/audit?since=${span.name}` : undefined, last && `/audit?since=${span.name}&before=${last.id}`, ['Newest', 'Older'])}`;
  return page(context, { section: '/audit', title: 'Audit', content });
}

/** A table of audit entries with their changes. */
export function auditTable(entries: readonly AuditEntry[], { withTarget }: { withTarget: boolean }): Html {
  if (entries.length === 0) return html`<p class="soft">No operator made a change in this time.</p>`;
  const rows = entries.map(
    ({ at, operator, action, target, before, after }) => html`<tr><th scope="row">${moment(at)}</th>
<td>${foreign(operator.actor)} <span class="soft">${WAYS[operator.via]}</span></td><td><code>${action}</code></td>
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

/** Every field on either side, with its old and its new value. */
function difference(before: unknown, after: unknown): Html {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const lines = names.map((name) => {
    const inserted = name in current ? html`<ins>${foreign(format(name, current[name]))}</ins>` : '';
    const deleted = name in old && old[name] !== null ? html`<del>${foreign(format(name, old[name]))}</del> ` : '';
    return html`<li>${name}: ${deleted}${inserted}</li>`;
  });
  return html`<ul class="difference">${lines}</ul>`;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

function format(name: string, value: unknown): string {
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
