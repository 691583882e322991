import {
  type ApiKey,
  checkExpiry,
  checkedChanges,
  checkName,
  checkOwner,
  type KeyChanges,
  mintSecret,
  type NewApiKey,
  newApiKey,
  ROTATION_GRACE_MAX_SECONDS,
  SCOPES,
  secretRecord,
} from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import { PLAN_NAMES, PLANS, type PlanName } from '../../catalog/plan.ts';
import { weightOf } from '../../catalog/usage.ts';
import { quote } from '../../catalog/validate.ts';
import { refusedUntil } from '../../catalog/window-counts.ts';
import { html } from '../../http/html.ts';
import { momentOf } from '../../http/operations/query.ts';
import { DAY_SECONDS, parseDuration } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { type Action, action } from '../action.ts';
import { KeyChange, NewKey, Revocation, Rotation } from '../api/schema.ts';
import { count, counted, foreign, moment } from '../frame/element.ts';
import { found, ISSUED, KEY_ANSWER, keyNoun, usable } from './noun.ts';

interface KeyInput extends Omit<KeyChanges, 'expiresAt'> {
  readonly expiresAt?: string | null;
}

const GRACES = [
  { value: '0', label: 'Not at all: the old key stops at once' },
  { value: '1h', label: '1 hour' },
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
];

const FORM = {
  options: { plan: PLAN_NAMES.map((plan) => ({ value: plan, label: `${plan}: ${limitsOf(plan)}` })) },
  /** Limits are for the enterprise plan alone, which needs them; the form may hide some. */
  read: ({ limits = { minute: '', day: '' }, ...body }: Record<string, unknown>) =>
    body.plan === 'enterprise' ? { ...body, limits } : body,
};
const WORDS = {
  limits: { label: 'Limits of the enterprise plan' },
  expiresAt: { hint: 'In UTC, such as 2030-12-31 18:00. Leave it empty for a key that does not expire.' },
  owner: { hint: "The customer's own id, if there is one." },
};
const CHECKS: Action<KeyInput, ApiKey>['checks'] = {
  name: (name: string) => checkName(name, 'key'),
  owner: checkOwner,
  expiresAt(text: string | null, now, key) {
    const at = text === null ? null : momentOf(text, 'expiresAt');
    if (at !== key?.expiresAt) checkExpiry(at, now, 'key');
  },
};

const create = action<KeyInput & Pick<NewApiKey, 'name' | 'plan'>, ApiKey>({
  name: 'key.create',
  role: 'keys',
  of: keyNoun,
  isNew: true,
  input: NewKey,
  words: WORDS,
  checks: CHECKS,
  async run({ storage, environment, now, by }, _id, { name, plan, ...rest }) {
    const { key, secret } = newApiKey({ ...read(rest), name, plan, environment }, now);
    await storage.keys.insert(key, secretRecord(secret), by);
    return { row: key, secret };
  },
  api: {
    id: 'createKey',
    route: 'POST /keys',
    tag: 'keys',
    summary: 'Issue a key',
    description:
      'Issues a key. Its secret is in this response alone, and in that to a retry with the same `Idempotency-Key`.',
    example: { name: 'shop', plan: 'pro', owner: 'cus_42' },
    success: {
      status: 201,
      description: 'The key with its secret',
      ...ISSUED,
      headers: { Location: 'The address of the key' },
    },
  },
  console: {
    verb: 'new',
    title: 'New key',
    button: 'Create the key',
    ...FORM,
    first: () => ({ plan: 'free', scopes: SCOPES }),
    done: 'Key created',
  },
  command: {
    usage: 'create',
    about: 'Issue a key and print it, alone on stdout and only this once',
    isCreating: true,
    defaults: { plan: 'free' },
  },
});

/** Changes a key. */
export const updateKey = action<KeyInput, ApiKey>({
  name: 'key.update',
  role: 'keys',
  of: keyNoun,
  input: KeyChange,
  words: WORDS,
  checks: CHECKS,
  async run(context, id, input) {
    const { storage, now, by, precondition } = context;
    const changes = checkedChanges(usable(await storage.keys.find(id), id), read(input), now);
    return { row: usable(await storage.keys.update(id, changes, by, precondition), id) };
  },
  api: {
    id: 'updateKey',
    route: 'PATCH /keys/{keyId}',
    tag: 'keys',
    summary: 'Change a key',
    description:
      'Changes a key within a second, also on other instances. A revoked key is final. With the `ETag` of the key in `If-Match` it is changed only if no member has changed since; `lastUsedAt`, `usedToday`, `ban` and `graces` do not count.',
    example: { plan: 'pro' },
    success: { ...KEY_ANSWER, description: 'The changed key' },
    errors: ['key_revoked'],
  },
  console: {
    verb: 'edit',
    title: 'Change the key',
    button: 'Save',
    ...FORM,
    first: ({ name, plan, limits, scopes, expiresAt, owner }: ApiKey) => ({
      name,
      plan,
      scopes,
      owner,
      expiresAt: expiresAt === null ? null : utc(expiresAt),
      ...(plan === 'enterprise' && { limits }),
    }),
    done: 'The key was changed. The change takes effect within a second.',
  },
  command: { usage: 'update <id>', about: 'Change a key; what is not given stays' },
});

