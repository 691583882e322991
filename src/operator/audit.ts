import { AUDIT_ACTIONS, type AuditEntry, type Operator, SERVICE_TARGET } from '../catalog/audit.ts';
import { auditCsv } from '../catalog/operator/csv.ts';
import { type Html, html } from '../http/html.ts';
import type { Answer } from '../http/transport/exchange.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import { utc } from '../stdx/time.ts';
import { type ConsoleContext, download, onGet, type View } from './frame/context.ts';
import { cardTable, foreign, long, utcMoment } from './frame/element.ts';
import {
  ANY,
  addressOf,
  choiceField,
  csvLink,
  filters,
  type ListQuery,
  onePage,
  searchText,
  textField,
} from './frame/list.ts';

const LATEST_MAX = 20;
const TARGET_CHARACTERS_MAX = 20;
const SPANS = [
  { value: '24h', label: 'last 24 hours', seconds: DAY_SECONDS },
  { value: '7d', label: 'last 7 days', seconds: 7 * DAY_SECONDS },
  { value: '30d', label: 'last 30 days', seconds: 30 * DAY_SECONDS },
  { value: 'all', label: 'all time', seconds: Number.POSITIVE_INFINITY },
] as const;
const ACTIONS = [ANY, ...AUDIT_ACTIONS.map((action) => ({ value: action, label: action }))];
const WAYS = { cli: 'command line', console: 'console', api: 'API', service: 'service' } as const;
const DEFAULT_SPAN = SPANS[2];
/** A creation or a deletion has one line of at most so many values, which unfolds. */
const FOLDED_VALUES = 2;

export const auditRoutes = [onGet('/audit', listAudit), onGet('/audit/export', exportAudit)];

/** The filters of a request, as they are in the address and as storage takes them. */
function wantedEntries({ exchange: { query }, now }: ConsoleContext) {
  const span = SPANS.find(({ value }) => value === query.get('since')) ?? DEFAULT_SPAN;
  const [actor, target, text] = ['actor', 'target', 'q'].map((name) => searchText(query, name));
  const action = AUDIT_ACTIONS.find((each) => each === query.get('action'));
  const address: ListQuery = { since: span === DEFAULT_SPAN ? '' : span.value, q: text, actor, action, target };
  const texts = { actor: actor || undefined, target: target || undefined, text: text || undefined };
  const filter = { since: Math.max(0, now - span.seconds), action, ...texts };
  return { address, filter };
}

async function listAudit(context: ConsoleContext): Promise<View> {
  const { query } = context.exchange;
  const { address, filter } = wantedEntries(context);
  const { items, pages } = await onePage(context, { filter: address, by: 'before' }, ({ after: before, limit }) =>
    context.storage.audit.list({ ...filter, limit, before: before || undefined }),
  );
  const fields = [
    textField('q', 'Changed from or to', address.q),
    textField('actor', 'Actor', address.actor),
    choiceField(query, 'action', { label: 'Action', options: ACTIONS }),
    textField('target', 'Target (id)', address.target),
    choiceField(query, 'since', { label: 'Since', options: SPANS, usual: DEFAULT_SPAN.value }),
  ];
  const isFiltered = Object.values(address).some(Boolean);
  const content = html`<div class="heading"><h1>Audit</h1>${csvLink('/audit/export', address)}</div>
<p class="lead">Every change made by an operator, in the console, on the command line or through the API. Entries cannot be edited. Starts, failures and backups are <a href="/console/audit?target=${SERVICE_TARGET}&since=all">events of the service</a>.</p>
${filters('/audit', fields, { isFiltered })}
${auditTable(items, { withTarget: true })}
${pages}`;
  return { section: '/audit', title: 'Audit', content };
}

async function exportAudit(context: ConsoleContext): Promise<Answer> {
  return download('audit.csv', await auditCsv(context, wantedEntries(context).filter));
}

