import { hash } from 'node:crypto';
import { type ApiKey, keyRevoked, ROTATION_GRACE_MAX_SECONDS } from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import { changeKey, endGraces, liftBan, revokeKey, rotateKey } from '../../catalog/operator/key-changes.ts';
import { weightOf } from '../../catalog/usage.ts';
import { html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, HOUR_SECONDS } from '../../stdx/duration.ts';
import { type ConsoleContext, onGet, onPost, seeOther } from '../frame/context.ts';
import { counted, foreign, moment, post } from '../frame/element.ts';
import { field, type Mistakes, mistakeSummary, NO_MISTAKES } from '../frame/form.ts';
import { page } from '../frame/layout.ts';
import { optionList } from '../frame/list.ts';
import { fieldsOf, type KeyFields, keyChanges, keyFields, readFields, readKey } from './form.ts';
import { keyOf } from './key.ts';
import { secretPage } from './list.ts';

const GRACES = [
  { value: '0', label: 'Not at all: the old key stops at once' },
  { value: `${HOUR_SECONDS}`, label: '1 hour' },
  { value: `${DAY_SECONDS}`, label: '24 hours' },
  { value: `${7 * DAY_SECONDS}`, label: '7 days' },
  { value: `${ROTATION_GRACE_MAX_SECONDS}`, label: '30 days' },
] as const;

export const keyChangeRoutes = [
  onGet('/keys/:id/edit', async (context) => editPage(context, await usableKeyOf(context)), 'keys'),
  onPost('/keys/:id/edit', edit, 'keys'),
  onGet('/keys/:id/rotate', rotatePage, 'keys'),
  onPost('/keys/:id/rotate', rotate, 'keys'),
  onGet('/keys/:id/revoke', revokePage, 'keys'),
  onPost('/keys/:id/revoke', revoke, 'keys'),
  onPost('/keys/:id/unban', unban, 'keys'),
  onPost('/keys/:id/end-graces', endOldSecrets, 'keys'),
];

function editPage(
  context: ConsoleContext,
  key: ApiKey,
  status = 200,
  { fields = fieldsOf(key), mistakes = NO_MISTAKES }: { fields?: KeyFields; mistakes?: Mistakes } = {},
): Answer {
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a> <a href="/console/keys/${key.id}">${foreign(key.name)}</a></p>
<h1>Change the key</h1>
${mistakeSummary(mistakes)}
${post(context, `/keys/${key.id}/edit`, html`<input type="hidden" name="seen" value="${stateOf(key)}"><div class="fields">${keyFields(fields, mistakes)}<div class="row"><button class="primary">Save</button><a class="button" href="/console/keys/${key.id}">Cancel</a></div></div>`)}`;
  return page(context, { section: '/keys', title: `Change ${key.name}`, content, status });
}

/** A digest of the fields that a form shows, to detect concurrent edits. */
function stateOf(key: ApiKey): string {
  return hash('sha256', JSON.stringify(fieldsOf(key)), 'base64url');
}

async function edit(context: ConsoleContext): Promise<Answer> {
  const { form, now } = context;
  const key = await usableKeyOf(context);
  const fields = readFields(form);
  // The form sends every field, so saving a stale one would undo another operator's change.
  if (form.has('seen') && field(form, 'seen') !== stateOf(key)) {
    const wrong = 'The key was changed in the meantime. The form shows its current state; make your change again';
    return editPage(context, key, 409, { mistakes: new Map([['', wrong]]) });
  }
  const { wanted, mistakes } = readKey(fields, { now, key });
  if (!wanted) return editPage(context, key, 400, { fields, mistakes });
  const changes = keyChanges(key, wanted, fields);
  if (Object.keys(changes).length === 0) return seeOther(`/keys/${key.id}`, 'unchanged');
  await changeKey(context, key.id, changes);
  return seeOther(`/keys/${key.id}`, 'changed');
}

async function rotatePage(context: ConsoleContext): Promise<Answer> {
  const key = await usableKeyOf(context);
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a> <a href="/console/keys/${key.id}">${foreign(key.name)}</a></p>
<h1>Rotate the key</h1>
<p class="lead">A new key replaces <code>${key.prefix}…</code>. Plan, limits and scopes stay the same, and both keys share one quota while the old one still works.</p>
${post(
  context,
  `/keys/${key.id}/rotate`,
  html`<div class="fields"><div><label for="grace">How long the old key still works</label><select id="grace" name="grace">${optionList(GRACES, `${DAY_SECONDS}`)}</select><p class="hint">A key that leaked: not at all.</p></div>
<div class="row"><button class="primary">Create the new key</button><a class="button" href="/console/keys/${key.id}">Cancel</a></div></div>`,
)}`;
  return page(context, { section: '/keys', title: `Rotate ${key.name}`, content });
}

async function rotate(context: ConsoleContext): Promise<Answer> {
  const { exchange, form, now } = context;
  const grace = GRACES.find(({ value }) => value === field(form, 'grace'));
  if (!grace) throw invalid('Choose how long the old key still works');
  const seconds = Number(grace.value);
  const { key, secret } = await rotateKey(context, exchange.params.id ?? '', seconds);
  const end = Math.min(now + seconds, key.expiresAt ?? Number.POSITIVE_INFINITY);
  const note =
    end > now
      ? html`<p class="note">The old key works until ${moment(end)}. Replace it in every client before that.</p>`
      : html`<p class="note">The old key no longer works.</p>`;
  return secretPage(context, { key, secret, title: 'The new key', note });
}

async function revokePage(context: ConsoleContext): Promise<Answer> {
  const { storage, now } = context;
  const key = await usableKeyOf(context);
  const [usage] = await storage.usage.sums({ period: 'hour', since: now - DAY_SECONDS, keyId: key.id, group: 'key' });
  const requests = usage ? weightOf(usage, 'requests') : 0;
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a> <a href="/console/keys/${key.id}">${foreign(key.name)}</a></p>
<h1>Revoke the key?</h1>
<p class="lead">Every request with <strong>${foreign(key.name)}</strong> (<code>${key.prefix}…</code>) will be refused. This cannot be undone.</p>
<p>${requests === 0 ? 'It made no requests in the last 24 hours.' : html`It made <strong>${counted(requests, 'request')}</strong> in the last 24 hours, the last one ${moment(usage?.last ?? now)}.`} To replace it without downtime, <a href="/console/keys/${key.id}/rotate">rotate it</a> instead.</p>
${post(context, `/keys/${key.id}/revoke`, html`<div class="row"><button class="danger">Revoke the key</button><a class="button" href="/console/keys/${key.id}">Keep it</a></div>`)}`;
  return page(context, { section: '/keys', title: `Revoke ${key.name}`, content });
}

async function revoke(context: ConsoleContext): Promise<Answer> {
  const { id } = await revokeKey(context, context.exchange.params.id ?? '');
  return seeOther(`/keys/${id}`, 'revoked');
}

async function unban(context: ConsoleContext): Promise<Answer> {
  const { id = '' } = context.exchange.params;
  const wasBanned = await liftBan(context, id);
  return seeOther(`/keys/${id}`, wasBanned ? 'unbanned' : 'not-banned');
}

async function endOldSecrets(context: ConsoleContext): Promise<Answer> {
  const { id = '' } = context.exchange.params;
  await endGraces(context, id);
  return seeOther(`/keys/${id}`, 'graces-ended');
}

/** The key in the path. Throws `not_found`, or `key_revoked`. */
async function usableKeyOf(context: ConsoleContext): Promise<ApiKey> {
  const key = await keyOf(context);
  if (key.revokedAt !== null) throw keyRevoked(key.id);
  return key;
}