const rotate = action<{ grace?: string }, ApiKey>({
  name: 'key.rotate',
  role: 'keys',
  of: keyNoun,
  input: Rotation,
  words: { grace: { label: 'How long the old key still works', hint: 'A key that leaked: not at all.' } },
  async run(context, id, { grace = '24h' }) {
    const { storage, environment, now, by, precondition } = context;
    const seconds = parseDuration(grace);
    if (seconds === undefined) throw invalid(`grace is ${quote(grace)}; send a duration such as 0, 90s, 24h or 30d`);
    if (seconds > ROTATION_GRACE_MAX_SECONDS) throw invalid(`The grace is ${seconds} s; at most 30d are possible`);
    const { environment: own } = await keyNoun.find(context, id);
    if (own !== environment) throw invalid(`The key ${id} belongs to ${own}; rotate it where ENVIRONMENT is ${own}`);
    const secret = mintSecret(environment);
    const rotation = { now, oldEndAt: now + seconds, by };
    // A revoked key stays as it was, so the new secret is useless.
    return { row: usable(await storage.keys.rotate(id, secretRecord(secret), rotation, precondition), id), secret };
  },
  api: {
    id: 'rotateKey',
    route: 'POST /keys/{keyId}/rotate',
    tag: 'keys',
    summary: 'Rotate a key',
    description: 'Gives a key a new secret. The old one works until the grace ends; both share one quota.',
    example: { grace: '24h' },
    isOptional: true,
    success: { status: 200, description: 'The key with its new secret', ...ISSUED },
    errors: ['key_revoked'],
  },
  console: {
    verb: 'rotate',
    title: 'Rotate the key',
    button: 'Create the new key',
    ask: (_context, { prefix }) =>
      html`<p class="lead">A new key replaces <code>${prefix}…</code>. Plan, limits and scopes stay the same, and both keys share one quota while the old one still works.</p>`,
    options: { grace: GRACES },
    first: () => ({ grace: '24h' }),
    after({ now }, { expiresAt }, { grace = '24h' }) {
      const end = Math.min(now + (parseDuration(grace) ?? 0), expiresAt ?? Number.POSITIVE_INFINITY);
      return end > now
        ? html`<p class="note">The old key works until ${moment(end)}. Replace it in every client before that.</p>`
        : html`<p class="note">The old key no longer works.</p>`;
    },
    done: 'The new key',
  },
  command: {
    usage: 'rotate <id>',
    about: 'Give a key a new secret; the old one works until the grace ends',
    defaults: { grace: '24h' },
  },
});

/** Ends the old secrets of a key. */
export const endGraces = action<object, ApiKey>({
  name: 'key.end-graces',
  role: 'keys',
  of: keyNoun,
  async run({ storage, now, by, precondition }, id) {
    return { row: usable(await storage.keys.endGraces(id, now, by, precondition), id) };
  },
  api: {
    id: 'endGraces',
    route: 'DELETE /keys/{keyId}/graces',
    tag: 'keys',
    summary: 'End the graces of a key',
    description:
      'Ends the old secrets of a rotated key within a second, on every instance. Without one nothing changes.',
    success: { status: 204, description: 'Only the newest secret works' },
    errors: ['key_revoked'],
  },
  console: {
    verb: 'end-graces',
    title: 'End the old secrets?',
    button: 'End it now',
    done: 'Only the newest secret of the key works, on every instance within a second.',
  },
  command: { usage: 'end-graces <id>', about: 'End the old secrets of a rotated key now' },
});

const revoke = action<object, ApiKey>({
  name: 'key.revoke',
  role: 'keys',
  of: keyNoun,
  input: Revocation,
  async run({ storage, now, by, precondition }, id) {
    return { row: found(await storage.keys.revoke(id, now, by, precondition), id) };
  },
  api: {
    id: 'revokeKey',
    route: 'POST /keys/{keyId}/revoke',
    tag: 'keys',
    summary: 'Revoke a key',
    description: 'Ends a key for good, within a second. A second revocation changes nothing.',
    example: {},
    isOptional: true,
    success: { ...KEY_ANSWER, description: 'The revoked key', headers: {} },
  },
  console: {
    verb: 'revoke',
    title: 'Revoke the key?',
    button: 'Revoke the key',
    isDangerous: true,
    async ask({ storage, now }, { id, name, prefix }) {
      const [usage] = await storage.usage.sums({ period: 'hour', since: now - DAY_SECONDS, keyId: id, group: 'key' });
      const requests = usage ? weightOf(usage, 'requests') : 0;
      return html`<p class="lead">Every request with <strong>${foreign(name)}</strong> (<code>${prefix}…</code>) will be refused. This cannot be undone.</p>
<p>${requests === 0 ? 'It made no requests in the last 24 hours.' : html`It made <strong>${counted(requests, 'request')}</strong> in the last 24 hours, the last one ${moment(usage?.last ?? now)}.`} To replace it without downtime, <a href="/console/keys/${id}/rotate">rotate it</a> instead.</p>`;
    },
    done: 'The key was revoked. Requests with it are refused.',
  },
  command: { usage: 'revoke <id>', about: 'Revoke a key permanently' },
});