/** The latest changes of a key or a category, with a link to all of them where there are more. */
export async function latestChanges({ storage }: ConsoleContext, target: string): Promise<Html> {
  const found = await storage.audit.list({ since: 0, limit: LATEST_MAX + 1, target });
  const all = addressOf('/audit', { target, since: 'all' });
  return html`${auditTable(found.slice(0, LATEST_MAX), { withTarget: false })}
${found.length > LATEST_MAX ? html`<p class="soft">The latest ${LATEST_MAX}. <a href="/console${all}">All of them</a></p>` : ''}`;
}

/** A table of audit entries with their changes. */
function auditTable(entries: readonly AuditEntry[], { withTarget }: { withTarget: boolean }): Html {
  if (entries.length === 0) return html`<p class="soft">No change found.</p>`;
  const rows = entries.map(({ at, operator, action, target, before, after }) => [
    utcMoment(at),
    operatorLink(operator),
    html`<code>${action}</code>`,
    ...(withTarget ? [targetLink(action, target)] : []),
    change(before, after),
  ]);
  const columns = ['When', 'Actor', 'Action', ...(withTarget ? ['Target'] : []), long('Change')];
  return cardTable('Audit', columns, rows);
}

/** Who made a change and how, with a link to the other changes. */
export function operatorLink({ actor, via }: Operator): Html {
  const target = via === 'service' ? SERVICE_TARGET : '';
  return html`<a class="plain-link" href="/console${addressOf('/audit', { actor, target })}">${foreign(actor)}</a> <span class="soft">${WAYS[via]}</span>`;
}

/** A link to what was changed, where it is still there. */
function targetLink(action: AuditEntry['action'], target: string): Html {
  const [kind] = action.split('.');
  if (target === SERVICE_TARGET || kind === 'clock') return html`${target}`;
  if (kind === 'key' || kind === 'ban') return html`<a href="/console/keys/${target}"><code>${target}</code></a>`;
  if (action === 'category.rename') return html`<a href="/console/categories/${target}">category ${target}</a>`;
  if (action === 'category.delete') return html`category ${target}`;
  if (kind === 'categories') return html`<a href="/console/categories">${target}</a>`;
  const short = target.length > TARGET_CHARACTERS_MAX ? `${target.slice(0, TARGET_CHARACTERS_MAX)}…` : target;
  return html`<a href="/console${kind === 'operator' ? '/tokens' : '/sessions'}"><code>${short}</code></a>`;
}

/** Every field on either side, with its old and its new value; of a creation or a deletion one line, which unfolds. */
function change(before: unknown, after: unknown): Html {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const lines = names.map((name) => {
    const inserted = name in current ? html`<ins>${foreign(format(name, current[name]))}</ins>` : '';
    const deleted = name in old && old[name] !== null ? html`<del>${foreign(format(name, old[name]))}</del> ` : '';
    return html`<li>${name}: ${deleted}${inserted}</li>`;
  });
  const all = html`<ul class="difference">${lines}</ul>`;
  const isWhole = before === null || after === null;
  if (!isWhole || names.length <= FOLDED_VALUES) return all;
  const whole = before === null ? current : old;
  const shown = names.slice(0, FOLDED_VALUES).map((name, index) => {
    const value = foreign(format(name, whole[name]));
    return html`${index > 0 ? ', ' : ''}${before === null ? html`<ins>${value}</ins>` : html`<del>${value}</del>`}`;
  });
  return html`<details class="folded"><summary>${shown}</summary>${all}</details>`;
}

/** The changed members; graces that were ended by the prefixes of their secrets. */
function fieldsOf(value: unknown): Record<string, unknown> {
  if (Array.isArray(value)) return Object.fromEntries(value.map(({ prefix, endsAt }) => [prefix, utc(endsAt)]));
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
}

function format(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'number' && /^at$|At$/.test(name)) return utc(value);
  if (Array.isArray(value)) return value.join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([part, of]) => `${of} per ${part}`)
      .join(', ');
  }
  return String(value);
}
