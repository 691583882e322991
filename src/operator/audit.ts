import { AUDIT_ACTIONS, type AuditEntry, type Operator, SERVICE_TARGET } from '../catalog/audit.ts';
import { auditJson } from '../catalog/operator/json.ts';
import { type Html, html } from '../http/html.ts';
import { utc } from '../stdx/time.ts';
import { AuditEntry as Entry } from './api/schema.ts';
import { rowsTable } from './doors/lists.ts';
import type { ConsoleContext } from './frame/context.ts';
import { empty, foreign, utcMoment } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { byMoment, byText, resource } from './resource.ts';

const LATEST_MAX = 20;
const TARGET_CHARACTERS_MAX = 20;
const SPANS = [
  { value: '24h', label: 'last 24 hours' },
  { value: '7d', label: 'last 7 days' },
  { value: '30d', label: 'last 30 days' },
];
const ACTIONS = AUDIT_ACTIONS.map((action) => ({ value: action, label: action }));
/** The ways of operators, in words. */
export const WAYS = { cli: 'command line', console: 'console', api: 'API', service: 'service' } as const;
/** A creation or a deletion has one line of at most so many values, which unfolds. */
const FOLDED_VALUES = 2;

type Json = ReturnType<typeof auditJson>;

export const audit = resource({
  path: 'audit',
  title: 'Audit',
  noun: ['change', 'changes'],
  filters: {
    q: byText('Only changes from or to this text, as it stands', { label: 'Changed from or to', isWide: true }),
    actor: byText('Only changes by this system user, or by the token of this name', { label: 'Actor' }),
    action: byText('Only changes of this kind, such as `key.revoke`, or events of the service, such as `started`', {
      label: 'Action',
      choices: ACTIONS,
    }),
    target: byText('Only changes of what has this id; `service` for starts, failures and backups', {
      label: 'Target (id)',
    }),
    since: byMoment('Only changes from this moment on', 'past', '7d', { label: 'Since', choices: SPANS }),
    until: byMoment('Only changes before this moment', 'past', '2026-02-01T00:00:00Z', { label: 'Until' }),
  },
  async page({ storage }, { q: text, since = 0, behind, limit, sort: _, ...filter }) {
    const query = { ...filter, text, since, before: behind?.number, limit: limit + 1 };
    const rows = await storage.audit.list(query);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { rows: rows.slice(0, limit), last: last && { number: last.id, id: '' } };
  },
  json: (_context, rows) => rows.map(auditJson),
  columns: [
    { label: 'At', member: 'at' },
    { label: 'When', cell: ({ at }: AuditEntry) => utcMoment(at) },
    {
      label: 'Actor',
      text: ({ actor, user }: Json) => (user === undefined ? actor : `${actor} (${user})`),
      cell: ({ operator }) => operatorLink(operator),
    },
    { label: 'Via', member: 'via' },
    { label: 'Action', member: 'action', cell: ({ action }) => html`<code>${action}</code>` },
    { label: 'Target', member: 'target', cell: ({ action, target }) => targetLink(action, target) },
    {
      label: 'Change',
      text: ({ before, after }: Json) => `${JSON.stringify(before)} → ${JSON.stringify(after)}`,
      cell: ({ before, after }) => change(before, after),
      isLong: true,
    },
  ],
  csv: {
    columns: ['at', 'actor', 'via', 'user', 'action', 'target', 'before', 'after'],
    row: ({ before, after, ...rest }: Json) => ({
      ...rest,
      before: JSON.stringify(before),
      after: JSON.stringify(after),
    }),
  },
  api: {
    id: 'listAudit',
    tag: 'audit',
    summary: 'List the changes by operators',
    description:
      'A page of the audit, newest first. The filters combine. With `target=service` starts, failures and backups of the service instead.',
    schema: Entry,
    example: {
      at: '2026-01-01T12:00:00Z',
      actor: 'billing',
      via: 'api',
      action: 'key.update',
      target: 'key_VXnvMwGskigm0Sfq',
      before: { plan: 'free', limits: { minute: 60, day: 1_000 } },
      after: { plan: 'pro', limits: { minute: 300, day: 10_000 } },
    },
  },
  command: {
    usage: 'audit',
    about: 'Show the changes made by operators, newest first',
    defaults: { since: '7d' },
    none: 'No changes',
  },
  console: {
    lead: () =>
      html`<p class="lead">Every change made by an operator, in the console, on the command line or through the API. Entries cannot be edited. Starts, failures and backups are <a href="/console/audit?target=${SERVICE_TARGET}">events of the service</a>.</p>`,
    none: () => empty('Nothing was changed yet.', html`What operators change appears here.`),
  },
});

/** The latest changes of a key or a category, with a link to all of them where there are more. */
export async function latestChanges(context: ConsoleContext, target: string): Promise<Html> {
  const found = await context.storage.audit.list({ since: 0, limit: LATEST_MAX + 1, target });
  if (found.length === 0) return html`<p class="soft">No change found.</p>`;
  const rows = found.slice(0, LATEST_MAX);
  return html`${await rowsTable(audit, context, { rows, without: 'Target' })}
${found.length > LATEST_MAX ? html`<p class="soft">The latest ${LATEST_MAX}. <a href="/console${addressOf('/audit', { target })}">All of them</a></p>` : ''}`;
}

/** Who made a change and how, with a link to the other changes. */
export function operatorLink({ actor, via, user }: Operator): Html {
  const target = via === 'service' ? SERVICE_TARGET : '';
  return html`<a class="plain-link" href="/console${addressOf('/audit', { actor, target })}">${foreign(actor)}</a> <span class="soft">${WAYS[via]}${user === undefined ? '' : html`, as the system’s user ${foreign(user)} says`}</span>`;
}

/** A link to what was changed, where it is still there. */
function targetLink(action: AuditEntry['action'], target: string): Html {
  const [kind] = action.split('.');
  if (target === SERVICE_TARGET) return html`${target}`;
  if (kind === 'key' || kind === 'ban') return html`<a href="/console/keys/${target}"><code>${target}</code></a>`;
  if (kind === 'category') return html`<a href="/console/categories/${target}">category ${target}</a>`;
  if (kind === 'categories') return html`<a href="/console/categories">${target}</a>`;
  const short = target.length > TARGET_CHARACTERS_MAX ? `${target.slice(0, TARGET_CHARACTERS_MAX)}…` : target;
  return html`<a href="/console${kind === 'operator' ? '/tokens' : '/sessions'}"><code>${short}</code></a>`;
}

/** Every field on either side, with its old and its new value; of a creation or a deletion one line, which unfolds. */
function change(before: unknown, after: unknown): Html {
  const [old, current] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const all = difference(before, after);
  const isWhole = before === null || after === null;
  if (!isWhole || names.length <= FOLDED_VALUES) return all;
  const whole = before === null ? current : old;
  const shown = names.slice(0, FOLDED_VALUES).map((name, index) => {
    const value = foreign(format(name, whole[name]));
    return html`${index > 0 ? ', ' : ''}${before === null ? html`<ins>${value}</ins>` : html`<del>${value}</del>`}`;
  });
  return html`<details class="folded"><summary>${shown}</summary>${all}</details>`;
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