/** Refuses a key until it is resumed. */
export const pauseKey = action<object, ApiKey>({
  name: 'key.pause',
  role: 'keys',
  of: keyNoun,
  async run({ storage, now, by, precondition }, id) {
    return { row: usable(await storage.keys.pause(id, now, by, precondition), id) };
  },
  api: {
    id: 'pauseKey',
    route: 'POST /keys/{keyId}/pause',
    tag: 'keys',
    summary: 'Pause a key',
    description:
      'Refuses a key within a second as one that does not exist, until it is resumed. Its ban, expiry and graces go on.',
    success: { ...KEY_ANSWER, description: 'The paused key' },
    errors: ['key_revoked'],
  },
  console: {
    verb: 'pause',
    title: 'Pause the key?',
    button: 'Pause the key',
    ask: (_context, { name }) =>
      html`<p class="lead">Every request with <strong>${foreign(name)}</strong> will be refused as one with an unknown key, until it is resumed. A ban, an expiry and the end of an old secret go on meanwhile.</p>`,
    done: 'The key was paused. Requests with it are refused within a second.',
  },
  command: { usage: 'pause <id>', about: 'Refuse a key until it is resumed' },
});

/** Accepts a paused key again. */
export const resumeKey = action<object, ApiKey>({
  name: 'key.resume',
  role: 'keys',
  of: keyNoun,
  async run({ storage, by, precondition }, id) {
    return { row: usable(await storage.keys.pause(id, null, by, precondition), id) };
  },
  api: {
    id: 'resumeKey',
    route: 'POST /keys/{keyId}/resume',
    tag: 'keys',
    summary: 'Resume a key',
    description: 'Accepts a paused key again, at once.',
    success: { ...KEY_ANSWER, description: 'The key' },
    errors: ['key_revoked'],
  },
  console: {
    verb: 'resume',
    title: 'Resume the key?',
    button: 'Resume the key',
    done: 'The key was resumed. Requests with it are accepted.',
  },
  command: { usage: 'resume <id>', about: 'Accept a paused key again' },
});

/** Lifts the ban of a key. */
export const liftBan = action<object, ApiKey>({
  name: 'ban.lift',
  role: 'keys',
  of: keyNoun,
  async run(context, id) {
    const { storage, now, by, precondition } = context;
    await keyNoun.find(context, id);
    const wasBanned = await storage.keys.lift(id, now, by, precondition);
    const row = await keyNoun.find(context, id);
    // A lift does not empty the windows.
    const until = refusedUntil(await storage.limits.counts(id), row.limits, now);
    const note = until && `Its counts were not reset: requests are refused until ${utc(until)}`;
    return { row, ...(!wasBanned && { nothing: `The key ${id} is not banned` }), ...(note && { note }) };
  },
  api: {
    id: 'liftBan',
    route: 'DELETE /keys/{keyId}/ban',
    tag: 'bans',
    summary: 'Lift a ban',
    description: 'Ends the ban of a key within a second, so that it does not lengthen later ones.',
    success: { status: 204, description: 'The ban is lifted' },
  },
  console: {
    verb: 'unban',
    title: 'Lift the ban?',
    button: 'Lift the ban',
    done: 'The ban was lifted, on every instance within a second. The counts of the key were not reset.',
    nothing: 'The key was no longer banned.',
  },
  command: { usage: 'unban <id>', about: 'Lift the ban of a key' },
});

/** Every change of a key. */
export const keyActions: readonly Action[] = [
  create,
  updateKey,
  rotate,
  endGraces,
  pauseKey,
  resumeKey,
  revoke,
  liftBan,
];

/** Moments in Unix seconds, and limits in their order. */
function read({ limits, expiresAt, ...others }: KeyInput): KeyChanges {
  return {
    ...others,
    ...(limits && { limits: { minute: limits.minute, day: limits.day } }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : momentOf(expiresAt, 'expiresAt') }),
  };
}

function limitsOf(plan: PlanName): string {
  if (plan === 'enterprise') return 'custom limits';
  return `${count(PLANS[plan].minute)}/min, ${count(PLANS[plan].day)}/day`;
}
