import { AUDIT_ACTIONS, PAST_ACTIONS, SERVICE_EVENTS, WAYS } from '../../catalog/audit.ts';
import { importText } from '../../catalog/category.ts';
import { auditJson } from '../../catalog/operator/json.ts';
import { byChoice, byKey, byMoment, byText } from './filters.ts';
import { operate } from './operation.ts';
import { AuditEntry } from './schema.ts';

/** The audit: what operators and keys changed, and the events of the service. */

export type AuditJson = ReturnType<typeof auditJson>;

const ACTIONS = [...AUDIT_ACTIONS, ...SERVICE_EVENTS, ...PAST_ACTIONS];
const SPANS = ['24h', '7d', '30d'];

export const listAudit = operate('audit.list', 'listAudit', 'GET /audit', {
  summary: 'List the changes by operators, or by keys',
  description:
    'A page of the audit, newest first. The filters combine. Changes of orders and pets by keys are listed with `via=key`, `key`, `owner` or `target`, and with `key` or `owner` the categories that they created and that are still there; starts, failures and backups of the service with `target=service`.',
  permission: 'viewer',
  filters: {
    q: byText('Only changes from or to this text, as it stands', { label: 'Changed from or to', isWide: true }),
    actor: byText('Only changes by this system user, or by the token of this name', { label: 'Actor' }),
    action: byChoice('Only changes of this kind, or events of the service, such as `started`', ACTIONS, {
      label: 'Action',
      choices: AUDIT_ACTIONS,
    }),
    target: byText('Only changes of what has this id; `service` for starts, failures and backups', {
      label: 'Target (id)',
    }),
    via: byChoice('Only changes by this way, such as those by keys', WAYS, { label: 'Via' }),
    key: byKey('Only changes by the key with this id', { label: 'By key (id)' }),
    owner: byText("Only changes by keys with this customer's id", { label: 'By keys of owner' }),
    since: byMoment('Only changes from this moment on', 'past', '7d', { label: 'Since', choices: SPANS }),
    until: byMoment('Only changes before this moment', 'past', '2026-02-01T00:00:00Z', { label: 'Until' }),
  },
  usual: { since: '7d' },
  list: {
    noun: ['change', 'changes'],
    schema: AuditEntry,
    example: {
      id: '42',
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
        text: ({ id, before, after }: AuditJson) =>
          `${importText(before) ?? JSON.stringify(before)} → ${importText(after, id) ?? JSON.stringify(after)}`,
        isLong: true,
      },
    ],
    csv: {
      columns: ['id', 'at', 'actor', 'via', 'user', 'action', 'target', 'requestId', 'before', 'after'],
      row: ({ before, after, ...rest }: AuditJson) => ({
        ...rest,
        before: JSON.stringify(before),
        after: JSON.stringify(after),
      }),
    },
  },
  async handle({ storage }, { query: { q: text, since = 0, ...filter }, behind, limit }) {
    const before = behind && { at: behind.number, id: behind.id };
    const rows = await storage.audit.list({ ...filter, text, since, before, limit: limit + 1 });
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { json: rows.slice(0, limit).map(auditJson), last: last && { number: last.at, id: last.id } };
  },
});
