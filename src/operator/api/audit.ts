import { AUDIT_ACTIONS } from '../../catalog/audit.ts';
import { auditJson } from '../../catalog/operator/json.ts';
import { byMoment, byText } from './filters.ts';
import { operate } from './operation.ts';
import { AuditEntry } from './schema.ts';

/** The audit: what operators changed, and the events of the service. */

export type AuditJson = ReturnType<typeof auditJson>;

const SPANS = ['24h', '7d', '30d'];

export const listAudit = operate('audit.list', 'listAudit', 'GET /audit', {
  tag: 'audit',
  summary: 'List the changes by operators',
  description:
    'A page of the audit, newest first. The filters combine. With `target=service` starts, failures and backups of the service instead.',
  permission: 'viewer',
  filters: {
    q: byText('Only changes from or to this text, as it stands', { label: 'Changed from or to', isWide: true }),
    actor: byText('Only changes by this system user, or by the token of this name', { label: 'Actor' }),
    action: byText('Only changes of this kind, such as `key.revoke`, or events of the service, such as `started`', {
      label: 'Action',
      choices: AUDIT_ACTIONS,
    }),
    target: byText('Only changes of what has this id; `service` for starts, failures and backups', {
      label: 'Target (id)',
    }),
    since: byMoment('Only changes from this moment on', 'past', '7d', { label: 'Since', choices: SPANS }),
    until: byMoment('Only changes before this moment', 'past', '2026-02-01T00:00:00Z', { label: 'Until' }),
  },
  usual: { since: '7d' },
  list: {
    noun: ['change', 'changes'],
    schema: AuditEntry,
    example: {
      at: '2026-01-01T12:00:00Z',
      actor: 'billing',
      via: 'api',
      action: 'key.update',
      target: 'key_VXnvMwGskigm0Sfq',
      before: { plan: 'free', limits: { minute: 60, day: 1_000 } },
      after: { plan: 'pro', limits: { minute: 300, day: 10_000 } },
    },
    columns: [
      { member: 'at', label: 'At' },
      {
        member: 'actor',
        label: 'Actor',
        text: ({ actor, user }: AuditJson) => (user === undefined ? actor : `${actor} (${user})`),
      },
      { member: 'via', label: 'Via' },
      { member: 'action', label: 'Action' },
      { member: 'target', label: 'Target' },
      {
        member: 'change',
        label: 'Change',
        text: ({ before, after }: AuditJson) => `${JSON.stringify(before)} → ${JSON.stringify(after)}`,
        isLong: true,
      },
    ],
    csv: {
      columns: ['at', 'actor', 'via', 'user', 'action', 'target', 'before', 'after'],
      row: ({ before, after, ...rest }: AuditJson) => ({
        ...rest,
        before: JSON.stringify(before),
        after: JSON.stringify(after),
      }),
    },
  },
  async handle({ storage }, { query: { q: text, since = 0, ...filter }, behind, limit }) {
    const query = { ...filter, text, since, before: behind?.number, limit: limit + 1 };
    const rows = await storage.audit.list(query);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { json: rows.slice(0, limit).map(auditJson), last: last && { number: last.id, id: '' } };
  },
});
