import type { Operator } from '../../catalog/audit.ts';
import { SERVICE_TARGET } from '../../catalog/audit.ts';
import { importText } from '../../catalog/category.ts';
import { type Html, html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import { type AuditJson, listAudit } from '../api/audit.ts';
import { call } from '../api/operation.ts';
import type { ConsoleContext } from './frame/context.ts';
import { empty, foreign, secondOf } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { listPages, rowsTable, secondsOf } from './list-pages.ts';

/** The page of the audit, and how other pages show its entries. */

const LATEST_MAX = 20;
const TABLE = {
  path: '/audit',
  title: 'Audit',
  columns: [
    { label: 'When', cell: ({ at }: AuditJson) => secondOf(secondsOf(at)) },
    'actor',
    'action',
    'target',
    'change',
  ],
  cells: {
    actor: (entry: AuditJson) => operatorLink(entry),
    action: ({ action }: AuditJson) => html`<code>${action}</code>`,
    target: (entry: AuditJson) => targetLink(entry),
    change: ({ id, action, before, after }: AuditJson) =>
      html`${difference(before, after)}${action === 'categories.import' ? html`<code>categories delete --imported ${id}</code> undoes it` : ''}`,
  },
};

export const auditRoutes = listPages(listAudit, {
  ...TABLE,
  lead: () =>
    html`<p class="lead">Every change made by an operator, in the console, on the command line or through the API. Entries cannot be edited. Starts, failures and backups are <a href="/console/audit?target=${SERVICE_TARGET}">events of the service</a>; what customers changed is under <a href="/console/audit?via=key">by keys</a>.</p>`,
  none: () => empty('Nothing was changed yet.', html`What operators change appears here.`),
});

/** The latest changes that a query selects, with a link to all of them where there are more. */
export async function latestChanges(context: ConsoleContext, filter: Readonly<Record<string, string>>): Promise<Html> {
  const query = new URLSearchParams({ ...filter, limit: `${LATEST_MAX}` });
  const { json, last } = await call(listAudit, context.caller, { query });
  const rows = json as readonly AuditJson[];
  if (rows.length === 0) return html`<p class="soft">No change found.</p>`;
  const columns = TABLE.columns.filter((column) => typeof column !== 'string' || !(column in filter));
  return html`${rowsTable(listAudit, { ...TABLE, columns }, { context, rows })}
${last ? html`<p class="soft">The latest ${LATEST_MAX}. <a href="/console${addressOf('/audit', filter)}">All of them</a></p>` : ''}`;
}

/** Who made a change and how, with a link to the other changes. */
export function operatorLink({ actor, via, user }: Operator): Html {
  if (via === 'key') return html`<a href="/console/keys/${actor}"><code>${actor}</code></a>`;
  const target = via === 'service' ? SERVICE_TARGET : '';
  return html`<a class="plain-link" href="/console${addressOf('/audit', { actor, target })}">${foreign(actor)}</a> <span class="soft">${via}${user === undefined ? '' : html`, as the system’s user ${foreign(user)} says`}</span>`;
}

/** A link to what was changed, where it is still there. */
export function targetLink({ action, target }: { action: string; target: string }): Html {
  const [kind] = action.split('.');
  if (target === SERVICE_TARGET) return html`${target}`;
  if (kind === 'key' || kind === 'ban') return html`<a href="/console/keys/${target}"><code>${target}</code></a>`;
  if (kind === 'order' || kind === 'pet') return html`<a href="/console/${kind}s/${target}">${kind} ${target}</a>`;
  if (kind === 'category') return html`<a href="/console/categories/${target}">category ${target}</a>`;
  if (kind === 'categories') return html`<a href="/console/categories">${target}</a>`;
  return html`<a href="/console${kind === 'operator' ? '/tokens' : '/sessions'}"><code>${target}</code></a>`;
}

/** Every field on either side, with its old and its new value. */
export function difference(before: unknown, after: unknown): Html {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const lines = [...new Set([...Object.keys(old), ...Object.keys(current)])].map((name) => {
    const inserted = name in current ? html`<ins>${foreign(format(name, current[name]))}</ins>` : '';
    const deleted = name in old && old[name] !== null ? html`<del>${foreign(format(name, old[name]))}</del> ` : '';
    return html`<li>${name}: ${deleted}${inserted}</li>`;
  });
  return html`<ul class="difference">${lines}</ul>`;
}

/** The changed members; an import in words; graces that were ended by the prefixes of their secrets. */
function fieldsOf(value: unknown): Record<string, unknown> {
  const imported = importText(value);
  if (imported !== undefined) return { imported };
  if (Array.isArray(value)) return Object.fromEntries(value.map(({ prefix, endsAt }) => [prefix, endsAt]));
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

function format(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number' && name === 'at') return utc(value);
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([part, of]) => `${of} per ${part}`)
      .join(', ');
  }
  return String(value);
}
