import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENVIRONMENTS, KEY_SORTS, KEY_STATES, SCOPES } from './api-key.ts';
import { AUDIT_ACTIONS, SERVICE_EVENTS, SERVICE_TARGET } from './audit.ts';
import { OPERATOR_ERROR_CODES } from './error.ts';
import { USAGE_STEPS } from './operator/usage-rows.ts';
import { ALL_KEYS, UNKNOWN_ROUTE, UNMATCHED, USAGE_GROUPS, USAGE_SORTS } from './usage.ts';

test('the names that are stored, exported or asked for stay as they are', () => {
  const names = {
    ENVIRONMENTS,
    SCOPES,
    KEY_STATES,
    KEY_SORTS,
    USAGE_GROUPS,
    USAGE_SORTS,
    USAGE_STEPS,
    OPERATOR_ERROR_CODES,
    AUDIT_ACTIONS,
    SERVICE_EVENTS,
    ALONE: [SERVICE_TARGET, ALL_KEYS, UNMATCHED, UNKNOWN_ROUTE],
  };
  assert.deepEqual(Object.fromEntries(Object.entries(names).map(([name, all]) => [name, all.join(' ')])), {
    ENVIRONMENTS: 'production staging',
    SCOPES: 'categories:read categories:write pets:read pets:write store:read store:write',
    KEY_STATES: 'active expired revoked banned',
    KEY_SORTS: 'newest oldest name last-used expiry',
    USAGE_GROUPS: 'key owner route',
    USAGE_SORTS: 'requests refused errors',
    USAGE_STEPS: 'minute hour day month',
    OPERATOR_ERROR_CODES:
      'missing_token invalid_token insufficient_role key_revoked category_in_use misdirected_request',
    AUDIT_ACTIONS:
      'key.create key.update key.rotate key.end-graces key.revoke ban.lift category.rename category.delete categories.import operator.create operator.revoke console.open console.revoke clock.turn',
    SERVICE_EVENTS:
      'started stopping storage_failing storage_recovered limiter_degraded limiter_recovered backup_made backup_restored backup_failed database_restored',
    ALONE: 'service * unmatched unknown',
  });
});
