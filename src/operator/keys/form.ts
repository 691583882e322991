import {
  type ApiKey,
  checkExpiry,
  checkName,
  checkOwner,
  type KeyChanges,
  type NewApiKey,
  SCOPES,
  type Scope,
  scopesNamed,
} from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import { LIMIT_MAX, PLAN_NAMES, PLANS, type PlanName, planNamed } from '../../catalog/plan.ts';
import { type Html, html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import { count } from '../frame/element.ts';
import { described, FormCheck, field, fieldMistake, type Mistakes } from '../frame/form.ts';
import { optionList } from '../frame/list.ts';

export interface KeyFields {
  readonly name: string;
  readonly plan: string;
  readonly perMinute: string;
  readonly perDay: string;
  readonly scopes: readonly string[];
  /** A date (YYYY-MM-DD), or empty for never. */
  readonly expires: string;
  /** Empty for none. */
  readonly owner: string;
}

export const FIELDS_OF_A_NEW_KEY: KeyFields = {
  name: '',
  plan: 'free',
  perMinute: '',
  perDay: '',
  scopes: SCOPES,
  expires: '',
  owner: '',
};

/** The form fields for a key. */
export function fieldsOf(key: ApiKey): KeyFields {
  const hasOwnLimits = key.plan === 'enterprise';
  return {
    name: key.name,
    plan: key.plan,
    perMinute: hasOwnLimits ? `${key.limits.minute}` : '',
    perDay: hasOwnLimits ? `${key.limits.day}` : '',
    scopes: key.scopes,
    expires: key.expiresAt === null ? '' : utc(key.expiresAt).slice(0, 10),
    owner: key.owner ?? '',
  };
}

/** Reads the submitted fields. */
export function readFields(form: URLSearchParams): KeyFields {
  return {
    name: field(form, 'name'),
    plan: field(form, 'plan'),
    perMinute: field(form, 'perMinute'),
    perDay: field(form, 'perDay'),
    scopes: form.getAll('scopes'),
    expires: field(form, 'expires'),
    owner: field(form, 'owner'),
  };
}

export type WantedKey = Omit<NewApiKey, 'environment'> & { readonly scopes: readonly Scope[] };

/** The result of reading a form: the key that it asks for, or every mistake in it. */
export type ReadKey =
  | { readonly wanted: WantedKey; readonly mistakes?: undefined }
  | { readonly wanted?: undefined; readonly mistakes: Mistakes };

/** Reads form fields by the rules for keys. An expiry that the key has already may be past. */
export function readKey(fields: KeyFields, { now, key }: { now: number; key?: ApiKey }): ReadKey {
  const check = new FormCheck();
  check.field('name', () => checkName(fields.name, 'key'));
  const owner = fields.owner === '' ? undefined : fields.owner;
  check.field('owner', () => checkOwner(owner));
  const plan = check.field('plan', () => planNamed(fields.plan)) ?? 'free';
  const limits = {
    minute: plan === 'enterprise' && check.field('perMinute', () => readLimit(fields.perMinute, 'Requests per minute')),
    day: plan === 'enterprise' && check.field('perDay', () => readLimit(fields.perDay, 'Requests per day')),
  };
  const scopes = check.field('scopes', () => scopesNamed(fields.scopes)) ?? [];
  const expiresAt = check.field('expires', () => {
    const read = readDate(fields.expires);
    if (!key || fields.expires !== fieldsOf(key).expires) checkExpiry(read, now, 'key');
    return read;
  });
  if (check.mistakes.size > 0) return { mistakes: check.mistakes };
  const { minute, day } = limits;
  const wanted = {
    name: fields.name,
    plan,
    scopes,
    ...(minute && day && { limits: { minute, day } }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(owner !== undefined && { owner }),
  };
  return { wanted };
}

/** The changes that the values of a form make to a key. */
export function keyChanges(key: ApiKey, wanted: WantedKey, fields: KeyFields): KeyChanges {
  const keepsExpiry = fields.expires === fieldsOf(key).expires;
  const { name, plan, limits, scopes, expiresAt = null, owner = null } = wanted;
  const { minute, day } = key.limits;
  const isSameLimit = !limits || (plan === key.plan && limits.minute === minute && limits.day === day);
  return {
    // A form is trimmed, a key need not be.
    ...(name !== key.name.trim() && { name }),
    ...(plan !== key.plan && { plan }),
    ...(!isSameLimit && { limits }),
    ...(scopes.join() !== key.scopes.join() && { scopes }),
    ...(!keepsExpiry && { expiresAt }),
    ...(owner !== (key.owner?.trim() ?? null) && { owner }),
  };
}

/** Renders the fields, each with its mistake. */
export function keyFields(fields: KeyFields, mistakes: Mistakes): Html {
  const plans = PLAN_NAMES.map((plan) => ({ value: plan, label: `${plan}: ${limitsOf(plan)}` }));
  const scopes = SCOPES.map(
    (scope) =>
      html`<label class="choice"><input type="checkbox" name="scopes" value="${scope}"${fields.scopes.includes(scope) ? html` checked` : ''}> ${scope}</label>`,
  );
  const limit = (name: string, label: string, value: string) => html`<div><label for="${name}">${label}</label>
<input id="${name}" name="${name}" inputmode="numeric" pattern="[0-9]{1,10}" value="${value}" autocomplete="off"${described(mistakes, name)}>${fieldMistake(mistakes, name)}</div>`;
  return html`<div><label for="name">Name</label>
<input id="name" name="name" value="${fields.name}" maxlength="100" required autocomplete="off"${described(mistakes, 'name', { hasHint: true })}>
<p class="hint" id="name-hint">Who uses the key, or what it is for.</p>${fieldMistake(mistakes, 'name')}</div>
<div><label for="owner">Owner</label>
<input id="owner" name="owner" value="${fields.owner}" maxlength="255" autocomplete="off"${described(mistakes, 'owner', { hasHint: true })}>
<p class="hint" id="owner-hint">The customer's own id, if there is one.</p>${fieldMistake(mistakes, 'owner')}</div>
<div><label for="plan">Plan</label>
<select id="plan" name="plan"${described(mistakes, 'plan')}>${optionList(plans, fields.plan)}</select>${fieldMistake(mistakes, 'plan')}</div>
<fieldset class="pair" data-for-plan="enterprise"><legend>Limits of the enterprise plan</legend>
${limit('perMinute', 'Requests per minute', fields.perMinute)}
${limit('perDay', 'Requests per day', fields.perDay)}
</fieldset>
<fieldset id="scopes" tabindex="-1"${described(mistakes, 'scopes')}><legend>Scopes</legend><div class="choices">${scopes}</div>${fieldMistake(mistakes, 'scopes')}</fieldset>
<div><label for="expires">Last day</label>
<input id="expires" name="expires" type="date" value="${fields.expires}"${described(mistakes, 'expires', { hasHint: true })}>
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

function readDate(text: string): number | undefined {
  if (text === '') return undefined;
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59Z`) : Number.NaN;
  // `Date` would silently turn 30 February into 2 March.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text))
    throw invalid('Last day: enter a date such as 2030-12-31');
  return ms / 1_000;
}
