import {
  type ApiKey,
  type KeyChanges,
  type NewApiKey,
  SCOPES,
  type Scope,
  scopesNamed,
} from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import { LIMIT_MAX, PLAN_NAMES, PLANS, type PlanName, planNamed } from '../../catalog/plan.ts';
import { type Html, html } from '../../http/docs/html.ts';
import { utc } from '../../stdx/clock.ts';
import { field } from '../frame/context.ts';
import { count } from '../frame/element.ts';

/** The form fields of a key. */
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

/** The defaults of a new key. */
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

/** Converts form fields to the values of a key. Throws `validation_failed`. */
export function wantedKey(fields: KeyFields): Omit<NewApiKey, 'environment'> & { scopes: readonly Scope[] } {
  const plan = planNamed(fields.plan);
  const scopes = scopesNamed(fields.scopes);
  const limits = plan === 'enterprise' && {
    minute: readLimit(fields.perMinute, 'Requests per minute'),
    day: readLimit(fields.perDay, 'Requests per day'),
  };
  const expiresAt = readDate(fields.expires);
  return {
    name: fields.name,
    plan,
    scopes,
    ...(limits && { limits }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(fields.owner !== '' && { owner: fields.owner }),
  };
}

/** What form fields change of a key. Throws `validation_failed`. */
export function keyChanges(key: ApiKey, fields: KeyFields): KeyChanges {
  const keepsExpiry = fields.expires === fieldsOf(key).expires;
  const { name, plan, limits, scopes, expiresAt = null, owner = null } = wantedKey(fields);
  const isSameLimit = !limits || (limits.minute === key.limits.minute && limits.day === key.limits.day);
  return {
    ...(name !== key.name && { name }),
    ...(plan !== key.plan && { plan }),
    ...(!isSameLimit && { limits }),
    ...(scopes.join() !== key.scopes.join() && { scopes }),
    ...(!keepsExpiry && { expiresAt }),
    ...(owner !== key.owner && { owner }),
  };
}

/** Renders the fields. */
export function keyFields(fields: KeyFields): Html {
  const plans = PLAN_NAMES.map(
    (plan) =>
      html`<option value="${plan}"${plan === fields.plan ? html` selected` : ''}>${plan}: ${limitsOf(plan)}</option>`,
  );
  const scopes = SCOPES.map(
    (scope) =>
      html`<label class="choice"><input type="checkbox" name="scopes" value="${scope}"${fields.scopes.includes(scope) ? html` checked` : ''}> ${scope}</label>`,
  );
  const limit = (name: string, label: string, value: string) => html`<div><label for="${name}">${label}</label>
<input id="${name}" name="${name}" inputmode="numeric" pattern="[0-9]{1,10}" value="${value}" autocomplete="off"></div>`;
  return html`<div><label for="name">Name</label>
<input id="name" name="name" value="${fields.name}" maxlength="100" required autocomplete="off" aria-describedby="name-hint">
<p class="hint" id="name-hint">Who uses the key, or what it is for.</p></div>
<div><label for="owner">Owner</label>
<input id="owner" name="owner" value="${fields.owner}" maxlength="255" autocomplete="off" aria-describedby="owner-hint">
<p class="hint" id="owner-hint">The customer's own id, if there is one.</p></div>
<div><label for="plan">Plan</label>
<select id="plan" name="plan">${plans}</select></div>
<fieldset class="pair" data-for-plan="enterprise"><legend>Limits of the enterprise plan</legend>
${limit('perMinute', 'Requests per minute', fields.perMinute)}
${limit('perDay', 'Requests per day', fields.perDay)}
</fieldset>
<fieldset><legend>Scopes</legend><div class="choices">${scopes}</div></fieldset>
<div><label for="expires">Last day</label>
<input id="expires" name="expires" type="date" value="${fields.expires}" aria-describedby="expires-hint">
<p class="hint" id="expires-hint">The key expires at the end of this day, in UTC. Leave it empty for a key that does not expire.</p></div>`;
}

function limitsOf(plan: PlanName): string {
  if (plan === 'enterprise') return 'custom limits';
  return `${count(PLANS[plan].minute)} a minute, ${count(PLANS[plan].day)} a day`;
}

function readLimit(text: string, label: string): number {
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new CatalogError('validation_failed', `${label}: enter a whole number from 1 to ${count(LIMIT_MAX)}`);
}

function readDate(text: string): number | undefined {
  if (text === '') return undefined;
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T23:59:59Z`) : Number.NaN;
  if (Number.isNaN(ms)) throw new CatalogError('validation_failed', 'Last day: enter a date such as 2030-12-31');
  return ms / 1_000;
}
