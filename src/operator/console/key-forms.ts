import { SCOPES } from '../../catalog/api-key.ts';
import type { KeyJson } from '../../catalog/operator/json.ts';
import { PLAN_NAMES, PLANS, type PlanName } from '../../catalog/plan.ts';
import { html } from '../../http/html.ts';
import { liftBan } from '../api/bans.ts';
import * as keys from '../api/keys.ts';
import { formPages } from './form-pages.ts';
import { count } from './frame/element.ts';
import { isoMoment } from './list-pages.ts';

/** The forms that change a key. */

const OF_A_KEY = { path: '/keys', of: keys.getKey, hasPage: true } as const;
const FIELDS = {
  options: { plan: PLAN_NAMES.map((plan) => ({ value: plan, label: `${plan}: ${limitsOf(plan)}` })) },
  labels: { limits: 'Limits of the enterprise plan' },
  hints: { owner: "The customer's own id, if there is one." },
  /** Limits are for the enterprise plan alone, which needs them; the form may hide some. */
  read: ({ limits = { minute: '', day: '' }, ...body }: Record<string, unknown>) =>
    body.plan === 'enterprise' ? { ...body, limits } : body,
};
const GRACES = ['0', '1h', '24h', '7d', '30d'].map((value) => ({
  value,
  label: value === '0' ? 'not at all: the old key stops at once' : value,
}));

const newKey = formPages(keys.createKey, {
  ...FIELDS,
  path: '/keys',
  verb: 'new',
  title: 'New key',
  button: 'Create the key',
  hasPage: true,
  first: () => ({ scopes: SCOPES }),
  done: 'Key created',
});

const editKey = formPages(keys.updateKey, {
  ...OF_A_KEY,
  ...FIELDS,
  verb: 'edit',
  title: 'Change the key',
  button: 'Save',
  first: ({ plan, limits }: KeyJson) => ({ limits: plan === 'enterprise' ? limits : undefined }),
  done: 'The key was changed. The change takes effect within a second.',
});

const rotation = formPages(keys.rotateKey, {
  ...OF_A_KEY,
  title: 'Rotate the key',
  button: 'Create the new key',
  labels: { grace: 'How long the old key still works' },
  hints: { grace: 'A key that leaked: not at all.' },
  options: { grace: GRACES },
  done: 'The new key',
});

export const graceEnd = formPages(keys.endGraces, {
  ...OF_A_KEY,
  title: 'End the old secrets?',
  button: 'End it now',
  done: 'Only the newest secret of the key works, on every instance within a second.',
});

const revocation = formPages(keys.revokeKey, {
  ...OF_A_KEY,
  button: 'Revoke the key',
  isDangerous: true,
  ask: ({ id, lastUsedAt }: KeyJson) =>
    html`<p>${lastUsedAt === null ? 'It was never used.' : html`It was last used ${isoMoment(lastUsedAt)}.`} To replace it without downtime, <a href="/console/keys/${id}/rotate">rotate it</a> instead.</p>`,
  done: 'The key was revoked. Requests with it are refused.',
});

export const pause = formPages(keys.pauseKey, {
  ...OF_A_KEY,
  button: 'Pause the key',
  done: 'The key was paused. Requests with it are refused within a second.',
});

export const resume = formPages(keys.resumeKey, {
  ...OF_A_KEY,
  button: 'Resume the key',
  done: 'The key was resumed. Requests with it are accepted.',
});

export const reset = formPages(keys.resetKey, {
  ...OF_A_KEY,
  button: 'Reset the windows',
  labels: { window: 'What is reset' },
  done: 'The windows were reset.',
});

export const banLift = formPages(liftBan, {
  ...OF_A_KEY,
  verb: 'lift-ban',
  button: 'Lift the ban',
  done: 'The ban was lifted, on every instance within a second. The counts of the key were not reset.',
});

export const keyForms = [newKey, editKey, rotation, graceEnd, revocation, pause, resume, reset, banLift];

function limitsOf(plan: PlanName): string {
  if (plan === 'enterprise') return 'custom limits';
  return `${count(PLANS[plan].minute)}/min, ${count(PLANS[plan].day)}/day`;
}
