import { auditJson } from '../../catalog/operator/json.ts';
import { PLACE_PARAMETERS, pageOf, placeAnswer, readLimit, readPlace } from '../../http/operations/paging.ts';
import { momentIn, momentParameter, textIn, textParameter } from '../../http/operations/query.ts';
import { apiOperation } from './operation.ts';
import { AuditEntry } from './schema.ts';

export const listAudit = apiOperation('listAudit', 'GET /audit', {
  tag: 'audit',
  summary: 'List the changes by operators',
  description:
    'A page of the audit, newest first. The filters combine. With `target=service` starts, failures and backups of the service instead.',
  permission: 'viewer',
  queryParameters: [
    momentParameter('since', 'Only changes from this moment on', '7d'),
    textParameter('actor', 'Only changes by this system user, or by the token of this name'),
    textParameter('action', 'Only changes of this kind, such as `key.revoke`'),
    textParameter('target', 'Only changes of what has this id'),
    ...PLACE_PARAMETERS,
  ],
  success: pageOf(AuditEntry, 'The changes', {
    at: '2026-01-01T12:00:00Z',
    actor: 'billing',
    via: 'api',
    action: 'key.update',
    target: 'key_VXnvMwGskigm0Sfq',
    before: { plan: 'free', limits: { minute: 60, day: 1_000 } },
    after: { plan: 'pro', limits: { minute: 300, day: 10_000 } },
  }),
  async handle({ storage, now }, exchange) {
    const { query } = exchange;
    const limit = readLimit(query);
    const found = await storage.audit.list({
      since: momentIn(query, 'since', { now, towards: 'past' }) ?? 0,
      limit: limit + 1,
      before: readPlace(query)?.number,
      target: textIn(query, 'target'),
      actor: textIn(query, 'actor'),
      action: textIn(query, 'action'),
    });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return placeAnswer(exchange, found.slice(0, limit).map(auditJson), last && { number: last.id, id: '' });
  },
});
