import { hash } from 'node:crypto';
import {
  type ApiKey,
  checkExpiry,
  checkName,
  checkOwner,
  type KeyChanges,
  keyRevoked,
  ROTATION_GRACE_MAX_SECONDS,
  SCOPES,
  scopesNamed,
} from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import {
  changeKey,
  endGraces,
  issueKey,
  keyWithId,
  liftBan,
  revokeKey,
  rotateKey,
} from '../../catalog/operator/changes.ts';
import { LIMIT_MAX, PLAN_NAMES, PLANS, type PlanName, planNamed } from '../../catalog/plan.ts';
import { weightOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, HOUR_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { type ConsoleContext, onGet, onPost, seeOther, type View } from '../frame/context.ts';
import { count, counted, foreign, moment, post, secretBox } from '../frame/element.ts';
import {
  described,
  FormCheck,
  field,
  fieldMistake,
  type Mistakes,
  mistakeSummary,
  NO_MISTAKES,
} from '../frame/form.ts';
import { optionList } from '../frame/list.ts';

const GRACES = [
  { value: '0', label: 'Not at all: the old key stops at once' },
  { value: `${HOUR_SECONDS}`, label: '1 hour' },
  { value: `${DAY_SECONDS}`, label: '24 hours' },
  { value: `${7 * DAY_SECONDS}`, label: '7 days' },
  { value: `${ROTATION_GRACE_MAX_SECONDS}`, label: '30 days' },
] as const;

const FIELDS_OF_A_NEW_KEY = new URLSearchParams([['plan', 'free'], ...SCOPES.map((scope) => ['scopes', scope])]);

/** The pages that issue, change, rotate and revoke a key, and what their forms do. */
export const keyChangeRoutes = [
  onGet('/keys/new', (context) => newKeyPage(context, FIELDS_OF_A_NEW_KEY), 'keys'),
  onPost('/keys', create, 'keys'),
  onGet('/keys/:id/edit', async (context) => editPage(context, await usableKeyOf(context)), 'keys'),
  onPost('/keys/:id/edit', edit, 'keys'),
  onGet('/keys/:id/rotate', rotatePage, 'keys'),
  onPost('/keys/:id/rotate', rotate, 'keys'),
  onGet('/keys/:id/revoke', revokePage, 'keys'),
  onPost('/keys/:id/revoke', revoke, 'keys'),
  onPost('/keys/:id/unban', unban, 'keys'),
  onPost('/keys/:id/end-graces', endOldSecrets, 'keys'),
];

function newKeyPage(context: ConsoleContext, form: URLSearchParams, mistakes = NO_MISTAKES): View {
  const content = html`<h1>New key</h1>
${mistakeSummary(mistakes)}
${post(context, '/keys', html`<div class="fields">${keyFields(form, mistakes)}<div class="row"><button class="primary">Create the key</button><a class="button" href="/console/keys">Cancel</a></div></div>`)}`;
  return { section: '/keys', title: 'New key', content, status: mistakes.size === 0 ? 200 : 400 };
}

async function create(context: ConsoleContext): Promise<View> {
  const { wanted, mistakes } = readKey(context.form, context.now);
  if (mistakes.size > 0) return newKeyPage(context, context.form, mistakes);
  const { key, secret } = await issueKey(context, wanted);
  return secretPage(context, { key, secret, title: 'Key created' });
}

/**
 * The only page that shows a secret. A script changes its URL to that of the key, so a reload does not create another.
 */
function secretPage(
  context: ConsoleContext,
  { key, secret, title, note }: { key: ApiKey; secret: string; title: string; note?: Html },
): View {
  const { url } = context;
  const content = html`<h1>${title}</h1>
<p class="lead">Copy it now: it is shown only once.</p>
${secretBox(secret, { label: html`API key of <strong>${foreign(key.name)}</strong>`, become: `/keys/${key.id}` })}
${note ?? ''}
<h2>Try it</h2>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer ${secret}' ${url()}/categories</code></pre>
<p>The request appears on the <a href="/console/keys/${key.id}">page of the key</a> and on the <a href="/console">overview</a> within seconds.</p>`;
  return { section: '/keys', title, content };
}

/** A page on the way to the change of a key. */
function changePage(key: ApiKey, { title, content, status = 200 }: View): View {
  const crumb = html`<p class="crumb"><a href="/console/keys">Keys</a> <a href="/console/keys/${key.id}">${foreign(key.name)}</a></p>`;
  return { section: '/keys', title: `${title} ${key.name}`, content: html`${crumb}\n${content}`, status };
}

function editPage(
  context: ConsoleContext,
  key: ApiKey,
  { form = formOf(key), mistakes = NO_MISTAKES, status = 200 } = {},
): View {
  const content = html`<h1>Change the key</h1>
${mistakeSummary(mistakes)}
${post(context, `/keys/${key.id}/edit`, html`<input type="hidden" name="seen" value="${stateOf(key)}"><div class="fields">${keyFields(form, mistakes)}<div class="row"><button class="primary">Save</button><a class="button" href="/console/keys/${key.id}">Cancel</a></div></div>`)}`;
  return changePage(key, { title: 'Change', content, status });
}

/** A digest of the fields that a form shows, to detect concurrent edits. */
function stateOf(key: ApiKey): string {
  return hash('sha256', `${formOf(key)}`, 'base64url');
}

async function edit(context: ConsoleContext): Promise<View | Answer> {
  const { form, now } = context;
  const key = await usableKeyOf(context);
  // The form sends every field, so saving a stale one would undo another operator's change.
  if (form.has('seen') && field(form, 'seen') !== stateOf(key)) {
    const wrong = 'The key was changed in the meantime. The form shows its current state; make your change again';
    return editPage(context, key, { mistakes: new Map([['', wrong]]), status: 409 });
  }
  const { wanted, mistakes } = readKey(form, now, key);
  if (mistakes.size > 0) return editPage(context, key, { form, mistakes, status: 400 });
  const changes = keyChanges(key, wanted);
  if (Object.keys(changes).length === 0) return seeOther(`/keys/${key.id}`, 'unchanged');
  await changeKey(context, key.id, changes);
  return seeOther(`/keys/${key.id}`, 'changed');
}

async function rotatePage(context: ConsoleContext): Promise<View> {
  const key = await usableKeyOf(context);
  const content = html`<h1>Rotate the key</h1>
<p class="lead">A new key replaces <code>${key.prefix}…</code>. Plan, limits and scopes stay the same, and both keys share one quota while the old one still works.</p>
${post(
  context,
  `/keys/${key.id}/rotate`,
  html`<div class="fields"><div><label for="grace">How long the old key still works</label><select id="grace" name="grace">${optionList(GRACES, `${DAY_SECONDS}`)}</select><p class="hint">A key that leaked: not at all.</p></div>
<div class="row"><button class="primary">Create the new key</button><a class="button" href="/console/keys/${key.id}">Cancel</a></div></div>`,
)}`;
  return changePage(key, { title: 'Rotate', content });
}

async function rotate(context: ConsoleContext): Promise<View> {
  const { form, id, now } = context;
  const grace = GRACES.find(({ value }) => value === field(form, 'grace'));
  if (!grace) throw invalid('Choose how long the old key still works');
  const seconds = Number(grace.value);
  const { key, secret } = await rotateKey(context, id, seconds);
  const end = Math.min(now + seconds, key.expiresAt ?? Number.POSITIVE_INFINITY);
  const note =
    end > now
      ? html`<p class="note">The old key works until ${moment(end)}. Replace it in every client before that.</p>`
      : html`<p class="note">The old key no longer works.</p>`;
  return secretPage(context, { key, secret, title: 'The new key', note });
}

async function revokePage(context: ConsoleContext): Promise<View> {
  const { storage, now } = context;
  const key = await usableKeyOf(context);
  const [usage] = await storage.usage.sums({ period: 'hour', since: now - DAY_SECONDS, keyId: key.id, group: 'key' });
  const requests = usage ? weightOf(usage, 'requests') : 0;
  const content = html`<h1>Revoke the key?</h1>
<p class="lead">Every request with <strong>${foreign(key.name)}</strong> (<code>${key.prefix}…</code>) will be refused. This cannot be undone.</p>
<p>${requests === 0 ? 'It made no requests in the last 24 hours.' : html`It made <strong>${counted(requests, 'request')}</strong> in the last 24 hours, the last one ${moment(usage?.last ?? now)}.`} To replace it without downtime, <a href="/console/keys/${key.id}/rotate">rotate it</a> instead.</p>
${post(context, `/keys/${key.id}/revoke`, html`<div class="row"><button class="danger">Revoke the key</button><a class="button" href="/console/keys/${key.id}">Keep it</a></div>`)}`;
  return changePage(key, { title: 'Revoke', content });
}

async function revoke(context: ConsoleContext): Promise<Answer> {
  const { id } = await revokeKey(context, context.id);
  return seeOther(`/keys/${id}`, 'revoked');
}

async function unban(context: ConsoleContext): Promise<Answer> {
  const wasBanned = await liftBan(context, context.id);
  return seeOther(`/keys/${context.id}`, wasBanned ? 'unbanned' : 'not-banned');
}

async function endOldSecrets(context: ConsoleContext): Promise<Answer> {
  await endGraces(context, context.id);
  return seeOther(`/keys/${context.id}`, 'graces-ended');
}

/** The key in the path. Throws `not_found`, or `key_revoked`. */
async function usableKeyOf(context: ConsoleContext): Promise<ApiKey> {
  const key = await keyWithId(context, context.id);
  if (key.revokedAt !== null) throw keyRevoked(key.id);
  return key;
}

/** The form that shows a key. */
function formOf({ name, plan, limits, scopes, expiresAt, owner }: ApiKey): URLSearchParams {
  const form = new URLSearchParams({ name, plan, expires: lastDay(expiresAt), owner: owner ?? '' });
  if (plan === 'enterprise') {
    form.set('perMinute', `${limits.minute}`);
    form.set('perDay', `${limits.day}`);
  }
  for (const scope of scopes) form.append('scopes', scope);
  return form;
}

/** Reads a form by the rules for keys, with every mistake in it. An expiry that the key has already may be past. */
function readKey(form: URLSearchParams, now: number, key?: ApiKey) {
  const check = new FormCheck();
  const name = field(form, 'name');
  check.field('name', () => checkName(name, 'key'));
  const owner = field(form, 'owner') || null;
  check.field('owner', () => checkOwner(owner));
  const plan = check.field('plan', () => planNamed(field(form, 'plan'))) ?? 'free';
  const limitIn = (each: string, label: string) =>
    plan === 'enterprise' && check.field(each, () => readLimit(field(form, each), label));
  const minute = limitIn('perMinute', 'Requests per minute');
  const day = limitIn('perDay', 'Requests per day');
  const scopes = check.field('scopes', () => scopesNamed(form.getAll('scopes'))) ?? [];
  const expires = field(form, 'expires');
  const expiresAt = check.field('expires', () => {
    if (key && expires === lastDay(key.expiresAt)) return key.expiresAt;
    const read = readDate(expires);
    checkExpiry(read, now, 'key');
    return read;
  });
  const limits = minute && day ? { limits: { minute, day } } : {};
  return { wanted: { name, plan, ...limits, scopes, expiresAt: expiresAt ?? null, owner }, mistakes: check.mistakes };
}

/** The changes that a form makes to a key. */
function keyChanges(key: ApiKey, wanted: ReturnType<typeof readKey>['wanted']): KeyChanges {
  const { name, plan, limits, scopes, expiresAt, owner } = wanted;
  const { minute, day } = key.limits;
  const isSameLimit = !limits || (plan === key.plan && limits.minute === minute && limits.day === day);
  return {
    // A form is trimmed, a key need not be.
    ...(name !== key.name.trim() && { name }),
    ...(plan !== key.plan && { plan }),
    ...(!isSameLimit && { limits }),
    ...(scopes.join() !== key.scopes.join() && { scopes }),
    ...(expiresAt !== key.expiresAt && { expiresAt }),
    ...(owner !== (key.owner?.trim() ?? null) && { owner }),
  };
}

/** Renders the fields, each with its mistake. */
function keyFields(form: URLSearchParams, mistakes: Mistakes): Html {
  const plans = PLAN_NAMES.map((plan) => ({ value: plan, label: `${plan}: ${limitsOf(plan)}` }));
  const scopes = SCOPES.map(
    (scope) =>
      html`<label class="choice"><input type="checkbox" name="scopes" value="${scope}"${form.has('scopes', scope) ? html` checked` : ''}> ${scope}</label>`,
  );
  const limit = (name: string, label: string) => html`<div><label for="${name}">${label}</label>
<input id="${name}" name="${name}" inputmode="numeric" pattern="[0-9]{1,10}" value="${field(form, name)}" autocomplete="off"${described(mistakes, name)}>${fieldMistake(mistakes, name)}</div>`;
  return html`<div><label for="name">Name</label>
<input id="name" name="name" value="${field(form, 'name')}" maxlength="100" required autocomplete="off"${described(mistakes, 'name', { hasHint: true })}>
<p class="hint" id="name-hint">Who uses the key, or what it is for.</p>${fieldMistake(mistakes, 'name')}</div>
<div><label for="owner">Owner</label>
<input id="owner" name="owner" value="${field(form, 'owner')}" maxlength="255" autocomplete="off"${described(mistakes, 'owner', { hasHint: true })}>
<p class="hint" id="owner-hint">The customer's own id, if there is one.</p>${fieldMistake(mistakes, 'owner')}</div>
<div><label for="plan">Plan</label>
<select id="plan" name="plan"${described(mistakes, 'plan')}>${optionList(plans, field(form, 'plan'))}</select>${fieldMistake(mistakes, 'plan')}</div>
<fieldset class="pair" data-for-plan="enterprise"><legend>Limits of the enterprise plan</legend>
${limit('perMinute', 'Requests per minute')}
${limit('perDay', 'Requests per day')}
</fieldset>
<fieldset id="scopes" tabindex="-1"${described(mistakes, 'scopes')}><legend>Scopes</legend><div class="choices">${scopes}</div>${fieldMistake(mistakes, 'scopes')}</fieldset>
<div><label for="expires">Last day</label>
<input id="expires" name="expires" type="date" value="${field(form, 'expires')}"${described(mistakes, 'expires', { hasHint: true })}>
<p class="hint" id="expires-hint">The key expires at the end of this day, in UTC. Leave it empty for a key that does not expire.</p>${fieldMistake(mistakes, 'expires')}</div>`;
}

function limitsOf(plan: PlanName): string {
  if (plan === 'enterprise') return 'custom limits';
  return `${count(PLANS[plan].minute)} a minute, ${count(PLANS[plan].day)} a day`;
}

function readLimit(text: string, label: string): number {
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw invalid(`${label}: enter a whole number from 1 to ${count(LIMIT_MAX)}`);
}

function readDate(text: string): number | null {
  if (text === '') return null;
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59Z`) : Number.NaN;
  // `Date` would silently turn 30 February into 2 March.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text))
    throw invalid('Last day: enter a date such as 2030-12-31');
  return ms / 1_000;
}

/** The date on which a key ends; empty for one that does not. */
function lastDay(expiresAt: number | null): string {
  return expiresAt === null ? '' : utc(expiresAt).slice(0, 10);
}
